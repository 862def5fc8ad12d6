//! Events, written behind a bounded channel so that nobody waits for them.

mod recorder;

use slice_controller::Event;
use tokio::sync::mpsc;

use crate::client::ApiClient;
use recorder::Recorder;

/// Events that wait to be written; more are dropped.
const WAITING: usize = 256;

/// Takes events, and loses some rather than holding anybody up.
pub(crate) struct Events {
    /// Where they are written; nowhere, if they are only logged.
    out: Option<mpsc::Sender<Event>>,
}

impl Events {
    /// Where events go, and the task that writes them.
    pub(crate) fn new(api: ApiClient, source: &'static str) -> (Self, impl Future<Output = ()>) {
        let (out, mut events) = mpsc::channel(WAITING);
        let recording = async move {
            let mut recorder = Recorder::new(api, source);
            while let Some(event) = events.recv().await {
                recorder.record(event).await;
            }
        };
        (Self { out: Some(out) }, recording)
    }

    /// Logs events and writes none.
    pub(crate) fn logged() -> Self {
        Self { out: None }
    }

    pub(crate) fn record(&self, events: Vec<Event>) {
        for event in events {
            let Some(out) = &self.out else {
                tracing::info!(reason = %event.reason, message = event.message, "would tell");
                continue;
            };
            if let Err(error) = out.try_send(event) {
                tracing::warn!(%error, "an event is dropped: too many wait to be written");
            }
        }
    }
}
