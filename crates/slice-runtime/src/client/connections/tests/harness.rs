//! A TLS server on loopback whose connections can freeze.

use std::{
    collections::HashSet,
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Request, Response, StatusCode, Version, header::AUTHORIZATION};
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::Barrier,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// An authority that signs certificates of servers and clients.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(super) fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// Certificate and key.
    pub(super) fn sign(&self) -> (String, String) {
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn acceptor(&self, http2: bool) -> TlsAcceptor {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated();
        let (certificate, key) = self.sign();
        let mut config = ServerConfig::builder()
            .with_client_cert_verifier(clients.build().unwrap())
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        if http2 {
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A request that the server received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// The number of its connection.
    pub(super) connection: usize,
    pub(super) version: Version,
    /// The client's certificate.
    pub(super) certificate: Option<Vec<u8>>,
}

struct Shared {
    acceptor: Mutex<TlsAcceptor>,
    received: Mutex<Vec<Received>>,
    /// Connections that neither read nor write.
    frozen: Mutex<HashSet<usize>>,
    /// The only valid token; any if none.
    token: Mutex<Option<&'static str>>,
    /// Ends the waiting of `/together`.
    together: Barrier,
}

/// The server. Its responses depend on the path:
/// * `/watch`: one line, and no end.
/// * `/never`: no response.
/// * `/together`: a response when three such requests have arrived.
/// * others: an empty object.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    http2: bool,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    pub(super) async fn start(authority: &Authority, http2: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            acceptor: Mutex::new(authority.acceptor(http2)),
            received: Mutex::default(),
            frozen: Mutex::default(),
            token: Mutex::default(),
            together: Barrier::new(3),
        });
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            http2,
            shared,
            _tasks: tasks,
        }
    }

    /// The requests since the last call.
    pub(super) fn received(&self) -> Vec<Received> {
        std::mem::take(&mut *self.shared.received.lock().unwrap())
    }

    /// The connection of the only request since the last call.
    pub(super) fn connection(&self) -> usize {
        let received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received[0].connection
    }

    pub(super) fn freeze(&self, connections: impl IntoIterator<Item = usize>) {
        self.shared.frozen.lock().unwrap().extend(connections);
    }

    pub(super) fn require_token(&self, token: &'static str) {
        *self.shared.token.lock().unwrap() = Some(token);
    }

    /// New connections get a certificate of this authority.
    pub(super) fn change_authority(&self, authority: &Authority) {
        *self.shared.acceptor.lock().unwrap() = authority.acceptor(self.http2);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    for connection in 0.. {
        let (tcp, _) = listener.accept().await.unwrap();
        let (acceptor, shared) = (shared.acceptor.lock().unwrap().clone(), Arc::clone(&shared));
        connections.spawn(async move {
            let stream = Freezable {
                tcp,
                connection,
                shared: Arc::clone(&shared),
            };
            // A client that does not trust the certificate ends the handshake.
            let Ok(tls) = acceptor.accept(stream).await else { return };
            let certificate = tls.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec());
            let service = hyper::service::service_fn(move |request| {
                respond(request, Arc::clone(&shared), connection, certificate.clone())
            });
            // A client may close the connection at any time.
            drop(
                auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(tls), service)
                    .await,
            );
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    connection: usize,
    certificate: Option<Vec<u8>>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let received = Received {
        connection,
        version: request.version(),
        certificate,
    };
    shared.received.lock().unwrap().push(received);
    let token = *shared.token.lock().unwrap();
    let authorized = token.is_none_or(|token| {
        request
            .headers()
            .get(AUTHORIZATION)
            .is_some_and(|value| *value == format!("Bearer {token}"))
    });
    let line = |text: &'static str| stream::iter([Ok(Frame::data(Bytes::from_static(text.as_bytes())))]);
    let mut body = BodyExt::boxed(StreamBody::new(line("{}\n")));
    match request.uri().path() {
        "/watch" => body = BodyExt::boxed(StreamBody::new(line("line\n").chain(stream::pending()))),
        "/never" => std::future::pending().await,
        "/together" => {
            shared.together.wait().await;
        }
        _ => {}
    }
    let mut response = Response::new(body);
    if !authorized {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    Ok(response)
}

/// A TCP connection that can freeze: its kernel acknowledges data, but no byte is read or written.
struct Freezable {
    tcp: TcpStream,
    connection: usize,
    shared: Arc<Shared>,
}

impl Freezable {
    fn unless_frozen<T>(&mut self, poll: impl FnOnce(Pin<&mut TcpStream>) -> Poll<T>) -> Poll<T> {
        if self.shared.frozen.lock().unwrap().contains(&self.connection) {
            return Poll::Pending;
        }
        poll(Pin::new(&mut self.tcp))
    }
}

impl AsyncRead for Freezable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(|tcp| tcp.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Freezable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_frozen(|tcp| tcp.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(|tcp| tcp.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(|tcp| tcp.poll_shutdown(cx))
    }
}
