//! HTTP on a loopback address in front of any API server that is a service.

use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use tower::Service;

use crate::body::{Body, BoxError};

/// A server that runs until it is dropped, which ends its connections too.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl HttpServer {
    /// Serves `service` in plain HTTP on a free loopback port.
    pub async fn start<S>(service: S) -> io::Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
        S::Future: Send,
    {
        Self::start_with(|stream| std::future::ready(Ok::<TcpStream, io::Error>(stream)), service).await
    }

    /// Serves `service` on a free loopback port; each connection first goes through `handshake` (TLS, say).
    pub async fn start_with<S, H, F, C>(handshake: H, service: S) -> io::Result<Self>
    where
        H: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
        S::Future: Send,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, handshake, service)).abort_handle();
        Ok(Self { address, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept<S, H, F, C>(listener: TcpListener, handshake: H, service: S)
where
    H: Fn(TcpStream) -> F,
    F: Future<Output = io::Result<C>> + Send + 'static,
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    // Dropped with this future, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let connection = handshake(stream);
        let service = TowerToHyperService::new(service.clone());
        connections.spawn(async move {
            let served = match connection.await {
                Ok(connection) => http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(connection), service)
                    .await
                    .map_err(BoxError::from),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = served {
                tracing::debug!(error, "a connection ended");
            }
        });
    }
}
