//! The connections to the API server, and when they are replaced.

mod files;
mod signals;
mod stack;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};

use futures::future::BoxFuture;
use http::{StatusCode, Uri, Version};
use kube::Config;
use slice_controller::{BoxError, ErrorChain};
use tokio::sync::Notify;

use crate::{
    escape::Escaped,
    failure_log::{FailureLog, LogInterval},
    file_hashes::FileHashes,
};
use files::credential_files;
use signals::{UnauthorizedRun, is_broken_connection};
use stack::{Clients, Stack};
pub(crate) use stack::{ConnectionOptions, Purpose};

/// The connections to an API server. Clones share them.
///
/// [`Connections::new`] has separate connections for watches, writes and other requests: HTTP/2 with pings, or HTTP/1.1 if the
/// server does not offer it. They are replaced when the path to the server is broken, when files of certificates and keys
/// change, and when every request is answered 401 Unauthorized. A [`kube::Client`] is used as it is.
#[derive(Clone)]
pub struct Connections(Arc<Inner>);

/// Loads the client configuration again.
type Load = Box<dyn Fn() -> BoxFuture<'static, Result<Config, BoxError>> + Send + Sync>;

struct Inner {
    state: Mutex<State>,
    options: ConnectionOptions,
    /// Requests that the configuration is loaded again.
    reload: Arc<Notify>,
}

struct State {
    clients: Clients,
    /// Builds new clients; none if the client was given.
    stack: Option<Stack>,
    /// Incremented with each replacement of the clients.
    generation: u64,
    /// Whether the last response came by HTTP/2.
    http2: bool,
    unauthorized: UnauthorizedRun,
}

/// Which clients a request was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(u64);

/// All requests use this client. Its connections are not replaced.
impl From<kube::Client> for Connections {
    fn from(client: kube::Client) -> Self {
        Self::with_state(Clients::same(&client), None, ConnectionOptions::default())
    }
}

impl Connections {
    /// Connections with this client configuration. Call it in a tokio runtime. Files that the configuration names are read
    /// again when they change.
    pub fn new(config: Config) -> Result<Self, kube::Error> {
        let reload = config.clone();
        let load = move || {
            let config = reload.clone();
            Box::pin(async { Ok(config) }) as BoxFuture<'static, _>
        };
        Self::reloading(config, ConnectionOptions::default(), load)
    }

    /// As [`Self::new`]. `load` loads the configuration again, with changed credentials.
    pub(crate) fn reloading(
        config: Config,
        options: ConnectionOptions,
        load: impl Fn() -> BoxFuture<'static, Result<Config, BoxError>> + Send + Sync + 'static,
    ) -> Result<Self, kube::Error> {
        if config.proxy_url.is_some() {
            // kube knows which proxies are supported.
            return Ok(kube::Client::try_from(config)?.into());
        }
        let files = credential_files(&config);
        let stack = Stack::new(&config, options)?;
        let connections = Self::with_state(stack.clients(), Some(stack), options);
        let task = ReloadTask {
            connections: Arc::downgrade(&connections.0),
            requested: Arc::clone(&connections.0.reload),
            load: Box::new(load),
            cluster_url: config.cluster_url,
            files,
            options,
            rejections: LogInterval::default(),
            failures: FailureLog::default(),
        };
        tokio::spawn(task.run());
        Ok(connections)
    }

