//! Waiting until the recorder has caught up and the cluster is quiescent.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use tokio::time::{Instant, timeout_at};

use super::list_watch::Recorded;
use super::{RecordError, Recorder};
use crate::history::InvalidVersion;

/// Timeout for a cluster to become quiescent, and for a watch to deliver events.
const TIMEOUT: Duration = Duration::from_secs(120);

impl Recorder {
    /// Waits until all revisions that are in the store at the time of the call are recorded.
    pub async fn wait_caught_up(&self) -> Result<(), RecordError> {
        self.wait_seen(Api::<Namespace>::all(self.client.clone())).await?;
        self.wait_seen(Api::<Node>::all(self.client.clone())).await?;
        self.wait_seen(self.scoped::<Service>()).await?;
        self.wait_seen(self.scoped::<Endpoints>()).await?;
        self.wait_seen(self.scoped::<Pod>()).await?;
        self.wait_seen(self.scoped::<EndpointSlice>()).await
    }

    /// Waits until the cluster is quiescent: the recorder has caught up with the store, and no slice has changed for
    /// `idle`.
    pub async fn wait_quiescent(&self, idle: Duration) -> Result<(), RecordError> {
        let deadline = Instant::now() + TIMEOUT;
        self.wait_caught_up().await?;
        let start = Instant::now();
        loop {
            let mut changed = self.log.changed();
            self.log.check_complete()?;
            let quiescent_at = self.log.last_slice_event().max(start) + idle;
            if Instant::now() >= quiescent_at {
                // A delayed watch must not look like a quiescent cluster.
                self.wait_caught_up().await?;
                if self.log.last_slice_event().max(start) + idle == quiescent_at {
                    return Ok(());
                }
            } else if quiescent_at > deadline {
                return Err(timed_out("a quiescent cluster"));
            }
            // Continues at a new entry or at the end of the idle period.
            let _ = timeout_at(quiescent_at, changed.changed()).await;
        }
    }

    /// Waits until the watch of a resource has caught up with a list.
    async fn wait_seen<K: Recorded>(&self, api: Api<K>) -> Result<(), RecordError> {
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.map_err(RecordError::request(format!("list {}", K::plural(&()))))?;
        let version = |found: Option<String>| {
            let number = found.as_deref().and_then(|version| version.parse::<u64>().ok());
            number.ok_or_else(|| InvalidVersion::of_list(K::KIND, found))
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
    RecordError::Timeout {
        what: what.to_owned(),
        seconds: TIMEOUT.as_secs(),
    }
}
