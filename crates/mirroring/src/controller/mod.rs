//! The controller: which change concerns which Endpoints object, and what is to be written for it.

mod endpoints;
mod index;
mod metrics;
mod slim;
mod sync;
#[cfg(test)]
mod tests;
mod verdict;

use std::{num::NonZeroUsize, time::Duration};

use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{
    Controller, Event, EventContext, Key, Measurement, MetricSpec, ObjectRef, SyncContext, SyncError, SyncFailure,
    SyncOutcome, SyncResult, WatchSpec,
};
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

use crate::{check_eligible, has_selector};
use endpoints::Endpoints;
use index::Index;
use metrics::{METRICS, Metrics};

/// What the controller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The Endpoints objects.
    Endpoints,
    /// The Services.
    Services,
    /// The slices of pods, which another controller writes.
    PodSlices,
}

/// Who publishes the pods of a Service that has a selector.
const POD_SLICES_MANAGED_BY: &str = "endpointslice-controller.k8s.io";

/// How the controller works.
#[derive(Clone, Debug)]
pub struct Config {
    /// Value of the managed-by label on its slices.
    pub managed_by: String,
    /// Addresses of a subset that are mirrored, both IP families together (M69).
    pub max_endpoints_per_subset: NonZeroUsize,
    /// How long changes of slices are collected before an object is looked at; nothing else is delayed (M25).
    pub batch_period: Duration,
    /// Which Services; all, if empty. What belongs to others is left alone.
    pub service_selector: String,
}

/// An object that the controller watches.
#[derive(Clone, Debug)]
pub enum Input {
    /// An Endpoints object.
    Endpoints(Box<api::Endpoints>),
    /// A Service.
    Service(Box<api::Service>),
    /// A slice with the pods of a Service.
    PodSlice(Box<ObjectMeta>),
}

/// Mirrors the Endpoints objects of all Services that do not select pods.
#[derive(Debug)]
pub struct MirroringController {
    config: Config,
    index: Index,
    metrics: Metrics,
}

impl MirroringController {
    /// A controller that knows nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            index: Index::default(),
            metrics: Metrics::new(),
        }
    }

    /// An object that asks not to be mirrored is as good as none (M2, M3), and need not be kept.
    fn apply_endpoints(&mut self, endpoints: &api::Endpoints, context: &mut EventContext) {
        let key = key_of(&endpoints.metadata, context);
        let changed = match check_eligible(endpoints) {
            Ok(()) => {
                let compact = Endpoints::read(endpoints, context.interner());
                self.index.put_endpoints(&key, compact)
            }
            Err(_) => self.index.remove_endpoints(&key),
        };
        if changed {
            context.enqueue(key);
        }
    }

    fn apply_service(&mut self, service: &api::Service, context: &mut EventContext) {
        let key = key_of(&service.metadata, context);
        if self.index.put_service(&key, has_selector(service)) {
            context.enqueue(key);
        }
    }

    fn apply_pod_slice(&mut self, slice: &ObjectMeta, context: &mut EventContext) {
        let service = slice.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME_LABEL));
        let service = service.map(|name| context.interner().intern(name));
        let slice = key_of(slice, context);
        if let Some(key) = self.index.put_pod_slice(slice, service) {
            context.enqueue_after(key, self.config.batch_period);
        }
    }
}

impl Controller for MirroringController {
    type WatchId = Watch;
    type Object = Input;

    fn watches(&self) -> Vec<WatchSpec<Watch, Input>> {
        vec![
            WatchSpec::with_decoder(Watch::Endpoints, "v1", "endpoints", slim::endpoints),
            WatchSpec::with_decoder(Watch::Services, "v1", "services", slim::service)
                .labels(&self.config.service_selector),
            WatchSpec::with_decoder(
                Watch::PodSlices,
                "discovery.k8s.io/v1",
                "endpointslices",
                slim::pod_slice,
            )
            .named("pod slices")
            .labels(format!("{MANAGED_BY_LABEL}={POD_SLICES_MANAGED_BY}"))
            .metadata_only(),
        ]
    }

    fn apply(&mut self, object: Input, context: &mut EventContext) {
        match object {
            Input::Endpoints(endpoints) => self.apply_endpoints(&endpoints, context),
            Input::Service(service) => self.apply_service(&service, context),
            Input::PodSlice(slice) => self.apply_pod_slice(&slice, context),
        }
    }

    fn delete(&mut self, watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        let key = Key::from(object);
        let changed = match watch {
            Watch::Endpoints => self.index.remove_endpoints(&key),
            Watch::Services => self.index.remove_service(&key),
            Watch::PodSlices => {
                self.index.remove_pod_slice(&key);
                false
            }
        };
        if changed {
            context.enqueue(key);
        }
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.sync_endpoints(key, context)
    }

    fn on_sync_result(&mut self, _key: &Key, outcome: &SyncOutcome) {
        self.metrics.record_sync(outcome);
    }

    fn failure_event(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        self.describe(key, failures)
    }

    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &METRICS
    }

    fn take_measurements(&mut self) -> Vec<Measurement> {
        self.metrics.take()
    }
}

/// The key of an object by its own name, with interned strings.
fn key_of(object: &ObjectMeta, context: &mut EventContext) -> Key {
    let mut intern = |text: &Option<String>| context.interner().intern(text.as_deref().unwrap_or_default());
    Key::new(intern(&object.namespace), intern(&object.name))
}
