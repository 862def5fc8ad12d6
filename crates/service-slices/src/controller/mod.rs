//! The controller: indexes watched objects, enqueues the Services that a change affects, and syncs them.
//!
//! * Watch event → enqueue: `apply_pod`, `apply_service` and `apply_node` in `controller/mod.rs`, with the lookups of
//!   `controller/index/`, `controller/pods_by_node.rs` and `controller/node_cache.rs`. Services are enqueued after the batch period if a pod changed, and at
//!   once if a Service or node changed.
//! * Key → plan: `controller/sync.rs`.

mod events;
mod index;
mod metrics;
mod node_cache;
mod pods_by_node;
mod slim;
mod sync;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::Time};
use slice_controller::{
    Controller, Event, EventContext, EventSpec, Key, Measurement, MetricSpec, ObjectRef, SyncContext, SyncError,
    SyncFailure, SyncOutcome, SyncResult, WatchSpec,
};
use slice_core::{TriggerTimeTracker, shrink_if_sparse};
use slice_reconciler::hints::TopologyCache;

use crate::{NamedPort, NodeState, Pod, Service};
use events::EVENTS;
use index::{AffectedServices, Labels, NamespaceIndex, ServiceEntry};
use metrics::{METRICS, Metrics};
use node_cache::{NodeCache, NodeImpact};
use pods_by_node::PodsByNode;
use sync::PendingSync;

/// The watches of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Pods.
    Pods,
    /// Services.
    Services,
    /// Nodes.
    Nodes,
}

/// Configuration of the controller.
#[derive(Clone, Debug)]
pub struct Config {
    /// Value of the managed-by label on its slices.
    pub managed_by: String,
    /// Maximum number of endpoints per slice.
    pub max_endpoints_per_slice: NonZeroUsize,
    /// Batch period: delay between a pod change and the sync of its Services (R22).
    pub batch_period: Duration,
    /// Label selector of the Services to manage; empty for all.
    pub service_selector: String,
}

/// A watched object.
#[derive(Clone, Debug)]
pub enum Input {
    /// A pod.
    Pod(Box<api::Pod>),
    /// A Service.
    Service(Box<api::Service>),
    /// A node.
    Node(Box<api::Node>),
}

/// The EndpointSlice controller: manages the slices of all Services with a selector.
#[derive(Debug)]
pub struct ServiceController {
    config: Config,
    namespaces: HashMap<Arc<str>, NamespaceIndex>,
    pods_by_node: PodsByNode,
    nodes: NodeCache,
    /// Whether the topology cache has to be updated before the next sync.
    nodes_changed: bool,
    topology: TopologyCache<Key>,
    trigger_times: TriggerTimeTracker<Key>,
    pending_syncs: HashMap<Key, PendingSync>,
    /// Named ports of the pod applied last, to share them between pods of one template.
    last_named_ports: Option<Arc<Vec<NamedPort>>>,
    metrics: Metrics,
}

