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
    Change, Controller, Event, Failure, Identity, Interner, Key, Measurement, MetricSpec, Outcome, Source, Sync,
    SyncContext, Wakes,
};
use slice_core::TriggerTimes;
use slice_reconciler::hints::TopologyCache;

use crate::{NamedPort, NodeState, Pod, Service};
use index::{Labels, Namespace, ServiceEntry};
use metrics::{METRICS, Metrics};
use nodes::Nodes;
use sync::InProgress;

const PODS: &str = "pods";
const SERVICES: &str = "services";
const NODES: &str = "nodes";

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
    trigger_times: TriggerTimes<Key>,
    in_progress: HashMap<Key, InProgress>,
    interner: Interner,
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
            trigger_times: TriggerTimes::new(),
            in_progress: HashMap::new(),
            interner: Interner::default(),
            last_named_ports: None,
            metrics: Metrics::new(),
        }
    }

    fn put_pod(&mut self, pod: &api::Pod, wakes: &mut Wakes) {
        let labels = Labels::of(pod.metadata.labels.as_ref(), &mut self.interner);
        let mut compact = Pod::<&str>::from(pod).share(&mut self.interner);
        // Pods that were made from one template have the same ports, and mostly come one after the other.
        if compact.named_ports == self.last_named_ports {
            compact.named_ports.clone_from(&self.last_named_ports);
        } else {
            self.last_named_ports.clone_from(&compact.named_ports);
        }
        let namespace = compact.object.namespace.clone().unwrap_or_default();
        let concerned =
            self.namespaces
                .entry(Arc::clone(&namespace))
                .or_default()
                .put_pod(compact, &labels, ready_since(pod));
        for service in concerned {
            wakes.after(Key::new(Arc::clone(&namespace), service), self.config.batch_period);
        }
    }

    fn put_service(&mut self, service: &api::Service, wakes: &mut Wakes) {
        let compact = Service::from(service);
        let key = Key::new(Arc::clone(&compact.namespace), Arc::clone(&compact.name));
        let selector = in_scope(service).then(|| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            Labels::of(selector, &mut self.interner)
        });
        let created = service.metadata.creation_timestamp.as_ref().map(|Time(time)| *time);
        let entry = ServiceEntry::new(compact, created, selector);
        if self
            .namespaces
            .entry(Arc::clone(&key.namespace))
            .or_default()
            .put_service(entry)
        {
            wakes.now(key);
        }
    }

    fn put_node(&mut self, node: &api::Node, wakes: &mut Wakes) {
        let mut state = NodeState::from(node);
        // Shared with the slices that name it, so that endpoints are compared without a look at it.
        state.node = state.node.map(|text| self.interner.intern(text));
        let name = Arc::clone(&state.node.name);
        let concerned = self.nodes.put(state);
        self.node_changed(&name, concerned, wakes);
    }

    fn node_changed(&mut self, name: &str, concerned: nodes::Concerned, wakes: &mut Wakes) {
        self.nodes_changed |= concerned.hints;
        if concerned.pods {
            for (namespace, objects) in &self.namespaces {
                for service in objects.services_on(name) {
                    wakes.now(Key::new(Arc::clone(namespace), service));
                }
            }
        }
    }

    fn remove(&mut self, kind: &'static str, identity: &Identity, wakes: &mut Wakes) {
        if kind == NODES {
            let concerned = self.nodes.remove(&identity.name);
            self.node_changed(&identity.name, concerned, wakes);
            return;
        }
        let namespace = self.interner.intern(&identity.namespace);
        let Some(objects) = self.namespaces.get_mut(&namespace) else {
            return;
        };
        if kind == PODS {
            for service in objects.remove_pod(&identity.name) {
                wakes.after(Key::new(Arc::clone(&namespace), service), self.config.batch_period);
            }
        } else if objects.remove_service(&identity.name) {
            wakes.now(Key::new(Arc::clone(&namespace), &*identity.name));
        }
        if objects.is_empty() {
            self.namespaces.remove(&namespace);
        }
    }
}

impl Controller for ServiceController {
    type Input = Input;

    fn sources(&self) -> Vec<Source<Input>> {
        let core = |kind, namespaced, decode| Source {
            kind,
            api: "api/v1",
            resource: kind,
            namespaced,
            label_selector: String::new(),
            metadata_only: false,
            decode,
        };
        vec![
            core(NODES, false, slim::node),
            core(PODS, true, slim::pod),
            Source {
                label_selector: self.config.service_selector.clone(),
                ..core(SERVICES, true, slim::service)
            },
        ]
    }

    fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    fn observe(&mut self, change: Change<Input>, wakes: &mut Wakes) {
        match change {
            Change::Applied(Input::Pod(pod)) => self.put_pod(&pod, wakes),
            Change::Applied(Input::Service(service)) => self.put_service(&service, wakes),
            Change::Applied(Input::Node(node)) => self.put_node(&node, wakes),
            Change::Deleted { kind, identity } => self.remove(kind, &identity, wakes),
        }
    }

    /// Shares of zones are computed once for many nodes, and before any Service is looked at (W19).
    fn settle(&mut self, wakes: &mut Wakes) {
        if std::mem::take(&mut self.nodes_changed) {
            for key in self.topology.set_nodes(self.nodes.facts()) {
                wakes.now(key);
            }
        }
    }

    fn held(&self, kind: &'static str) -> Vec<Identity> {
        let named = |namespace: &str, name: &Arc<str>| Identity {
            namespace: namespace.into(),
            name: (&**name).into(),
            ..Identity::default()
        };
        if kind == NODES {
            return self.nodes.names().map(|name| named("", name)).collect();
        }
        let mut held = Vec::new();
        for (namespace, objects) in &self.namespaces {
            if kind == PODS {
                held.extend(objects.pod_names().map(|name| named(namespace, name)));
            } else {
                held.extend(objects.service_names().map(|name| named(namespace, name)));
            }
        }
        held
    }

    fn keys(&self) -> Vec<Key> {
        let services = self.namespaces.iter();
        services
            .flat_map(|(namespace, objects)| {
                objects
                    .service_names()
                    .map(|name| Key::new(Arc::clone(namespace), Arc::clone(name)))
            })
            .collect()
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<Sync, String> {
        self.sync_service(key, context)
    }

    fn finished(&mut self, key: &Key, outcome: &Outcome) {
        self.sync_finished(key, outcome);
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
