//! `/debug/state`: the keys of the engine and the position of every watch, as JSON.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use serde::Serialize;
use tokio::sync::oneshot;

use super::{StatusEndpoints, text};
use crate::{
    WatchState,
    engine::{DebugState, since},
};

/// How long a response waits for the runner, which may be busy with a large list.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct Page {
    #[serde(flatten)]
    engine: DebugState,
    watches: Vec<Watch>,
}

#[derive(Serialize)]
struct Watch {
    resource: &'static str,
    /// Whether the resource was listed once.
    synced: bool,
    /// Whether the resource is optional and the API server lacks it.
    absent: bool,
    /// The resourceVersion up to which all events were seen, and the time since it was reached.
    resource_version: Option<String>,
    age_seconds: Option<f64>,
    /// The time since the last response or event.
    idle_seconds: Option<f64>,
    /// The last error since the watch last succeeded, and the time since the first one.
    last_error: Option<String>,
    failing_for_seconds: Option<f64>,
}

impl Watch {
    fn new((resource, state): (&'static str, WatchState), now: Instant) -> Self {
        let (resource_version, reached) = state.position.unzip();
        let (last_error, failing_since) = state.last_error.unzip();
        let seconds = |start: Option<Instant>| start.map(|start| since(start, now));
        Self {
            resource,
            synced: state.synced,
            absent: state.absent,
            resource_version,
            age_seconds: seconds(reached),
            idle_seconds: seconds(state.last_activity),
            last_error,
            failing_for_seconds: seconds(failing_since),
        }
    }
}

impl StatusEndpoints {
    pub(super) async fn debug_state(&self) -> Response<Full<Bytes>> {
        let state = async {
            let (sender, state) = oneshot::channel();
            self.debug.send(sender).await.ok()?;
            state.await.ok()
        };
        let Ok(Some(engine)) = tokio::time::timeout(TIMEOUT, state).await else {
            let message = "the controller does not respond; it is starting, busy or shutting down\n";
            return text(StatusCode::SERVICE_UNAVAILABLE, message);
        };
        let now = Instant::now();
        let watches = self.health.watches().into_iter();
        let page = Page {
            engine,
            watches: watches.map(|watch| Watch::new(watch, now)).collect(),
        };
        let body = serde_json::to_vec_pretty(&page).expect("the state has string keys and finite numbers");
        let mut response = text(StatusCode::OK, body);
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }
}
