//! A controller with an optional watch that reports its syncs and events.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use slice_controller::{Controller, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec};
use slice_runtime::{Health, WatchState};
use tokio::sync::mpsc;

/// Longer than the retry delay of an absent resource.
const REPORT_TIMEOUT: Duration = Duration::from_secs(120);

/// Watches namespaces and an optional cluster-scoped resource. Reports syncs, and events of the optional resource.
pub(crate) struct Reporter {
    group_version: &'static str,
    resource: &'static str,
    reports: mpsc::UnboundedSender<String>,
}

/// The reports of a [`Reporter`].
pub(crate) struct Reports {
    resource: &'static str,
    received: mpsc::UnboundedReceiver<String>,
}

#[derive(Clone, Copy)]
pub(crate) enum Watch {
    Namespaces,
    Optional,
}

#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

impl Reporter {
    pub(crate) fn new(group_version: &'static str, resource: &'static str) -> (Self, Reports) {
        let (reports, received) = mpsc::unbounded_channel();
        let reporter = Self {
            group_version,
            resource,
            reports,
        };
        (reporter, Reports { resource, received })
    }

    fn report(&self, report: String) {
        // The receiver is dropped when the test ends.
        let _ = self.reports.send(report);
    }
}

impl Controller for Reporter {
    type WatchId = Watch;
    type Object = (Watch, String);

    fn watches(&self) -> Vec<WatchSpec<Watch, (Watch, String)>> {
        let watch = |id, group_version, resource| {
            let name = move |object: Named| (id, object.metadata.name.unwrap());
            WatchSpec::new(id, group_version, resource, name).cluster_scoped()
        };
        vec![
            watch(Watch::Namespaces, "v1", "namespaces"),
            watch(Watch::Optional, self.group_version, self.resource).optional(),
        ]
    }

    fn apply(&mut self, (watch, name): (Watch, String), context: &mut EventContext) {
        match watch {
            Watch::Namespaces if name != "default" => return,
            Watch::Namespaces => {}
            Watch::Optional => self.report(format!("apply {name}")),
        }
        context.enqueue(Key::new("default", "all"));
    }

    fn delete(&mut self, _watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        self.report(format!("delete {}", object.name));
        context.enqueue(Key::new("default", "all"));
    }

    fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.report("sync".to_owned());
        Ok(SyncResult::default())
    }
}

impl Reports {
    /// The next report.
    pub(crate) async fn next(&mut self) -> String {
        let next = tokio::time::timeout(REPORT_TIMEOUT, self.received.recv()).await;
        next.expect("no report in time").unwrap()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// The state of the watch of the optional resource.
    pub(crate) fn state(&self, health: &Health) -> WatchState {
        let states = health.watches();
        let state = states.into_iter().find(|(name, _)| *name == self.resource);
        state.unwrap().1
    }
}
