//! Waiting for quiescent_at.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use tokio::time::{Instant, timeout_at};

use super::list_watch::Recorded;
use super::{RecordError, Recorder};
use crate::history::BadVersion;

/// How long a cluster may take to come to quiescent_at, and a watch to deliver.
const TIMEOUT: Duration = Duration::from_secs(120);

impl Recorder {
    /// Waits until everything that is in the store at the time of the call has been seen here.
    pub async fn caught_up(&self) -> Result<(), RecordError> {
        self.has_seen(Api::<Namespace>::all(self.client.clone())).await?;
        self.has_seen(Api::<Node>::all(self.client.clone())).await?;
        self.has_seen(self.scoped::<Service>()).await?;
        self.has_seen(self.scoped::<Endpoints>()).await?;
        self.has_seen(self.scoped::<Pod>()).await?;
        self.has_seen(self.scoped::<EndpointSlice>()).await
    }

    /// Waits for quiescent_at: all that was in the store at the time of the call has been seen, and since then, for so long, no
    /// event of any slice.
    pub async fn settled(&self, quiet: Duration) -> Result<(), RecordError> {
        let deadline = Instant::now() + TIMEOUT;
        self.caught_up().await?;
        let begin = Instant::now();
        loop {
            let mut changed = self.log.changed();
            self.log.check_complete()?;
            let quiescent_at = self.log.last_slice_event().max(begin) + quiet;
            if Instant::now() >= quiescent_at {
                // A watch that is late must not be taken for silence.
                self.caught_up().await?;
                if self.log.last_slice_event().max(begin) + quiet == quiescent_at {
                    return Ok(());
                }
            } else if quiescent_at > deadline {
                return Err(timed_out("quiescent_at"));
            }
            // Either something happened, or it is time to look again.
            let _ = timeout_at(quiescent_at, changed.changed()).await;
        }
    }

    /// Waits until the stream of a resource has delivered what a list shows.
    async fn has_seen<K: Recorded>(&self, api: Api<K>) -> Result<(), RecordError> {
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.map_err(RecordError::request(format!("list {}", K::plural(&()))))?;
        let version = |found: Option<String>| {
            let number = found.as_deref().and_then(|version| version.parse::<u64>().ok());
            number.ok_or_else(|| BadVersion::of_list(K::KIND, found))
        };
        let revision = version(list.metadata.resource_version)?;
        let mut listed = BTreeMap::new();
        for object in list.items {
            let metadata = object.metadata;
            listed.insert(metadata.uid.unwrap_or_default(), version(metadata.resource_version)?);
        }
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let mut changed = self.log.changed();
            self.log.check_complete()?;
            if self.log.has_seen(K::KIND, &listed, revision) {
                return Ok(());
            }
            if timeout_at(deadline, changed.changed()).await.is_err() {
                return Err(timed_out(&format!(
                    "delivery of {} {revision} by a watch",
                    K::plural(&())
                )));
            }
        }
    }
}

fn timed_out(what: &str) -> RecordError {
    RecordError::Never {
        what: what.to_owned(),
        seconds: TIMEOUT.as_secs(),
    }
}
