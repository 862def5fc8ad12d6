//! [`ApiSim`]: the handle for tests and the service for clients.

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

/// An API server in memory. Clones share the same store.
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
    /// A new server with the objects of a new cluster: four namespaces and the service `default/kubernetes`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(Config::default())
    }

    /// A new server with a configuration.
    #[must_use]
    pub fn with_config(config: Config) -> Self {
        Self {
            server: Arc::new(Server::new(config)),
        }
    }

    /// The revision (resourceVersion) of the latest write of any resource.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.server.store().revision
    }

    /// Goes back to the state at an earlier revision, as after a restore of etcd and a restart of the API server: later writes
    /// are lost, and open watches end.
    ///
    /// # Panics
    /// When the history no longer has the changes since that revision.
    pub fn rewind(&self, revision: u64) {
        let rewound = self.server.store().rewind(revision);
        assert!(rewound.is_ok(), "cannot go back to revision {revision}: {rewound:?}");
    }

    /// Compacts the history: watches from an older resourceVersion get 410, and so do older continue tokens.
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
            Ok(server.handle(&parts, body))
        })
    }
}
