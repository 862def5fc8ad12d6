//! List and watch of one resource.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use kube::api::{ListParams, VersionMatch, WatchEvent, WatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::RecordError;
use super::log::{Gap, Log};
use crate::history::Verb;
use crate::object::Object;

/// Delay before a watch is restarted.
const RETRY_DELAY: Duration = Duration::from_millis(100);
const GONE: u16 = 410;

/// Kinds that can be recorded.
pub(super) trait Recorded:
    Resource<DynamicType = ()> + k8s_openapi::Resource + Into<Object> + Clone + Debug + DeserializeOwned + Send + 'static
{
}

impl<K> Recorded for K where
    K: Resource<DynamicType = ()>
        + k8s_openapi::Resource
        + Into<Object>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static
{
}

/// Records a list at a revision.
pub(super) async fn list<K: Recorded>(api: &Api<K>, revision: &str, log: &Log) -> Result<(), RecordError> {
    let params = ListParams::default().at(revision).matching(VersionMatch::Exact);
    let list = api.list(&params).await;
    let kind = K::plural(&());
    for object in list.map_err(RecordError::request(format!("list {kind} at {revision}")))? {
        log.observe(Verb::Listed, object)?;
    }
    Ok(())
}

/// Records all events after a revision, until the task is aborted. A watch that ends is resumed at its last revision;
/// if the server has compacted that revision, the log gets a gap.
pub(super) async fn follow<K: Recorded>(api: Api<K>, mut after: String, log: Arc<Log>) {
    loop {
        if let Err(reason) = watch(&api, &mut after, &log).await {
            log.record_gap(Gap {
                kind: K::plural(&()).into_owned(),
                after,
                reason,
            });
            return;
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Records events until the connection or the server ends the watch; an error means that revisions are lost.
async fn watch<K: Recorded>(api: &Api<K>, after: &mut String, log: &Log) -> Result<(), String> {
    let events = match api.watch(&WatchParams::default(), after).await {
        Ok(events) => events,
        Err(error) => return retryable(&error),
    };
    pin_mut!(events);
    while let Some(event) = events.next().await {
        let (verb, object) = match event {
            Ok(WatchEvent::Added(object)) => (Verb::Added, object),
            Ok(WatchEvent::Modified(object)) => (Verb::Modified, object),
            Ok(WatchEvent::Deleted(object)) => (Verb::Deleted, object),
            Ok(WatchEvent::Bookmark(bookmark)) => {
                *after = bookmark.metadata.resource_version;
                continue;
            }
            Ok(WatchEvent::Error(status)) if status.code == GONE => return Err(status.message),
            Ok(WatchEvent::Error(_)) => return Ok(()),
            Err(error) => return retryable(&error),
        };
        if let Some(version) = &object.meta().resource_version {
            after.clone_from(version);
        }
        log.observe(verb, object).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// `Ok` if the watch can be resumed after this error. An event that cannot be decoded is a gap.
fn retryable(error: &kube::Error) -> Result<(), String> {
    match error {
        kube::Error::Api(status) if status.code == GONE => Err(status.message.clone()),
        kube::Error::SerdeError(_) => Err(error.to_string()),
        _ => Ok(()),
    }
}
