use std::{net::SocketAddr, sync::Arc};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{super::status_endpoints::tests::endpoints, connections::MAX_CONNECTIONS, tls::CertificateFiles, *};
use crate::{client::Connections as ApiConnections, fixtures::Log};

async fn start(port: Port) -> SocketAddr {
    let listener = listen(":0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, port));
    address
}

async fn start_plain() -> SocketAddr {
    let port = Port {
        endpoints: endpoints(),
        secure: None,
    };
    start(port).await
}

/// Starts the secure port, and returns a client configuration that trusts its certificate.
async fn start_secure() -> (SocketAddr, rustls::ClientConfig) {
    // No review is answered.
    let unanswered = tower::service_fn(|_: Request<kube::client::Body>| {
        std::future::pending::<Result<Response<kube::client::Body>, Infallible>>()
    });
    let reviews = ApiConnections::from(kube::Client::new(unanswered, "default"));
    let endpoints = endpoints();
    let authorizer = Authorizer::new(vec!["/livez".to_owned()], reviews.clone(), reviews, &endpoints.metrics);
    let directory = tempfile::tempdir().unwrap();
    let files = CertificateFiles {
        certificate: directory.path().join("tls.crt"),
        key: directory.path().join("tls.key"),
    };
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&files.certificate, identity.cert.pem()).unwrap();
    std::fs::write(&files.key, identity.signing_key.serialize_pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.cert.der().clone()).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let secure = SecurePort {
        tls: ServingTls::reloading(files).unwrap(),
        authorizer: Arc::new(authorizer),
    };
    let port = Port {
        endpoints,
        secure: Some(secure),
    };
    (start(port).await, client)
}

/// Sends bytes and returns what the server sends until it closes the connection, which it may do before it has read all.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> String {
    let (mut response, sent) = (Vec::new(), stream.write_all(request).await);
    let received = stream.read_to_end(&mut response).await;
    let response = String::from_utf8_lossy(&response).into_owned();
    assert!(!response.is_empty() || sent.is_err() || received.is_err() || request.is_empty());
    response
}

async fn plain(address: SocketAddr, request: &[u8]) -> String {
    exchange(TcpStream::connect(address).await.unwrap(), request).await
}

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn large_malformed_and_unexpected_requests_are_refused() {
    let address = start_plain().await;
    let large = [b"GET /livez HTTP/1.1\r\nA: ", &vec![b'a'; 1 << 20][..]].concat();
    let many = [b"GET /livez HTTP/1.1\r\n".to_vec(), b"A: a\r\n".repeat(1000)].concat();
    let long = [b"GET /", &vec![b'a'; 1 << 20][..]].concat();
    for (request, expected) in [
        (&large[..], "HTTP/1.1 431 "),
        (&many, "HTTP/1.1 431 "),
        (&long, "HTTP/1.1 4"),
        (b"\x16\x03\x01\x00\x05hello\r\n\r\n", "HTTP/1.1 400 "),
        (
            b"GET /livez HTTP/1.1\r\nContent-Length: 4000000000\r\n\r\na",
            "HTTP/1.1 413 ",
        ),
        (
            b"GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 413 ",
        ),
    ] {
        let response = plain(address, request).await;
        let beginning = String::from_utf8_lossy(&request[..40.min(request.len())]);
        // The response is lost if the client still sends when the connection is closed.
        assert!(
            response.is_empty() || response.starts_with(expected),
            "{beginning}: {response}"
        );
        assert!(plain(address, LIVEZ).await.starts_with("HTTP/1.1 200 "), "{beginning}");
    }
}

#[tokio::test]
async fn idle_connections_are_bounded_and_others_are_served() {
    let address = start_plain().await;
    let mut idle = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    assert!(plain(address, LIVEZ).await.starts_with("HTTP/1.1 200 "));
    // The connection that was idle for longest made room for it, and the others are still open.
    assert_eq!(idle[0].read(&mut [0]).await.unwrap(), 0);
    assert!(exchange(idle.pop().unwrap(), LIVEZ).await.starts_with("HTTP/1.1 200 "));
}

/// A connection whose request waits for a review can be closed to make room for another one.
#[tokio::test]
async fn clients_without_a_permission_do_not_keep_others_out() {
    let (address, client) = start_secure().await;
    let client = Arc::new(client);
    let mut waiting = Vec::new();
    for number in 0..MAX_CONNECTIONS {
        let mut stream = connect(address, &client).await;
        let requests =
            format!("GET /livez HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\nAuthorization: Bearer {number}\r\n\r\n");
        stream.write_all(requests.as_bytes()).await.unwrap();
        // The second request has been read when the first one is answered.
        let mut response = [0; 12];
        stream.read_exact(&mut response).await.unwrap();
        assert_eq!(&response, b"HTTP/1.1 200");
        waiting.push(stream);
    }
    let response = exchange(connect(address, &client).await, LIVEZ).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
}

async fn connect(address: SocketAddr, client: &Arc<rustls::ClientConfig>) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::clone(client));
    connector
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_secure_port_serves_https_only() {
    let (address, client) = start_secure().await;
    let response = plain(address, LIVEZ).await;
    assert!(!response.contains("200"), "{response}");

    for (protocol, http2) in [(b"http/1.1".to_vec(), false), (HTTP2.to_vec(), true)] {
        let mut config = client.clone();
        config.alpn_protocols = vec![protocol];
        let stream = connect(address, &config.into()).await;
        assert_eq!(stream.get_ref().1.alpn_protocol() == Some(HTTP2), http2);
        if http2 {
            let (mut client, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                    .await
                    .unwrap();
            tokio::spawn(connection);
            let mut status = async |request: http::request::Builder| {
                let request = request.body(Full::<Bytes>::default()).unwrap();
                client
                    .send_request(request)
                    .await
                    .map(|response| response.status().as_u16())
            };
            assert_eq!(status(Request::get("https://localhost/livez")).await.unwrap(), 200);
            let large = Request::get("https://localhost/livez").header("a", "a".repeat(1 << 20));
            let refused = status(large).await;
            assert!(refused.as_ref().map_or(true, |status| *status == 431), "{refused:?}");
        } else {
            let response = exchange(stream, LIVEZ).await;
            assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        }
    }
}

/// A minute without free file descriptors.
async fn fail_to_accept_for_a_minute() {
    let mut failures = LogInterval::default();
    let start = Instant::now();
    while start.elapsed() <= Duration::from_secs(60) {
        pause_after(&io::Error::from_raw_os_error(24), &mut failures).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_cannot_be_accepted_are_logged_once_a_minute() {
    fail_to_accept_for_a_minute().await;
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.subscriber());
    fail_to_accept_for_a_minute().await;
    drop(guard);
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[1].contains("failures=600"), "{lines:#?}");
}
