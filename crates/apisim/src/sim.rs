//! The handle that tests hold, and the service that clients talk to.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::BodyExt as _;

use crate::{
    Config,
    body::{Body, BoxError},
    server::Server,
};

/// An API server in memory. Clones share the same content.
#[derive(Clone)]
pub struct ApiSim {
    server: Arc<Server>,
}

impl Default for ApiSim {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ApiSim {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let revision = self.revision();
        formatter
            .debug_struct("ApiSim")
            .field("revision", &revision)
            .finish_non_exhaustive()
    }
}

impl ApiSim {
    /// A new server with what every new cluster has: four namespaces and the service `default/kubernetes`.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    /// A new server that differs from a plain one.
    #[must_use]
    pub fn with(config: Config) -> Self {
        Self {
            server: Arc::new(Server::new(config)),
        }
    }

    /// The version of the latest write, of whatever kind of object.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.server.store().revision
    }

    /// Forgets the history: watches from an older version get 410, and so do lists that continue an older one.
    pub fn compact(&self) {
        self.server.store().compact();
    }
}

impl<B> tower::Service<http::Request<B>> for ApiSim
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            Ok(server.answer(&parts, body))
        })
    }
}
