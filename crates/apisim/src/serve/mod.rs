//! HTTP server on a loopback address for any [`tower::Service`], over HTTP/1.1 or HTTP/2 as the client chooses.

mod connections;
mod stream;

use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    sync::Arc,
};

use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::{AbortHandle, JoinSet},
};
use tower::{Service, ServiceExt as _};

use self::connections::Control;
pub use self::{
    connections::{ConnectionNumber, Connections, OpenedConnection},
    stream::FreezableStream,
};
use crate::body::{Body, BoxError};

/// Streams per HTTP/2 connection, as many as kube-apiserver allows.
const HTTP2_STREAMS_MAX: u32 = 100;

/// An HTTP server. Dropping it stops the listener and closes all connections.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    connections: Connections,
    accept_task: AbortHandle,
}

impl HttpServer {
    /// Serves `service` over plain HTTP on a free loopback port. HTTP/2 needs prior knowledge.
    pub async fn start<S>(service: S) -> io::Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
        S::Future: Send,
    {
        Self::start_with(|stream| std::future::ready(Ok::<_, io::Error>(stream)), service).await
    }

    /// Serves `service` on a free loopback port. `handshake` wraps each accepted connection, for example in TLS.
    pub async fn start_with<S, H, F, C>(handshake: H, service: S) -> io::Result<Self>
    where
        H: Fn(FreezableStream) -> F + Send + 'static,
        F: Future<Output = io::Result<C>> + Send + 'static,
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
        S::Future: Send,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let connections = Connections::default();
        let accept_task = tokio::spawn(accept(listener, connections.clone(), handshake, service)).abort_handle();
        Ok(Self {
            address,
            connections,
            accept_task,
        })
    }

    /// The listen address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections, and faults of them.
    #[must_use]
    pub fn connections(&self) -> &Connections {
        &self.connections
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

async fn accept<S, H, F, C>(listener: TcpListener, connections: Connections, handshake: H, service: S)
where
    H: Fn(FreezableStream) -> F,
    F: Future<Output = io::Result<C>> + Send + 'static,
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    // Dropping this future drops the set, which aborts every connection.
    let mut tasks = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                continue;
            }
        };
        while tasks.try_join_next().is_some() {}
        // Small frames, such as the response to a ping, are not held back.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot disable Nagle's algorithm");
        }
        let (number, control) = connections.open();
        let handshake = handshake(FreezableStream::new(stream, Arc::clone(&control)));
        let (connections, service) = (connections.clone(), service.clone());
        tasks.spawn(async move {
            let served = tokio::select! {
                served = serve(handshake, &control, connections, number, service) => served,
                () = control.closed() => Ok(()),
            };
            if let Err(error) = served {
                tracing::debug!(error, "connection closed with an error");
            }
        });
    }
}

/// Serves one connection until it ends.
async fn serve<S, C>(
    handshake: impl Future<Output = io::Result<C>>,
    control: &Control,
    connections: Connections,
    number: ConnectionNumber,
    service: S,
) -> Result<(), BoxError>
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    let stream = TokioIo::new(handshake.await?);
    let service = service_fn(move |mut request: Request<Incoming>| {
        connections.record_version(number, request.version());
        request.extensions_mut().insert(number);
        service.clone().oneshot(request)
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX);
    let mut connection = pin!(builder.serve_connection(stream, service));
    loop {
        tokio::select! {
            served = connection.as_mut() => return served,
            () = control.drained() => connection.as_mut().graceful_shutdown(),
        }
    }
}
