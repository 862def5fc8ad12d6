//! Shutdown by signals.

use std::io;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

use super::logging;

/// A future that is ready after the first SIGTERM or SIGINT. A second signal exits the process at once.
pub(super) fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, stopped) = oneshot::channel();
    tokio::spawn(async move {
        next_signal(&mut signals).await;
        tracing::info!("shutdown requested, draining in-flight writes");
        // The receiver is dropped if the program is already shutting down.
        let _ = sender.send(());
        next_signal(&mut signals).await;
        tracing::warn!("second signal, exiting immediately");
        logging::flush();
        std::process::exit(1);
    });
    Ok(async { drop(stopped.await) })
}

async fn next_signal((terminate, interrupt): &mut (Signal, Signal)) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
