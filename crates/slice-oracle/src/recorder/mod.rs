//! Follows an API server and writes down what happens.

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
use crate::history::{BadVersion, ByHand, Entry, Event, History, Mark, Window};
use crate::object::uid;

/// Why there is no history.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The server no longer has revisions that were not seen yet. A history with a hole proves nothing: begin anew.
    #[error("revisions of {kind} after {after} are lost: {reason}")]
    Lost {
        /// Of what.
        kind: String,
        /// The last revision that was seen.
        after: String,
        /// What the server says.
        reason: String,
    },
    /// The server does not answer.
    #[error("cannot {action}")]
    Request {
        /// What was asked for.
        action: String,
        /// What came back.
        #[source]
        source: Box<kube::Error>,
    },
    /// Versions that cannot be put in order.
    #[error(transparent)]
    Version(#[from] BadVersion),
    /// It never came to rest, or a watch does not deliver.
    #[error("{what} did not happen within {seconds} s")]
    Never {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
    },
}

impl RecordError {
    /// For `map_err`: this request failed.
    fn request(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request {
            action,
            source: Box::new(source),
        }
    }
}

/// Records until it is dropped.
///
/// It goes on after a connection breaks. A kube-apiserver that restarts has forgotten what its watch caches held, so that the
/// history [is lost](RecordError::Lost), unless it runs with `--watch-cache=false`.
pub struct Recorder {
    client: Client,
    /// Where objects with a namespace are looked for; nothing for everywhere.
    namespace: Option<String>,
    log: Arc<Log>,
    streams: JoinSet<()>,
}

impl Recorder {
    /// Begins with all that is there, in all namespaces.
    pub async fn start(client: Client) -> Result<Self, RecordError> {
        Self::start_scoped(client, None).await
    }

    /// The same for one namespace (and the nodes).
    pub async fn start_in(client: Client, namespace: impl Into<String>) -> Result<Self, RecordError> {
        Self::start_scoped(client, Some(namespace.into())).await
    }

    async fn start_scoped(client: Client, namespace: Option<String>) -> Result<Self, RecordError> {
        let mut recorder = Self {
            client,
            namespace,
            log: Arc::default(),
            streams: JoinSet::new(),
        };
        // All lists are of the same revision, so that the history begins with a state that was.
        let begin = recorder.revision().await?.to_string();
        recorder
            .follow(Api::<Namespace>::all(recorder.client.clone()), &begin)
            .await?;
        recorder
            .follow(Api::<Node>::all(recorder.client.clone()), &begin)
            .await?;
        recorder.follow(recorder.scoped::<Service>(), &begin).await?;
        recorder.follow(recorder.scoped::<Endpoints>(), &begin).await?;
        recorder.follow(recorder.scoped::<Pod>(), &begin).await?;
        recorder.follow(recorder.scoped::<EndpointSlice>(), &begin).await?;
        Ok(recorder)
    }

    /// What has happened so far; an error if something of it was lost.
    pub fn history(&self) -> Result<History, RecordError> {
        self.log.history()
    }

    /// The same live: the events so far in the order of the store, then each as it is seen, which may be a little out of
    /// order among kinds.
    #[must_use]
    pub fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        self.log.events()
    }

    /// Puts a mark behind everything that has happened so far. The cluster must be at [rest](Self::settled): from here on,
    /// nothing before excuses or causes a write.
    pub async fn mark(&self, name: &str, window: Window) -> Result<(), RecordError> {
        let revision = self.revision().await?;
        self.log.push(Entry::Mark(Mark {
            mark: name.to_owned(),
            revision,
            window,
        }));
        Ok(())
    }

    /// Says that this revision of a slice, the answer of the API server to a create, update or patch, was not written by
    /// a controller but by the test.
    pub fn by_hand(&self, answer: &EndpointSlice) {
        let version = answer.metadata.resource_version.as_deref().unwrap_or_default();
        self.record_manual(answer, version.parse().ok());
    }

    /// Says that the test removed this slice, or will remove it.
    pub fn removed_by_hand(&self, slice: &EndpointSlice) {
        self.record_manual(slice, None);
    }

    fn record_manual(&self, slice: &EndpointSlice, revision: Option<u64>) {
        self.log.push(Entry::ByHand(ByHand {
            by_hand: uid(&slice.metadata).to_owned(),
            revision,
        }));
    }

    /// The last revision that the store has.
    async fn revision(&self) -> Result<u64, RecordError> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let list = namespaces.list_metadata(&ListParams::default().limit(1)).await;
        let list = list.map_err(RecordError::request("ask for the present revision"))?;
        let found = list.metadata.resource_version;
        let revision = found.as_deref().and_then(|version| version.parse().ok());
        revision.ok_or_else(|| BadVersion::of_list("Namespace", found).into())
    }

    /// Where objects of a kind with namespaces are found.
    fn scoped<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    async fn follow<K: Recorded>(&mut self, api: Api<K>, begin: &str) -> Result<(), RecordError> {
        list_watch::list(&api, begin, &self.log).await?;
        self.streams
            .spawn(list_watch::follow(api, begin.to_owned(), Arc::clone(&self.log)));
        Ok(())
    }
}
