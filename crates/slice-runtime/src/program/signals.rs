//! How a program is asked to end.

use std::io;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

/// Ready when the program is asked to end by SIGTERM or SIGINT. Asked once more, it ends at once.
pub(super) fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        next(&mut signals).await;
        tracing::info!("asked to end: what is due is written first");
        // Nobody waits for it when the program ends for another reason.
        let _ = tell.send(());
        next(&mut signals).await;
        tracing::warn!("asked to end once more");
        std::process::exit(1);
    });
    Ok(async { drop(told.await) })
}

async fn next((terminate, interrupt): &mut (Signal, Signal)) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
