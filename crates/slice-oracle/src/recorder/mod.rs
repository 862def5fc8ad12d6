//! Records the revisions of slices and their inputs from an API server.

mod list_watch;
mod log;
mod quiescence;

use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, Resource};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::list_watch::Recorded;
use self::log::Log;
use crate::history::{Entry, Event, History, InvalidVersion, ManualWrite, Mark, Window};
use crate::object::uid;

/// Recording failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The server no longer has revisions that were not received. A history with a gap proves nothing: start a new
    /// recorder.
    #[error("revisions of {kind} after {after} are lost: {reason}")]
    Lost {
        /// The resource.
        kind: String,
        /// The last received revision.
        after: String,
        /// The server's message.
        reason: String,
    },
    /// A request failed.
    #[error("cannot {action}")]
    Request {
        /// The operation.
        action: String,
        /// The client error.
        #[source]
        source: Box<kube::Error>,
    },
    /// A resource version is not a number.
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    /// The cluster did not become quiescent, or a watch delivered no events.
    #[error("{what} did not happen within {seconds} s")]
    Timeout {
        /// The awaited condition.
        what: String,
        /// The timeout.
        seconds: u64,
    },
}

impl RecordError {
    /// For `map_err`: wraps a client error with the operation.
    fn request(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request {
            action,
            source: Box::new(source),
        }
    }
}

/// Records all revisions until it is dropped.
///
/// A broken connection is resumed. A restarted kube-apiserver has an empty watch cache, so that recording fails with
/// [`RecordError::Lost`], unless it runs with `--watch-cache=false`.
pub struct Recorder {
    client: Client,
    /// Namespace of namespaced objects; `None` for all.
    namespace: Option<String>,
    log: Arc<Log>,
    streams: JoinSet<()>,
}

impl Recorder {
    /// Starts recording with a list of all objects, in all namespaces.
    pub async fn start(client: Client) -> Result<Self, RecordError> {
        Self::start_scoped(client, None).await
    }

    /// Starts recording one namespace (and the nodes).
    pub async fn start_namespaced(client: Client, namespace: impl Into<String>) -> Result<Self, RecordError> {
        Self::start_scoped(client, Some(namespace.into())).await
    }

    async fn start_scoped(client: Client, namespace: Option<String>) -> Result<Self, RecordError> {
        let mut recorder = Self {
            client,
            namespace,
            log: Arc::default(),
            streams: JoinSet::new(),
        };
        // All lists are of the same revision, so that the history begins with a consistent state.
        let revision = recorder.revision().await?.to_string();
        recorder
            .follow(Api::<Namespace>::all(recorder.client.clone()), &revision)
            .await?;
        recorder
            .follow(Api::<Node>::all(recorder.client.clone()), &revision)
            .await?;
        recorder.follow(recorder.scoped::<Service>(), &revision).await?;
        recorder.follow(recorder.scoped::<Endpoints>(), &revision).await?;
        recorder.follow(recorder.scoped::<Pod>(), &revision).await?;
        recorder.follow(recorder.scoped::<EndpointSlice>(), &revision).await?;
        Ok(recorder)
    }

    /// The history so far; an error if it has a gap.
    pub fn history(&self) -> Result<History, RecordError> {
        self.log.history()
    }

    /// Subscribes to the events: the recorded ones in the order of the store, then each as it arrives, which may be out
    /// of order between kinds.
    #[must_use]
    pub fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        self.log.events()
    }

    /// Adds a mark at the current revision. The cluster must be [quiescent](Self::wait_quiescent): earlier changes do
    /// not justify later writes.
    pub async fn mark(&self, name: &str, window: Window) -> Result<(), RecordError> {
        let revision = self.revision().await?;
        self.log.push(Entry::Mark(Mark {
            mark: name.to_owned(),
            revision,
            window,
        }));
        Ok(())
    }

    /// Records that this revision of a slice, the response to a create, update or patch, was written by the test and
    /// not by a controller.
    pub fn record_manual_write(&self, response: &EndpointSlice) {
        let version = response.metadata.resource_version.as_deref().unwrap_or_default();
        self.record_manual(response, version.parse().ok());
    }

    /// Records that the test deleted this slice, or will delete it.
    pub fn record_manual_deletion(&self, slice: &EndpointSlice) {
        self.record_manual(slice, None);
    }

    fn record_manual(&self, slice: &EndpointSlice, revision: Option<u64>) {
        self.log.push(Entry::ManualWrite(ManualWrite {
            manual_write: uid(&slice.metadata).to_owned(),
            revision,
        }));
    }

    /// The current revision of the store.
    async fn revision(&self) -> Result<u64, RecordError> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let list = namespaces.list_metadata(&ListParams::default().limit(1)).await;
        let list = list.map_err(RecordError::request("get the current revision"))?;
        let found = list.metadata.resource_version;
        let revision = found.as_deref().and_then(|version| version.parse().ok());
        revision.ok_or_else(|| InvalidVersion::of_list("Namespace", found).into())
    }

    /// The API of a namespaced kind, in the recorded namespace.
    fn scoped<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    async fn follow<K: Recorded>(&mut self, api: Api<K>, revision: &str) -> Result<(), RecordError> {
        list_watch::list(&api, revision, &self.log).await?;
        self.streams
            .spawn(list_watch::follow(api, revision.to_owned(), Arc::clone(&self.log)));
        Ok(())
    }
}
