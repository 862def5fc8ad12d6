//! Events, written behind a bounded channel so that nobody waits for them.

mod recorder;

use std::sync::Arc;

use slice_controller::Event;
use tokio::sync::mpsc;

use crate::{client::ApiClient, metrics::Metrics};
use recorder::Recorder;

/// Events that wait to be written; more are dropped.
const WAITING: usize = 256;

/// Takes events, and loses some rather than holding anybody up.
pub(crate) struct Events {
    /// Where they are written; nowhere, if they are only logged.
    out: Option<mpsc::Sender<Event>>,
    metrics: Arc<Metrics>,
}

impl Events {
    /// Where events go, and the task that writes them.
    pub(crate) fn new(api: ApiClient, source: &'static str, metrics: Arc<Metrics>) -> (Self, impl Future<Output = ()>) {
        let (out, mut events) = mpsc::channel(WAITING);
        let recording = async move {
            let mut recorder = Recorder::new(api, source);
            while let Some(event) = events.recv().await {
                recorder.record(event).await;
            }
        };
        let out = Some(out);
        (Self { out, metrics }, recording)
    }

    /// Logs events and writes none.
    pub(crate) fn logged(metrics: Arc<Metrics>) -> Self {
        Self { out: None, metrics }
    }

    pub(crate) fn record(&self, events: Vec<Event>) {
        for event in events {
            let Some(out) = &self.out else {
                tracing::info!(reason = %event.reason, message = event.message, "would tell");
                continue;
            };
            if let Err(error) = out.try_send(event) {
                tracing::warn!(%error, "an event is dropped: too many wait to be written");
                self.metrics.event_dropped();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ObjectReference;
    use slice_core::EventType;

    use super::*;

    #[tokio::test]
    async fn events_beyond_the_capacity_are_dropped_and_counted() {
        let metrics = Arc::new(Metrics::new("test", "test"));
        let client = kube::Client::new(apisim::ApiSim::new(), "default");
        let api = ApiClient::new(client, Duration::from_secs(1), None);
        // The task is not run, so that nothing is taken out of the channel.
        let (events, _recording) = Events::new(api, "test", Arc::clone(&metrics));
        let event = Event {
            regarding: ObjectReference::default(),
            event_type: EventType::Normal,
            reason: "Test".into(),
            message: String::new(),
        };
        events.record(vec![event; WAITING + 2]);
        let page = metrics.page();
        assert!(page.contains("test_events_dropped_total 2\n"), "{page}");
    }
}
