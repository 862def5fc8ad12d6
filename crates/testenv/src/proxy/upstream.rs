//! Connections of the proxy to the API server, one client per user.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use apisim::body::{Body, BoxError, boxed};
use http::{
    Method, Request, Response, Uri, Version,
    header::{AUTHORIZATION, HOST},
    uri::{Authority, PathAndQuery, Scheme},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::ClientConfig;
use tower::Service;

use super::Protocol;

/// Large HTTP/2 windows, so that a stream that is held back on the side of the clients does not stop the others.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;

type TlsClient = Client<HttpsConnector<HttpConnector>, Body>;
/// The address of a request at another server.
type Redirect = Arc<dyn Fn(&Method, &PathAndQuery) -> Option<Uri> + Send + Sync>;

/// Forwards requests to the API server.
///
/// A client certificate ends at the proxy, so a user sends the proxy a token instead, and the proxy uses that user's
/// certificate. Other tokens belong to the server and are forwarded.
#[derive(Clone)]
pub(super) struct Upstream {
    server: Authority,
    anonymous: TlsClient,
    protocol: Protocol,
    by_token: Arc<Mutex<HashMap<String, TlsClient>>>,
    redirect: Arc<Mutex<Option<Redirect>>>,
}

impl Upstream {
    pub(super) fn new(server: Authority, anonymous: ClientConfig, protocol: Protocol) -> Self {
        Self {
            server,
            anonymous: client(anonymous, protocol),
            protocol,
            by_token: Arc::default(),
            redirect: Arc::default(),
        }
    }

    /// Maps a token to the certificate in `identity`.
    pub(super) fn register(&self, token: String, identity: ClientConfig) {
        self.by_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token, client(identity, self.protocol));
    }

    pub(super) fn redirect(&self, redirect: impl Fn(&Method, &PathAndQuery) -> Option<Uri> + Send + Sync + 'static) {
        *self.redirect.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(redirect));
    }

    fn client_for<B>(&self, request: &Request<B>) -> Option<TlsClient> {
        let token = request
            .headers()
            .get(AUTHORIZATION)?
            .to_str()
            .ok()?
            .strip_prefix("Bearer ")?;
        let by_token = self.by_token.lock().unwrap_or_else(PoisonError::into_inner);
        by_token.get(token).cloned()
    }

    fn rewrite_uri(&self, method: &Method, address: &Uri) -> Result<Uri, http::uri::InvalidUriParts> {
        let redirect = self.redirect.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let redirected = redirect.zip(address.path_and_query());
        if let Some(address) = redirected.and_then(|(redirect, path)| redirect(method, path)) {
            return Ok(address);
        }
        let mut parts = address.clone().into_parts();
        parts.scheme = Some(Scheme::HTTPS);
        parts.authority = Some(self.server.clone());
        Uri::from_parts(parts)
    }
}

fn client(config: ClientConfig, protocol: Protocol) -> TlsClient {
    // By HTTP only to the address of a redirect, such as that of a server in a test.
    let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
    let connector = match protocol {
        Protocol::Http1 => connector.enable_http1().build(),
        Protocol::Http2 => connector.enable_all_versions().build(),
    };
    Client::builder(TokioExecutor::new())
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .build(connector)
}

impl Service<Request<Body>> for Upstream {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let client = match self.client_for(&request) {
            Some(client) => {
                request.headers_mut().remove(AUTHORIZATION);
                client
            }
            None => self.anonymous.clone(),
        };
        let address = self.rewrite_uri(request.method(), request.uri());
        Box::pin(async move {
            *request.uri_mut() = address?;
            // The client chooses the version for its own connection.
            *request.version_mut() = Version::HTTP_11;
            request.headers_mut().remove(HOST);
            let response = client.request(request).await?;
            Ok(response.map(boxed))
        })
    }
}