impl ServiceController {
    /// A controller with empty caches.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            namespaces: HashMap::new(),
            pods_by_node: PodsByNode::default(),
            nodes: NodeCache::default(),
            nodes_changed: false,
            topology: TopologyCache::default(),
            trigger_times: TriggerTimeTracker::new(),
            pending_syncs: HashMap::new(),
            last_named_ports: None,
            metrics: Metrics::new(),
        }
    }

    /// Caches a pod and enqueues the Services whose endpoints it changes, after the batch period.
    fn apply_pod(&mut self, pod: &api::Pod, context: &mut EventContext) {
        let labels = Labels::from_map(pod.metadata.labels.as_ref(), context.interner());
        let mut compact = Pod::from_k8s(pod, context.interner());
        // Pods of one template have equal ports and mostly arrive one after the other.
        if compact.named_ports == self.last_named_ports {
            compact.named_ports.clone_from(&self.last_named_ports);
        } else {
            self.last_named_ports.clone_from(&compact.named_ports);
        }
        let namespace = compact.identity.namespace.clone().unwrap_or_default();
        let index = self.namespaces.entry(Arc::clone(&namespace)).or_default();
        let removal = index.takes_out_of_service(compact.name(), Some((&compact, &labels)));
        let affected = index.apply_pod(compact, &labels, ready_transition_time(pod), &mut self.pods_by_node);
        self.enqueue_for_pod(&namespace, affected, removal, context);
    }

    /// Enqueues the Services that a pod event affects, after the batch period.
    fn enqueue_for_pod(
        &self,
        namespace: &Arc<str>,
        affected: AffectedServices,
        removal: bool,
        context: &mut EventContext,
    ) {
        for service in affected {
            let (key, delay) = (Key::new(Arc::clone(namespace), service), self.config.batch_period);
            if removal {
                context.enqueue_removal_after(key, delay);
            } else {
                context.enqueue_after(key, delay);
            }
        }
    }

    /// Caches a Service and enqueues it if it changed.
    fn apply_service(&mut self, service: &api::Service, context: &mut EventContext) {
        let compact = Service::from(service);
        let key = Key::new(Arc::clone(&compact.namespace), Arc::clone(&compact.name));
        let selector = is_managed(service).then(|| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            Labels::from_map(selector, context.interner())
        });
        let created = service.metadata.creation_timestamp.as_ref().map(|Time(time)| *time);
        let entry = ServiceEntry::new(compact, created, selector);
        let index = self.namespaces.entry(Arc::clone(&key.namespace)).or_default();
        if index.apply_service(entry) {
            context.enqueue(key);
        }
    }

    /// Caches a node and enqueues the Services with pods on it if it is new or its zone changed.
    fn apply_node(&mut self, node: &api::Node, context: &mut EventContext) {
        let state = NodeState::from_k8s(node, context.interner());
        let name = Arc::clone(&state.node.name);
        let impact = self.nodes.apply(state);
        self.enqueue_for_node(&name, impact, context);
    }

    /// Enqueues the Services that a node change affects. An update of the topology cache is deferred to `before_sync`.
    fn enqueue_for_node(&mut self, name: &str, impact: NodeImpact, context: &mut EventContext) {
        self.nodes_changed |= impact.hints;
        if impact.endpoints {
            context.enqueue_all(self.services_on_node(name));
        }
    }

    /// The Services with pods on a node.
    fn services_on_node(&self, node: &str) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for pod in self.pods_by_node.pods_on(node) {
            let namespace = pod.namespace.clone().unwrap_or_default();
            let index = self.namespaces.get(&namespace);
            let name = pod.name.as_deref().unwrap_or_default();
            let services = index.map_or(&[][..], |index| index.services_of_pod(name));
            keys.extend(
                services
                    .iter()
                    .map(|service| Key::new(Arc::clone(&namespace), Arc::clone(service))),
            );
        }
        keys
    }

    fn delete_pod(&mut self, pod: &ObjectRef, context: &mut EventContext) {
        let namespace = context.interner().intern(&pod.namespace);
        let Some(index) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        let removal = index.takes_out_of_service(&pod.name, None);
        let affected = index.remove_pod(&pod.name, &mut self.pods_by_node);
        self.enqueue_for_pod(&namespace, affected, removal, context);
        self.remove_if_empty(&namespace);
    }

    fn delete_service(&mut self, service: &ObjectRef, context: &mut EventContext) {
        let namespace = context.interner().intern(&service.namespace);
        let Some(index) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        if index.remove_service(&service.name) {
            context.enqueue(Key::new(Arc::clone(&namespace), &*service.name));
        }
        self.remove_if_empty(&namespace);
    }

    fn remove_if_empty(&mut self, namespace: &str) {
        if self.namespaces.get(namespace).is_some_and(NamespaceIndex::is_empty) {
            self.namespaces.remove(namespace);
            shrink_if_sparse(&mut self.namespaces);
        }
    }
}

impl Controller for ServiceController {
    type WatchId = Watch;
    type Object = Input;

    fn watches(&self) -> Vec<WatchSpec<Watch, Input>> {
        vec![
            WatchSpec::with_decoder(Watch::Nodes, "v1", "nodes", slim::decode_node).cluster_scoped(),
            WatchSpec::with_decoder(Watch::Pods, "v1", "pods", slim::decode_pod),
            WatchSpec::with_decoder(Watch::Services, "v1", "services", slim::decode_service)
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
                let impact = self.nodes.remove(&object.name);
                self.enqueue_for_node(&object.name, impact, context);
            }
        }
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.sync_service(key, context)
    }

    fn endpoints_affected(&self, watch: Watch, missing: &[ObjectRef]) -> usize {
        let of_pod = |namespace: &str, name: &str| {
            let index = self.namespaces.get(namespace);
            index.map_or(0, |index| index.endpoints_of_pod(name))
        };
        let of_object = |object: &ObjectRef| match watch {
            Watch::Pods => of_pod(&object.namespace, &object.name),
            Watch::Services => {
                let index = self.namespaces.get(&*object.namespace);
                index.map_or(0, |index| index.endpoints_of_service(&object.name))
            }
            Watch::Nodes => {
                let pods = self.pods_by_node.pods_on(&object.name);
                let names = pods.filter_map(|pod| Some((pod.namespace.as_deref()?, pod.name.as_deref()?)));
                names.map(|(namespace, name)| of_pod(namespace, name)).sum()
            }
        };
        missing.iter().map(of_object).sum()
    }

    /// Updates the topology cache once for many node events, and before any Service is synced (W19). Enqueues the Services whose
    /// hints it affects.
    fn before_sync(&mut self, context: &mut EventContext) {
        if std::mem::take(&mut self.nodes_changed) {
            context.enqueue_all(self.topology.set_nodes(self.nodes.topology_info()));
        }
    }

    fn on_sync_result(&mut self, key: &Key, outcome: &SyncOutcome) {
        self.record_result(key, outcome);
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

/// Whether the controller manages the slices of a Service: it has a selector and is not of type `ExternalName` (R50 steps 3 and
/// 4). An empty selector is no selector (service-slices.md §21, 29).
fn is_managed(service: &api::Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| {
        spec.type_.as_deref() != Some("ExternalName")
            && spec.selector.as_ref().is_some_and(|selector| !selector.is_empty())
    })
}

/// Last transition time of the first `Ready` condition, the trigger time of the pod (R111).
fn ready_transition_time(pod: &api::Pod) -> Option<Timestamp> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|Time(time)| *time)
}
