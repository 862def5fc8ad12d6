//! The mirroring controller: watch events → index and keys to enqueue; key → plan, events and metrics.

mod action;
mod endpoints;
mod events;
mod index;
mod metrics;
mod slim;
mod sync;
#[cfg(test)]
mod tests;

use std::{num::NonZeroUsize, time::Duration};

use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{
    Controller, Event, EventContext, EventSpec, Key, Measurement, MetricSpec, ObjectRef, SyncContext, SyncError,
    SyncFailure, SyncOutcome, SyncResult, WatchSpec,
};
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

use crate::{check_eligible, has_selector};
use endpoints::Endpoints;
use events::EVENTS;
use index::Index;
use metrics::{METRICS, Metrics};

/// Id of a watch of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Endpoints objects.
    Endpoints,
    /// Services.
    Services,
    /// Slices of the EndpointSlice controller, with the pods of Services that have a selector; metadata only.
    PodSlices,
}

/// Managed-by value of the EndpointSlice controller, which publishes the pods of Services with a selector.
const POD_SLICES_MANAGED_BY: &str = "endpointslice-controller.k8s.io";

/// Configuration of the controller.
#[derive(Clone, Debug)]
pub struct Config {
    /// Value of the managed-by label of its slices.
    pub managed_by: String,
    /// Maximum number of mirrored addresses per subset, both IP families together (M69).
    pub max_endpoints_per_subset: NonZeroUsize,
    /// Delay between a change of a slice and the sync, to batch changes. Other changes are synced at once (M25).
    pub batch_period: Duration,
    /// Label selector of the Services to manage; empty for all. Slices of other Services are ignored.
    pub service_selector: String,
}

/// A watched object.
#[derive(Clone, Debug)]
pub enum Input {
    /// An Endpoints object.
    Endpoints(Box<api::Endpoints>),
    /// A Service.
    Service(Box<api::Service>),
    /// Metadata of a slice with the pods of a Service.
    PodSlice(Box<ObjectMeta>),
}

/// Mirrors the Endpoints objects of all Services without a selector.
#[derive(Debug)]
pub struct MirroringController {
    config: Config,
    index: Index,
    metrics: Metrics,
}

impl MirroringController {
    /// A controller with an empty index.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            index: Index::default(),
            metrics: Metrics::new(),
        }
    }

    /// Stores the object and enqueues its key if it changed. An object that is not eligible is treated as deleted (M2, M3).
    fn apply_endpoints(&mut self, endpoints: &api::Endpoints, context: &mut EventContext) {
        let key = key_of(&endpoints.metadata, context);
        if check_eligible(endpoints).is_err() {
            if self.index.remove_endpoints(&key) {
                context.enqueue_removal_after(key, Duration::ZERO);
            }
            return;
        }
        let compact = Endpoints::from_k8s(endpoints, context.interner());
        if self.index.set_endpoints(&key, compact) {
            context.enqueue(key);
        }
    }

    fn apply_service(&mut self, service: &api::Service, context: &mut EventContext) {
        let key = key_of(&service.metadata, context);
        if self.index.set_service(&key, has_selector(service)) {
            context.enqueue(key);
        }
    }

    fn apply_pod_slice(&mut self, slice: &ObjectMeta, context: &mut EventContext) {
        let service = slice.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME_LABEL));
        let service = service.map(|name| context.interner().intern(name));
        let slice = key_of(slice, context);
        if let Some(key) = self.index.set_pod_slice(slice, service) {
            context.enqueue_after(key, self.config.batch_period);
        }
    }
}

impl Controller for MirroringController {
    type WatchId = Watch;
    type Object = Input;

    fn watches(&self) -> Vec<WatchSpec<Watch, Input>> {
        vec![
            WatchSpec::with_decoder(Watch::Endpoints, "v1", "endpoints", slim::decode_endpoints),
            WatchSpec::with_decoder(Watch::Services, "v1", "services", slim::decode_service)
                .labels(&self.config.service_selector),
            WatchSpec::with_decoder(
                Watch::PodSlices,
                "discovery.k8s.io/v1",
                "endpointslices",
                slim::decode_pod_slice,
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
            context.enqueue_removal_after(key, Duration::ZERO);
        }
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.sync_endpoints(key, context)
    }

    fn endpoints_affected(&self, watch: Watch, missing: &[ObjectRef]) -> usize {
        let of_object = |object: &ObjectRef| match watch {
            Watch::Endpoints | Watch::Services => self.index.mirrored_addresses(&Key::from(object)),
            // They only end the grace period of mirrored slices.
            Watch::PodSlices => 0,
        };
        missing.iter().map(of_object).sum()
    }

    fn on_sync_result(&mut self, _key: &Key, outcome: &SyncOutcome) {
        self.metrics.record_sync(outcome);
    }

    fn failure_event(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        self.failure_event_for(key, failures)
    }

    fn events(&self) -> &'static [&'static EventSpec] {
        &EVENTS
    }

    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &METRICS
    }

    fn take_measurements(&mut self) -> Vec<Measurement> {
        self.metrics.take()
    }
}

/// Returns the key of an object, with interned strings.
fn key_of(object: &ObjectMeta, context: &mut EventContext) -> Key {
    let mut intern = |text: &Option<String>| context.interner().intern(text.as_deref().unwrap_or_default());
    Key::new(intern(&object.namespace), intern(&object.name))
}
