//! The event recorder: creates events, and counts repeated ones.

use std::collections::VecDeque;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event as ApiEvent, EventSource},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use kube::{
    Resource as _,
    core::{
        Request,
        params::{Patch, PatchParams, PostParams},
        request::Error,
    },
};
use serde_json::json;
use slice_controller::Event;

use crate::client::{ApiClient, BuiltRequest, RequestError};

/// Recorded events in the cache, whose count is updated when they are repeated.
const CACHE_CAPACITY: usize = 1024;

/// Creates events, and updates the count of repeated ones.
pub(super) struct Recorder {
    api: ApiClient,
    source: &'static str,
    /// A least recently used cache, the oldest first.
    recorded: VecDeque<RecordedEvent>,
}

/// An event in the API.
struct RecordedEvent {
    event: Event,
    namespace: String,
    name: String,
    count: i32,
}

impl Recorder {
    pub(super) fn new(api: ApiClient, source: &'static str) -> Self {
        Self {
            api,
            source,
            recorded: VecDeque::new(),
        }
    }

    /// Creates an event, or increments the count of an equal one.
    pub(super) async fn record(&mut self, event: &Event) -> Result<(), RequestError> {
        let now = Timestamp::now();
        let index = self.recorded.iter().position(|recorded| recorded.event == *event);
        let mut recorded = match index.and_then(|index| self.recorded.remove(index)) {
            Some(recorded) => recorded,
            None => RecordedEvent::new(event.clone(), now),
        };
        recorded.count = recorded.count.saturating_add(1);
        let mut response = self.send(&recorded, now).await;
        // The API server deletes events after an hour: create it again.
        if recorded.count > 1 && matches!(&response, Err(RequestError::Api(error)) if error.code == 404) {
            recorded.count = 1;
            response = self.send(&recorded, now).await;
        }
        response?;
        self.recorded.push_back(recorded);
        if self.recorded.len() > CACHE_CAPACITY {
            self.recorded.pop_front();
        }
        Ok(())
    }

    async fn send(&self, event: &RecordedEvent, now: Timestamp) -> Result<(), RequestError> {
        self.api.call(event.request(self.source, now)).await.map(drop)
    }
}

impl RecordedEvent {
    fn new(event: Event, now: Timestamp) -> Self {
        let object = &event.regarding;
        // As in client-go: unique enough, and sorted by time.
        let name = format!(
            "{}.{:x}",
            object.name.as_deref().unwrap_or_default(),
            now.as_nanosecond()
        );
        Self {
            namespace: object.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            name,
            event,
            count: 0,
        }
    }

    /// The request that creates the event, or updates its count.
    fn request(&self, source: &str, now: Timestamp) -> BuiltRequest {
        let requests = Request::new(ApiEvent::url_path(&(), Some(&self.namespace)));
        if self.count <= 1 {
            let body = serde_json::to_vec(&self.object(source, now)).map_err(Error::SerializeBody)?;
            requests.create(&PostParams::default(), body)
        } else {
            let patch = Patch::Merge(json!({"count": self.count, "lastTimestamp": Time(now)}));
            requests.patch(&self.name, &PatchParams::default(), &patch)
        }
    }

    fn object(&self, source: &str, now: Timestamp) -> ApiEvent {
        let Event {
            regarding,
            event_type,
            reason,
            message,
        } = &self.event;
        ApiEvent {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            involved_object: regarding.clone(),
            type_: Some(event_type.as_str().to_owned()),
            reason: Some(reason.to_string()),
            message: Some(message.clone()),
            source: Some(EventSource {
                component: Some(source.to_owned()),
                host: None,
            }),
            reporting_component: Some(source.to_owned()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(self.count),
            ..ApiEvent::default()
        }
    }
}
