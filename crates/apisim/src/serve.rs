//! HTTP server on a loopback address for any [`tower::Service`].

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

/// An HTTP server. Dropping it stops the listener and closes all connections.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    accept_task: AbortHandle,
}

impl HttpServer {
    /// Serves `service` over plain HTTP on a free loopback port.
    pub async fn start<S>(service: S) -> io::Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
        S::Future: Send,
    {
        Self::start_with(|stream| std::future::ready(Ok::<TcpStream, io::Error>(stream)), service).await
    }

    /// Serves `service` on a free loopback port. `handshake` wraps each accepted connection, for example in TLS.
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
        let accept_task = tokio::spawn(accept(listener, handshake, service)).abort_handle();
        Ok(Self { address, accept_task })
    }

    /// The listen address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accept_task.abort();
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
    // Dropping this future drops the set, which aborts every connection.
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
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
                tracing::debug!(error, "connection closed with an error");
            }
        });
    }
}
