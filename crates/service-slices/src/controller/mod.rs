//! The controller: which change concerns which Service, and what is to be written for it.

mod index;
mod metrics;
mod nodes;
mod slim;
mod sync;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::Time};
use slice_controller::{
    Controller, Event, EventContext, Key, Measurement, MetricSpec, ObjectRef, SyncContext, SyncError, SyncFailure,
    SyncOutcome, SyncResult, WatchSpec,
};
use slice_core::TriggerTimeTracker;
use slice_reconciler::hints::TopologyCache;

use crate::{NamedPort, NodeState, Pod, Service};
use index::{Labels, Namespace, ServiceEntry};
use metrics::{METRICS, Metrics};
use nodes::Nodes;
use sync::InProgress;

/// What the controller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The pods.
    Pods,
    /// The Services.
    Services,
    /// The nodes.
    Nodes,
}

/// How the controller works.
#[derive(Clone, Debug)]
pub struct Config {
    /// Value of the managed-by label on its slices.
    pub managed_by: String,
    /// Endpoints per slice.
    pub max_endpoints_per_slice: NonZeroUsize,
    /// How long changes of pods are collected before a Service is looked at (R22).
    pub batch_period: Duration,
    /// Which Services; all, if empty.
    pub service_selector: String,
}

/// An object that the controller watches.
#[derive(Clone, Debug)]
pub enum Input {
    /// A pod.
    Pod(Box<api::Pod>),
    /// A Service.
    Service(Box<api::Service>),
    /// A node.
    Node(Box<api::Node>),
}

/// Keeps the slices of all Services that select pods.
#[derive(Debug)]
pub struct ServiceController {
    config: Config,
    namespaces: HashMap<Arc<str>, Namespace>,
    nodes: Nodes,
    /// Whether nodes changed in a way that topology hints go by.
    nodes_changed: bool,
    topology: TopologyCache<Key>,
    trigger_times: TriggerTimeTracker<Key>,
    in_progress: HashMap<Key, InProgress>,
    last_named_ports: Option<Arc<Vec<NamedPort>>>,
    metrics: Metrics,
}

impl ServiceController {
    /// A controller that knows nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            namespaces: HashMap::new(),
            nodes: Nodes::default(),
            nodes_changed: false,
            topology: TopologyCache::default(),
            trigger_times: TriggerTimeTracker::new(),
            in_progress: HashMap::new(),
            last_named_ports: None,
            metrics: Metrics::new(),
        }
    }

    fn apply_pod(&mut self, pod: &api::Pod, context: &mut EventContext) {
        let labels = Labels::of(pod.metadata.labels.as_ref(), context.interner());
        let mut compact = Pod::from_k8s(pod, context.interner());
        // Pods that were made from one template have the same ports, and mostly come one after the other.
        if compact.named_ports == self.last_named_ports {
            compact.named_ports.clone_from(&self.last_named_ports);
        } else {
            self.last_named_ports.clone_from(&compact.named_ports);
        }
        let namespace = compact.identity.namespace.clone().unwrap_or_default();
        let concerned =
            self.namespaces
                .entry(Arc::clone(&namespace))
                .or_default()
                .put_pod(compact, &labels, ready_since(pod));
        for service in concerned {
            context.enqueue_after(Key::new(Arc::clone(&namespace), service), self.config.batch_period);
        }
    }

    fn apply_service(&mut self, service: &api::Service, context: &mut EventContext) {
        let compact = Service::from(service);
        let key = Key::new(Arc::clone(&compact.namespace), Arc::clone(&compact.name));
        let selector = in_scope(service).then(|| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            Labels::of(selector, context.interner())
        });
        let created = service.metadata.creation_timestamp.as_ref().map(|Time(time)| *time);
        let entry = ServiceEntry::new(compact, created, selector);
        if self
            .namespaces
            .entry(Arc::clone(&key.namespace))
            .or_default()
            .put_service(entry)
        {
            context.enqueue(key);
        }
    }

    fn apply_node(&mut self, node: &api::Node, context: &mut EventContext) {
        let state = NodeState::from_k8s(node, context.interner());
        let name = Arc::clone(&state.node.name);
        let concerned = self.nodes.put(state);
        self.node_changed(&name, concerned, context);
    }

    fn node_changed(&mut self, name: &str, concerned: nodes::Concerned, context: &mut EventContext) {
        self.nodes_changed |= concerned.hints;
        if concerned.pods {
            for (namespace, objects) in &self.namespaces {
                for service in objects.services_on(name) {
                    context.enqueue(Key::new(Arc::clone(namespace), service));
                }
            }
        }
    }

    fn delete_pod(&mut self, pod: &ObjectRef, context: &mut EventContext) {
        let namespace = context.interner().intern(&pod.namespace);
        let Some(objects) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        for service in objects.remove_pod(&pod.name) {
            context.enqueue_after(Key::new(Arc::clone(&namespace), service), self.config.batch_period);
        }
        self.remove_if_empty(&namespace);
    }

    fn delete_service(&mut self, service: &ObjectRef, context: &mut EventContext) {
        let namespace = context.interner().intern(&service.namespace);
        let Some(objects) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        if objects.remove_service(&service.name) {
            context.enqueue(Key::new(Arc::clone(&namespace), &*service.name));
        }
        self.remove_if_empty(&namespace);
    }

    fn remove_if_empty(&mut self, namespace: &str) {
        if self.namespaces.get(namespace).is_some_and(Namespace::is_empty) {
            self.namespaces.remove(namespace);
        }
    }
}

impl Controller for ServiceController {
    type WatchId = Watch;
    type Object = Input;

    fn watches(&self) -> Vec<WatchSpec<Watch, Input>> {
        vec![
            WatchSpec::with_decoder(Watch::Nodes, "v1", "nodes", slim::node).cluster_scoped(),
            WatchSpec::with_decoder(Watch::Pods, "v1", "pods", slim::pod),
            WatchSpec::with_decoder(Watch::Services, "v1", "services", slim::service)
                .labels(&self.config.service_selector),
        ]
    }

    fn apply(&mut self, object: Input, context: &mut EventContext) {
        match object {
            Input::Pod(pod) => self.apply_pod(&pod, context),
            Input::Service(service) => self.apply_service(&service, context),
            Input::Node(node) => self.apply_node(&node, context),
        }
    }

    fn delete(&mut self, watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        match watch {
            Watch::Pods => self.delete_pod(object, context),
            Watch::Services => self.delete_service(object, context),
            Watch::Nodes => {
                let concerned = self.nodes.remove(&object.name);
                self.node_changed(&object.name, concerned, context);
            }
        }
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.sync_service(key, context)
    }

    /// Shares of zones are computed once for many nodes, and before any Service is synced (W19).
    fn before_sync(&mut self, context: &mut EventContext) {
        if std::mem::take(&mut self.nodes_changed) {
            for key in self.topology.set_nodes(self.nodes.facts()) {
                context.enqueue(key);
            }
        }
    }

    fn on_sync_result(&mut self, key: &Key, outcome: &SyncOutcome) {
        self.sync_finished(key, outcome);
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

/// R50 steps 3 and 4. An empty selector is none (trap 29).
fn in_scope(service: &api::Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| {
        spec.type_.as_deref() != Some("ExternalName")
            && spec.selector.as_ref().is_some_and(|selector| !selector.is_empty())
    })
}

/// R111: when the first `Ready` condition last changed.
fn ready_since(pod: &api::Pod) -> Option<Timestamp> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|Time(time)| *time)
}
