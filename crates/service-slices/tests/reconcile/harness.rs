//! Derives, plans and applies the slices of one Service in memory.

use std::{collections::HashMap, num::NonZeroUsize, ops::Range};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use service_slices::{Node, Pod, RESERVED_LABELS, Service, desired};
use slice_core::{CompactSlice, well_known::ZONE_LABEL};
use slice_reconciler::{
    MetadataPolicy, Operation, Owner, Partition, Plan, PlanRequest, TriggerTime,
    hints::{HintMode, TopologyCache},
    plan,
};

use crate::fixtures::pod;

/// The inputs of a sync and the existing slices. At first: Service `foo` (IPv4, one port with target 80, headless), node-1, no
/// pods, no slices.
pub(crate) struct Harness {
    pub(crate) service: Value,
    pub(crate) pods: Vec<Value>,
    /// Names and zones of nodes; an empty zone is none.
    pub(crate) nodes: Vec<(String, &'static str)>,
    pub(crate) slices: Vec<CompactSlice>,
    pub(crate) max: usize,
    pub(crate) trigger_time: TriggerTime,
    /// Whether the newer values of `trafficDistribution` are supported (H2).
    pub(crate) newer_values: bool,
    /// Whether hints are assigned. Otherwise existing hints are preserved.
    pub(crate) assigns_hints: bool,
    pub(crate) topology: Option<TopologyCache<()>>,
}

/// Desired slices, actual slices, desired endpoints; endpoints added, removed; slices created, updated, deleted, changed.
pub(crate) type Metrics = [usize; 9];

/// Result of a sync.
pub(crate) struct Synced {
    pub(crate) plan: Plan,
    pub(crate) skipped: Vec<String>,
}

impl Harness {
    pub(crate) fn new() -> Self {
        let port = json!({"port": 80, "targetPort": 80, "protocol": "TCP"});
        Self {
            service: json!({
                "metadata": {"namespace": "test", "name": "foo", "uid": "uid-foo"},
                "spec": {"ports": [port], "selector": {"foo": "bar"}, "ipFamilies": ["IPv4"]},
            }),
            pods: Vec::new(),
            nodes: vec![("node-1".to_owned(), "")],
            slices: Vec::new(),
            max: 100,
            trigger_time: TriggerTime::Clear,
            newer_values: true,
            assigns_hints: true,
            topology: None,
        }
    }

    /// With these pods, ready and on node-1.
    pub(crate) fn with_pods(pods: Range<usize>) -> Self {
        Self {
            pods: pods.map(pod).collect(),
            ..Self::new()
        }
    }

    /// Adds an existing slice with these pods, as an earlier sync would have written it.
    pub(crate) fn store(&mut self, pods: impl IntoIterator<Item = Value>) -> &mut CompactSlice {
        let mut before = Harness {
            pods: pods.into_iter().collect(),
            service: self.service.clone(),
            nodes: self.nodes.clone(),
            max: 1000,
            ..Self::new()
        };
        before.sync();
        let [mut slice] = before.slices.try_into().unwrap();
        slice.metadata.name = Some(format!("foo-{}", self.slices.len()));
        self.slices.push(slice);
        self.slices.last_mut().unwrap()
    }

    /// Plans and applies the writes.
    pub(crate) fn sync(&mut self) -> Synced {
        let synced = self.plan();
        for write in &synced.plan.writes {
            write.operation.apply_to(&mut self.slices);
        }
        synced
    }

    /// Plans without applying the writes.
    pub(crate) fn plan(&mut self) -> Synced {
        let service: api::Service = serde_json::from_value(self.service.clone()).unwrap();
        let pods: Vec<api::Pod> = self
            .pods
            .iter()
            .map(|pod| serde_json::from_value(pod.clone()).unwrap())
            .collect();
        let compact = Service::from(&service);
        let pods: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let nodes = self.nodes.iter().map(|(name, zone)| (name.as_str(), node(name, zone)));
        let nodes: HashMap<&str, Node> = nodes.collect();
        let desired = desired(&compact, &pods, &nodes);
        let policy = policy(&compact);
        let request = PlanRequest {
            owner: owner(&service),
            partition: Partition::default(),
            address_types: desired.address_types.iter().copied().collect(),
            desired: desired.groups,
            existing: &self.slices,
            metadata: &policy,
            hints: self.assigns_hints.then(|| hint_mode(&service, self.newer_values)),
            topology: self.topology.as_mut().map(|topology| topology.entry(&())),
            trigger_time: self.trigger_time.clone(),
            name_prefix: "foo-",
            reserved_names: &[],
        };
        let options = service_slices::reconcile_options(NonZeroUsize::new(self.max).unwrap());
        let plan = plan(request, &options).unwrap();
        assert_eq!(plan.rejected, [], "the API server would accept all of it");
        let skipped = desired.skipped.iter().map(ToString::to_string).collect();
        Synced { plan, skipped }
    }

    /// Endpoints per slice, sorted.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.slices.iter().map(|slice| slice.endpoints.len()).collect();
        sizes.sort_unstable();
        sizes
    }
}

impl Synced {
    pub(crate) fn metrics(&self) -> Metrics {
        let total = |field: fn(&slice_reconciler::PlanStats) -> usize| self.plan.stats.iter().map(field).sum();
        let [created, updated, deleted] = self.writes();
        [
            total(|stats| stats.min_slices),
            total(|stats| stats.slices),
            total(|stats| stats.desired_endpoints),
            total(|stats| stats.changes.added),
            total(|stats| stats.changes.removed),
            created,
            updated,
            deleted,
            self.plan.writes.len(),
        ]
    }

    /// Number of creates, updates and deletes.
    pub(crate) fn writes(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for write in &self.plan.writes {
            counts[match write.operation {
                Operation::Create(_) => 0,
                Operation::Update(_) => 1,
                Operation::Delete(_) => 2,
            }] += 1;
        }
        counts
    }

    /// The writes in order, by their first letters.
    pub(crate) fn order(&self) -> String {
        let letter = |operation: &Operation| match operation {
            Operation::Create(_) => 'c',
            Operation::Update(_) => 'u',
            Operation::Delete(_) => 'd',
        };
        self.plan.writes.iter().map(|write| letter(&write.operation)).collect()
    }
}

fn node(name: &str, zone: &str) -> Node {
    let node = json!({"metadata": {"name": name, "labels": {ZONE_LABEL: zone}}});
    Node::from(&serde_json::from_value::<api::Node>(node).unwrap())
}

fn owner(service: &api::Service) -> Owner<'_> {
    let metadata = &service.metadata;
    Owner {
        api_version: "v1",
        kind: "Service",
        namespace: metadata.namespace.as_deref().unwrap(),
        name: metadata.name.as_deref().unwrap(),
        uid: metadata.uid.as_deref().unwrap(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

fn policy(service: &Service) -> MetadataPolicy {
    let mut labels = service.slice_labels();
    MetadataPolicy {
        managed_labels: RESERVED_LABELS.map(|key| (key.to_owned(), labels.remove(key))).into(),
        copied_labels: labels,
        ..MetadataPolicy::default()
    }
}

fn hint_mode(service: &api::Service, newer_values: bool) -> HintMode {
    let annotations = service.metadata.annotations.as_ref();
    let distribution = service
        .spec
        .as_ref()
        .and_then(|spec| spec.traffic_distribution.as_deref());
    HintMode::of(
        |key| annotations?.get(key).map(String::as_str),
        distribution,
        newer_values,
    )
}
