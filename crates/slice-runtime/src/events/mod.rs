//! The event recorder behind a bounded channel, so that no sync waits for it.

mod recorder;

use std::{fmt, sync::Arc};

use k8s_openapi::api::core::v1::ObjectReference;
use slice_controller::Event;
use tokio::sync::mpsc;

use crate::{client::ApiClient, escape::Escaped, metrics::Metrics};
use recorder::Recorder;

/// Events in the channel to the recorder; further events are dropped.
const EVENT_CHANNEL_CAPACITY: usize = 256;

/// The sender of events to the recorder. It never blocks: it drops events if the channel is full.
pub(crate) struct Events {
    /// None in a dry run.
    sender: Option<mpsc::Sender<Event>>,
    metrics: Arc<Metrics>,
}

impl Events {
    /// The sender, and the task of the recorder.
    pub(crate) fn new(api: ApiClient, source: &'static str, metrics: Arc<Metrics>) -> (Self, impl Future<Output = ()>) {
        let (sender, mut events) = mpsc::channel(EVENT_CHANNEL_CAPACITY);
        let recorder = async move {
            let mut recorder = Recorder::new(api, source);
            while let Some(event) = events.recv().await {
                recorder.record(event).await;
            }
        };
        let sender = Some(sender);
        (Self { sender, metrics }, recorder)
    }

    /// A sender that logs events instead of recording them.
    pub(crate) fn dry_run(metrics: Arc<Metrics>) -> Self {
        Self { sender: None, metrics }
    }

    pub(crate) fn record(&self, events: Vec<Event>) {
        for event in events {
            let Some(sender) = &self.sender else {
                let regarding = Regarding(&event.regarding);
                tracing::info!(%regarding, reason = &*event.reason, event = event.message, "dry run: would record event");
                continue;
            };
            if let Err(error) = sender.try_send(event) {
                let event = error.into_inner();
                let regarding = Regarding(&event.regarding);
                tracing::warn!(
                    %regarding,
                    reason = &*event.reason,
                    event = event.message,
                    "event dropped: too many are waiting to be recorded"
                );
                self.metrics.event_dropped();
            }
        }
    }
}

/// Displays the object of an event, escaped.
struct Regarding<'a>(&'a ObjectReference);

impl fmt::Display for Regarding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, namespace, name] =
            [&self.0.kind, &self.0.namespace, &self.0.name].map(|field| Escaped(field.as_deref().unwrap_or_default()));
        write!(f, "{kind} {namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use slice_core::EventType;

    use super::*;

    #[tokio::test]
    async fn events_beyond_the_capacity_are_dropped_and_counted() {
        let metrics = Arc::new(Metrics::new("test", "test"));
        let client = kube::Client::new(apisim::ApiSim::new(), "default");
        let api = ApiClient::new(client.into(), Duration::from_secs(1), None);
        // The recorder is not run, so that the channel stays full.
        let (events, _recorder) = Events::new(api, "test", Arc::clone(&metrics));
        let event = Event {
            regarding: ObjectReference::default(),
            event_type: EventType::Normal,
            reason: "Test".into(),
            message: String::new(),
        };
        events.record(vec![event; EVENT_CHANNEL_CAPACITY + 2]);
        let page = metrics.page();
        assert!(page.contains("test_events_dropped_total 2\n"), "{page}");
    }
}
