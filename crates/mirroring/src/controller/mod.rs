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
    Change, Controller, Event, Failure, Identity, Interner, Key, Measurement, MetricSpec, Outcome, Source, Sync,
    SyncContext, Wakes,
};
use slice_core::names::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

use crate::{eligible, has_selector};
use endpoints::Endpoints;
use index::Index;
use metrics::{METRICS, Metrics};

const ENDPOINTS: &str = "endpoints";
const SERVICES: &str = "services";
const POD_SLICES: &str = "pod slices";

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
    interner: Interner,
    metrics: Metrics,
}

impl MirroringController {
    /// A controller that knows nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            index: Index::default(),
            interner: Interner::default(),
            metrics: Metrics::new(),
        }
    }

    fn key(&mut self, namespace: &str, name: &str) -> Key {
        Key::new(self.interner.intern(namespace), self.interner.intern(name))
    }

    fn key_of(&mut self, metadata: &ObjectMeta) -> Key {
        self.key(
            metadata.namespace.as_deref().unwrap_or_default(),
            metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// An object that asks not to be mirrored is as good as none (M2, M3), and need not be kept.
    fn put_endpoints(&mut self, endpoints: &api::Endpoints, wakes: &mut Wakes) {
        let key = self.key_of(&endpoints.metadata);
        let wake = match eligible(endpoints) {
            Ok(()) => {
                let compact = Endpoints::read(endpoints, &mut self.interner);
                self.index.put_endpoints(&key, compact)
            }
            Err(_) => self.index.remove_endpoints(&key),
        };
        if wake {
            wakes.now(key);
        }
    }

    fn put_service(&mut self, service: &api::Service, wakes: &mut Wakes) {
        let key = self.key_of(&service.metadata);
        if self.index.put_service(&key, has_selector(service)) {
            wakes.now(key);
        }
    }

    fn put_pod_slice(&mut self, slice: &ObjectMeta, wakes: &mut Wakes) {
        let service = slice.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME_LABEL));
        let service = service.map(|name| self.interner.intern(name));
        let slice = self.key_of(slice);
        if let Some(key) = self.index.put_pod_slice(slice, service) {
            wakes.after(key, self.config.batch_period);
        }
    }

    fn remove(&mut self, kind: &'static str, identity: &Identity, wakes: &mut Wakes) {
        let key = self.key(&identity.namespace, &identity.name);
        let wake = match kind {
            ENDPOINTS => self.index.remove_endpoints(&key),
            SERVICES => self.index.remove_service(&key),
            _ => {
                self.index.remove_pod_slice(&key);
                false
            }
        };
        if wake {
            wakes.now(key);
        }
    }
}

impl Controller for MirroringController {
    type Input = Input;

    fn sources(&self) -> Vec<Source<Input>> {
        let core = |kind, decode| Source {
            kind,
            api: "api/v1",
            resource: kind,
            namespaced: true,
            label_selector: String::new(),
            metadata_only: false,
            decode,
        };
        vec![
            core(ENDPOINTS, slim::endpoints),
            Source {
                label_selector: self.config.service_selector.clone(),
                ..core(SERVICES, slim::service)
            },
            Source {
                kind: POD_SLICES,
                api: "apis/discovery.k8s.io/v1",
                resource: "endpointslices",
                namespaced: true,
                label_selector: format!("{MANAGED_BY_LABEL}={POD_SLICES_MANAGED_BY}"),
                metadata_only: true,
                decode: slim::pod_slice,
            },
        ]
    }

    fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    fn observe(&mut self, change: Change<Input>, wakes: &mut Wakes) {
        match change {
            Change::Applied(Input::Endpoints(endpoints)) => self.put_endpoints(&endpoints, wakes),
            Change::Applied(Input::Service(service)) => self.put_service(&service, wakes),
            Change::Applied(Input::PodSlice(slice)) => self.put_pod_slice(&slice, wakes),
            Change::Deleted { kind, identity } => self.remove(kind, &identity, wakes),
        }
    }

    fn held(&self, kind: &'static str) -> Vec<Identity> {
        let named = |key: &Key| Identity {
            namespace: (&*key.namespace).into(),
            name: (&*key.name).into(),
            ..Identity::default()
        };
        match kind {
            ENDPOINTS => self.index.endpoints().map(named).collect(),
            SERVICES => self.index.services().map(named).collect(),
            _ => self.index.pod_slices().map(named).collect(),
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.index.keys().cloned().collect()
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<Sync, String> {
        self.sync_endpoints(key, context)
    }

    fn finished(&mut self, _key: &Key, outcome: &Outcome) {
        self.metrics.record_sync(outcome);
    }

    fn failure_event(&self, key: &Key, failures: &[Failure]) -> Option<Event> {
        self.describe(key, failures)
    }

    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &METRICS
    }

    fn take_measurements(&mut self) -> Vec<Measurement> {
        self.metrics.take()
    }
}
