//! Writes events; equal ones once, with a count.

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
use slice_controller::{ErrorChain, Event};

use crate::client::{ApiClient, BuiltRequest, RequestError};

/// Events that are remembered, to be counted when they come again.
const REMEMBERED: usize = 1024;

/// Writes events.
pub(super) struct Recorder {
    api: ApiClient,
    source: &'static str,
    /// The oldest first.
    written: VecDeque<Written>,
}

/// An event that was written.
struct Written {
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
            written: VecDeque::new(),
        }
    }

    /// Writes an event, or counts one more if it was written before. One that cannot be written is lost: whoever made it has
    /// other ways to be heard.
    pub(super) async fn record(&mut self, event: Event) {
        let now = Timestamp::now();
        let known = self.written.iter().position(|written| written.event == event);
        let mut written = match known.and_then(|place| self.written.remove(place)) {
            Some(written) => written,
            None => Written::new(event, now),
        };
        written.count = written.count.saturating_add(1);
        let mut answer = self.api.call(written.request(self.source, now)).await;
        // The API server forgets events after an hour.
        if written.count > 1 && matches!(&answer, Err(RequestError::Api(error)) if error.code == 404) {
            written.count = 1;
            answer = self.api.call(written.request(self.source, now)).await;
        }
        match answer {
            Ok(_) => {
                self.written.push_back(written);
                if self.written.len() > REMEMBERED {
                    self.written.pop_front();
                }
            }
            Err(error) => {
                let Event { reason, message, .. } = &written.event;
                let error = ErrorChain(&error);
                tracing::warn!(%error, %reason, message, "an event could not be written");
            }
        }
    }
}

impl Written {
    fn new(event: Event, now: Timestamp) -> Self {
        let object = &event.regarding;
        // Unique enough, and sorted by time; as others name theirs.
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

    /// Creates the event, or updates its count.
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
