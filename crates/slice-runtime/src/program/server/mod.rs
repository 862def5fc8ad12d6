//! The HTTP server of the status endpoints: without TLS, or the secure port. Slow, large and idle connections are bounded.

mod connections;
pub(super) mod tls;

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::{Instant, timeout},
};

use super::{
    authorization::Authorizer,
    status_endpoints::{Access, StatusEndpoints, text},
};
use crate::failure_log::LogInterval;
use connections::ConnectionTable;
use tls::{HTTP2, ServingTls};

/// The time for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for the head of a request, and between two requests of an HTTP/1.1 connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of the head of a request. Tokens have a few kilobytes.
const MAX_HEADER_BYTES: u32 = 32 << 10;
/// Requests in flight of an HTTP/2 connection.
const MAX_STREAMS: u32 = 8;
/// Bytes that an HTTP/2 client may send before they are read. Requests have no body.
const WINDOW: u32 = 64 << 10;
/// How often connections that are idle for too long are closed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);
/// The pause after a connection could not be accepted, such as without free file descriptors, which may last for some time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a port serves.
#[derive(Clone)]
pub(super) struct Port {
    pub(super) endpoints: StatusEndpoints,
    /// None for the port without TLS.
    pub(super) secure: Option<SecurePort>,
}

/// What the secure port has in addition.
#[derive(Clone)]
pub(super) struct SecurePort {
    pub(super) tls: ServingTls,
    pub(super) authorizer: Arc<Authorizer>,
}

/// Listens on an address; without a host, on the loopback interface, so that nothing is exposed by default.
pub(super) async fn listen(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await,
        Err(_) => TcpListener::bind(address).await,
    }
}

/// Listens on a port of this address; of all addresses, IPv4 and IPv6, if it is unspecified.
pub(super) async fn listen_on(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    if address.is_unspecified()
        && let Ok(listener) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await
    {
        return Ok(listener);
    }
    // Such as without IPv6.
    TcpListener::bind((address, port)).await
}

/// Serves requests until the program ends.
pub(super) async fn serve(listener: TcpListener, port: Port) {
    let connections = Connections::default();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    let mut failures = LogInterval::default();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connections.spawn(stream, peer.ip(), &port),
                Err(error) => pause_after(&error, &mut failures).await,
            },
            _ = sweep.tick() => connections.close_idle(),
        }
    }
}

/// Pauses after a connection could not be accepted. Such failures may alternate with connections that can.
async fn pause_after(error: &io::Error, failures: &mut LogInterval) {
    if let Some(failures) = failures.count(Instant::now().into_std()) {
        tracing::warn!(%error, failures, "cannot accept an HTTP connection, retrying");
    }
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

/// The open connections of a port. Clones share them.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<ConnectionTable<AbortHandle>>>);

impl Connections {
    /// The table stays valid if another thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, ConnectionTable<AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection, or closes it if there is no room for it.
    fn spawn(&self, stream: TcpStream, peer: IpAddr, port: &Port) {
        let mut table = self.lock();
        match table.make_room() {
            Ok(Some(idle)) => idle.abort(),
            Ok(None) => {}
            Err(_) => return tracing::debug!(%peer, "too many connections with requests in flight, closing a new one"),
        }
        let id = table.next_id();
        let connection = OpenConnection {
            connections: self.clone(),
            id,
            peer,
            port: port.clone(),
        };
        // The table is locked until the task is in it, so that it cannot end before.
        let task = tokio::spawn(connection.serve(stream));
        table.add(id, task.abort_handle(), Instant::now());
    }

    fn close_idle(&self) {
        for idle in self.lock().take_idle(Instant::now()) {
            idle.abort();
        }
    }
}

/// A connection, which leaves the table when it ends.
struct OpenConnection {
    connections: Connections,
    id: u64,
    peer: IpAddr,
    port: Port,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.lock().remove(self.id);
    }
}

impl OpenConnection {
    async fn serve(self, stream: TcpStream) {
        let peer = self.peer;
        let served = match &self.port.secure {
            None => self.serve_http1(stream).await,
            Some(secure) => match timeout(HANDSHAKE_TIMEOUT, secure.tls.acceptor().accept(stream)).await {
                Err(_) => return tracing::debug!(%peer, "TLS handshake not complete in time"),
                Ok(Err(error)) => return tracing::debug!(%peer, %error, "TLS handshake failed"),
                Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(HTTP2) => self.serve_http2(stream).await,
                Ok(Ok(stream)) => self.serve_http1(stream).await,
            },
        };
        if let Err(error) = served {
            tracing::debug!(%peer, %error, "HTTP connection failed");
        }
    }

    async fn serve_http1(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> hyper::Result<()> {
        let service = service_fn(|request| self.requests().respond(request));
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES as usize)
            .serve_connection(TokioIo::new(stream), service)
            .await
    }

    async fn serve_http2(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> hyper::Result<()> {
        let service = service_fn(|request| self.requests().respond(request));
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HEADER_BYTES)
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .serve_connection(TokioIo::new(stream), service)
            .await
    }

    fn requests(&self) -> Requests {
        Requests {
            connections: self.connections.clone(),
            id: self.id,
            peer: self.peer,
            port: self.port.clone(),
        }
    }
}

/// Responds to requests of a connection. It does not borrow the connection, since HTTP/2 has a task per request.
struct Requests {
    connections: Connections,
    id: u64,
    peer: IpAddr,
    port: Port,
}

impl Requests {
    async fn respond(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        if !request.body().is_end_stream() {
            return Ok(text(StatusCode::PAYLOAD_TOO_LARGE, "a request must have no body\n"));
        }
        let access = match &self.port.secure {
            None => Ok(Access::Plain(self.peer)),
            Some(secure) => secure.authorizer.authorize(&request).await,
        };
        // Only from here on: clients without a permission must not be able to occupy all connections.
        let _in_flight = InFlight::new(&self);
        Ok(match access {
            Ok(access) => self.port.endpoints.handle(&request, access).await,
            Err(denied) => denied.response(),
        })
    }
}

/// A request in flight, which ends when this is dropped.
struct InFlight<'a>(&'a Requests);

impl<'a> InFlight<'a> {
    fn new(requests: &'a Requests) -> Self {
        requests.connections.lock().request_started(requests.id);
        Self(requests)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let Requests { connections, id, .. } = self.0;
        connections.lock().request_ended(*id, Instant::now());
    }
}

#[cfg(test)]
mod tests;
