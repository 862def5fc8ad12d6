//! Plain HTTP, for those who look after the program.

use std::{convert::Infallible, io};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::pages::Pages;

/// Listens at an address; without a host, at the loopback interface, so that nobody is let in by mistake.
pub(super) async fn listen(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await,
        Err(_) => TcpListener::bind(address).await,
    }
}

/// Answers until the program ends.
pub(super) async fn serve(listener: TcpListener, pages: Pages) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, pages.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Out of file descriptors, say, and that for some time.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, pages: Pages) {
    let answer =
        service_fn(|request: http::Request<Incoming>| std::future::ready(Ok::<_, Infallible>(pages.answer(&request))));
    let served = http1::Builder::new()
        // A timer ends connections on which no request comes.
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}
