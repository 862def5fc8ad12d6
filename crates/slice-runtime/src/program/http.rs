//! The HTTP server of the status endpoints, without TLS.

use std::{convert::Infallible, io, net::IpAddr};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::status_endpoints::StatusEndpoints;

/// Listens on an address; without a host, on the loopback interface, so that nothing is exposed by default.
pub(super) async fn listen(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await,
        Err(_) => TcpListener::bind(address).await,
    }
}

/// Serves requests until the program ends.
pub(super) async fn serve(listener: TcpListener, endpoints: StatusEndpoints) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => drop(tokio::spawn(serve_connection(stream, peer.ip(), endpoints.clone()))),
            Err(error) => {
                tracing::warn!(%error, "cannot accept an HTTP connection, retrying");
                // Such as without free file descriptors, which may last for some time.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, peer: IpAddr, endpoints: StatusEndpoints) {
    let service = service_fn(async |request: http::Request<Incoming>| {
        Ok::<_, Infallible>(endpoints.handle(&request, peer).await)
    });
    let served = http1::Builder::new()
        // The timer closes connections without a request.
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "HTTP connection failed");
    }
}