    fn with_state(clients: Clients, stack: Option<Stack>, options: ConnectionOptions) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                clients,
                stack,
                generation: 0,
                http2: false,
                unauthorized: UnauthorizedRun::default(),
            }),
            options,
            reload: Arc::default(),
        }))
    }

    /// Makes new requests use new connections. Requests in flight continue.
    pub fn renew(&self) {
        self.0.lock().renew();
    }

    /// Whether the last response came by HTTP/2. Pings then detect a broken connection, so that watches may be long.
    pub(crate) fn uses_http2(&self) -> bool {
        self.0.lock().http2
    }

    pub(super) fn client(&self, purpose: Purpose) -> (kube::Client, Generation) {
        let state = self.0.lock();
        (state.clients.get(purpose).clone(), Generation(state.generation))
    }

    /// A response has arrived.
    pub(super) fn on_response(&self, status: StatusCode, version: Version) {
        let mut state = self.0.lock();
        state.http2 = version == Version::HTTP_2;
        let lasting = state
            .unauthorized
            .record(status, Instant::now(), self.0.options.unauthorized_for);
        if lasting && state.stack.is_some() {
            self.0.reload.notify_one();
        }
    }

    /// A request failed, or the body of its response.
    pub(super) fn on_transport_error(&self, generation: Generation, error: &(dyn Error + 'static)) {
        if is_broken_connection(error) {
            self.retire(generation, &ErrorChain(error));
        }
    }

    /// A response, or the end of a watch, is overdue. With HTTP/2 the server is slow: the connection responds to pings. With
    /// HTTP/1.1 the connection may be broken, and unused ones with it.
    pub(super) fn on_timeout(&self, generation: Generation, http2: bool) {
        if !http2 {
            self.retire(generation, &"no response in time");
        }
    }

    /// Replaces the clients unless that has happened since a request was sent.
    fn retire(&self, generation: Generation, cause: &dyn fmt::Display) {
        let mut state = self.0.lock();
        if state.stack.is_some() && state.generation == generation.0 {
            let cause = Escaped(cause).to_string();
            tracing::info!(
                cause,
                "a connection to the API server may be broken: using new connections"
            );
            state.renew();
        }
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Connections")
            .field("generation", &state.generation)
            .field("http2", &state.http2)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// The state stays valid if another thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn renew(&mut self) {
        if let Some(stack) = &self.stack {
            self.clients = stack.clients();
            self.generation += 1;
        }
    }
}

/// Loads the client configuration again when files of certificates and keys change, or credentials are rejected.
struct ReloadTask {
    connections: Weak<Inner>,
    requested: Arc<Notify>,
    load: Load,
    cluster_url: Uri,
    files: FileHashes,
    options: ConnectionOptions,
    rejections: LogInterval,
    failures: FailureLog,
}

impl ReloadTask {
    /// Runs until the connections are dropped.
    async fn run(mut self) {
        let mut interval = tokio::time::interval(self.options.reload_interval);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.connections.strong_count() > 0 {
            let files_changed = tokio::select! {
                _ = interval.tick() => {
                    if !self.files.changed() {
                        continue;
                    }
                    true
                }
                () = self.requested.notified() => {
                    self.log_rejection();
                    false
                }
            };
            match self.reload().await {
                Ok(()) => {
                    self.failures.reset();
                    if files_changed {
                        tracing::info!("files of certificates or keys have changed, using the new ones");
                    }
                }
                Err(error) => self.log_failure(&*error),
            }
        }
    }

    fn log_rejection(&mut self) {
        if let Some(reloads) = self.rejections.count(now()) {
            tracing::warn!(
                reloads,
                "the API server rejects the credentials, loading the client configuration again"
            );
        }
    }

    /// Files that stay invalid are loaded again each time.
    fn log_failure(&mut self, error: &(dyn Error + 'static)) {
        let error = Escaped(ErrorChain(error)).to_string();
        if let Some(not_logged) = self.failures.record(&error, now()) {
            tracing::warn!(
                error,
                not_logged = (not_logged > 0).then_some(not_logged),
                "cannot use the client configuration, keeping the one in use"
            );
        }
    }

    async fn reload(&mut self) -> Result<(), BoxError> {
        let config = (self.load)().await?;
        if config.cluster_url != self.cluster_url {
            // The caches are of the server at the start.
            return Err("it has another API server now; restart the program to use that".into());
        }
        // Before they are used: a change in between is detected the next time.
        let files = credential_files(&config);
        let options = self.options;
        let stack = tokio::task::spawn_blocking(move || Stack::new(&config, options)).await??;
        self.files = files;
        if let Some(connections) = self.connections.upgrade() {
            let mut state = connections.lock();
            state.stack = Some(stack);
            state.renew();
        }
        Ok(())
    }
}

/// By tokio's clock, which tests control.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
