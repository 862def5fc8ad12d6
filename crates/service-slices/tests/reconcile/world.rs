//! A Service with all that a sync of it looks at, and what the sync comes to.

use std::{collections::HashMap, num::NonZeroUsize, ops::Range};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use service_slices::{Node, Pod, RESERVED_LABELS, Service, desired};
use slice_core::{CompactSlice, well_known::ZONE_LABEL};
use slice_reconciler::{
    MetadataPolicy, Operation, Owner, Partition, Plan, PlanRequest, TriggerTime,
    hints::{HintMode, NodeInfo, TopologyCache},
    plan,
};

/// Everything at first: Service `foo` (IPv4, one port that leads to 80, no cluster IP), no pods, no slices, node-1.
pub(crate) struct World {
    pub(crate) service: Value,
    pub(crate) pods: Vec<Value>,
    /// Names and zones; an empty zone is none.
    pub(crate) nodes: Vec<(String, &'static str)>,
    pub(crate) slices: Vec<CompactSlice>,
    pub(crate) max: usize,
    pub(crate) trigger_time: TriggerTime,
    /// Values of `trafficDistribution` that came later are taken (H2).
    pub(crate) newer_values: bool,
    /// Otherwise hints are left as they are.
    pub(crate) gives_hints: bool,
    pub(crate) topology: Option<TopologyCache<()>>,
}

/// Desired slices, actual slices, desired endpoints; added, removed; created, updated, deleted; slices changed.
pub(crate) type Metrics = [usize; 9];

/// What a sync comes to.
pub(crate) struct Synced {
    pub(crate) plan: Plan,
    pub(crate) skipped: Vec<String>,
}

impl World {
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
            gives_hints: true,
            topology: None,
        }
    }

    /// With these pods, all on node-1 and ready.
    pub(crate) fn with_pods(pods: Range<usize>) -> Self {
        Self {
            pods: pods.map(pod).collect(),
            ..Self::new()
        }
    }

    /// Stores a slice that holds these pods, wherever they are now, as an earlier sync would have left it.
    pub(crate) fn store(&mut self, pods: impl IntoIterator<Item = Value>) -> &mut CompactSlice {
        let mut before = World {
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

    /// Plans and carries out.
    pub(crate) fn sync(&mut self) -> Synced {
        let synced = self.plan();
        for write in &synced.plan.writes {
            write.operation.apply_to(&mut self.slices);
        }
        synced
    }

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
            hints: self.gives_hints.then(|| hint_mode(&service, self.newer_values)),
            topology: self.topology.as_mut().map(|topology| topology.entry(&())),
            trigger_time: self.trigger_time.clone(),
            name_prefix: "foo-",
            reserved_names: &[],
        };
        let options = service_slices::reconcile_options(NonZeroUsize::new(self.max).unwrap());
        let plan = plan(request, &options).unwrap();
        assert_eq!(plan.rejected, [], "nothing of it would be refused");
        let skipped = desired.skipped.iter().map(ToString::to_string).collect();
        Synced { plan, skipped }
    }

    /// Endpoints per slice, in the order of size.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.slices.iter().map(|slice| slice.endpoints.len()).collect();
        sizes.sort_unstable();
        sizes
    }
}

impl Synced {
    pub(crate) fn metrics(&self) -> Metrics {
        let total = |of: fn(&slice_reconciler::PlanStats) -> usize| self.plan.stats.iter().map(of).sum();
        let [created, updated, deleted] = self.writes();
        [
            total(|summary| summary.min_slices),
            total(|summary| summary.slices),
            total(|summary| summary.endpoints),
            total(|summary| summary.changes.added),
            total(|summary| summary.changes.removed),
            created,
            updated,
            deleted,
            self.plan.writes.len(),
        ]
    }

    /// Creates, updates and deletes.
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

    /// The writes in their order, by their first letters.
    pub(crate) fn order(&self) -> String {
        let letter = |operation: &Operation| match operation {
            Operation::Create(_) => 'c',
            Operation::Update(_) => 'u',
            Operation::Delete(_) => 'd',
        };
        self.plan.writes.iter().map(|write| letter(&write.operation)).collect()
    }
}

/// A ready pod on node-1.
pub(crate) fn pod(n: usize) -> Value {
    let ip = format!("10.0.{}.{}", n / 250, n % 250 + 1);
    json!({
        "metadata": {"namespace": "test", "name": format!("pod{n}"), "uid": format!("uid{n}"), "labels": {"foo": "bar"}},
        "spec": {"containers": [{"name": "c"}], "nodeName": "node-1"},
        "status": {"podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(crate) fn unready(mut pod: Value) -> Value {
    pod["status"]["conditions"][0]["status"] = json!("False");
    pod
}

pub(crate) fn on_node(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

fn node(name: &str, zone: &str) -> Node {
    let node = json!({"metadata": {"name": name, "labels": {ZONE_LABEL: zone}}});
    Node::from(&serde_json::from_value::<api::Node>(node).unwrap())
}

/// A topology cache that knows zones a, b and c of the same size.
pub(crate) fn three_zones() -> TopologyCache<()> {
    let mut cache = TopologyCache::default();
    let nodes = ["zone-a", "zone-b", "zone-c"].repeat(10);
    let facts = nodes.iter().map(|zone| NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(100),
    });
    assert_eq!(cache.set_nodes(facts), []);
    cache
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
        reserved: RESERVED_LABELS.map(|key| (key.to_owned(), labels.remove(key))).into(),
        labels,
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
