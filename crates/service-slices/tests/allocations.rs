//! Number of allocations: constant for deriving desired endpoints, however many pods there are; at most one per slice, and none
//! per endpoint, for a plan without writes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use service_slices::{Node, Pod, Service, desired};
use slice_core::{CompactSlice, well_known::TOPOLOGY_MODE_ANNOTATION};
use slice_reconciler::{
    Plan, PlanOptions, PlanRequest,
    hints::{NodeInfo, TopologyCache, TopologyOptions},
    plan,
};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const FEW: usize = 200;
const MANY: usize = 2_000;
const ENDPOINTS_PER_SLICE: usize = 100;

type Nodes = HashMap<Arc<str>, Node>;

/// A Service with its pods and existing slices.
struct Cluster {
    service: Service,
    pods: Vec<Pod>,
    nodes: Nodes,
    slices: Vec<CompactSlice>,
}

impl Cluster {
    /// With converged slices: a plan has no writes.
    fn converged(service: Service, count: usize) -> Self {
        let mut cluster = Self {
            service,
            pods: pods(count),
            nodes: nodes(),
            slices: Vec::new(),
        };
        let mut slices = Vec::new();
        for write in cluster.plan().writes {
            write.operation.apply_to(&mut slices);
        }
        cluster.slices = slices;
        cluster
    }

    fn plan(&self) -> Plan {
        let desired = desired(&self.service, &self.pods, &self.nodes);
        let metadata = self.service.metadata_policy();
        let mut topology = TopologyCache::new(TopologyOptions::default());
        let zones = self.nodes.values().filter_map(|node| node.zone.as_deref());
        let node_info = |zone| NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(1_000),
        };
        let affected = topology.set_nodes(zones.map(node_info));
        assert!(affected.is_empty(), "no Service has hints yet");
        let request = PlanRequest {
            address_types: desired.address_types.iter().copied().collect(),
            desired: desired.groups,
            hints: Some(self.service.hints),
            topology: Some(topology.entry(&())),
            ..PlanRequest::new(self.service.owner(), &self.slices, &metadata, "web-")
        };
        plan(request, &PlanOptions::default()).expect("the Service has a uid")
    }
}

fn pods(count: usize) -> Vec<Pod> {
    let pod = |n: usize| -> api::Pod {
        serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": format!("web-{n}"), "uid": format!("uid-{n}")},
            "spec": {
                "nodeName": format!("node-{}", n % 10), "hostname": format!("web-{n}"), "subdomain": "web",
                "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080 + n % 2}]}],
            },
            "status": {
                "podIPs": [{"ip": format!("10.0.{}.{}", n / 256, n % 256)}, {"ip": format!("fd00::{n:x}")}],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }))
        .expect("a valid pod")
    };
    (0..count).map(|n| Pod::from(&pod(n))).collect()
}

fn nodes() -> Nodes {
    let node = |n: usize| {
        let name: Arc<str> = format!("node-{n}").into();
        let zone = Some(["zone-a", "zone-b"][n % 2].into());
        (Arc::clone(&name), Node { name, zone })
    };
    (0..10).map(node).collect()
}

/// `hints` is a topology mode or a traffic distribution.
fn service(families: &Value, target_port: &Value, hints: &Value) -> Service {
    let (mode, distribution) = if hints == "Auto" {
        (hints, &Value::Null)
    } else {
        (&Value::Null, hints)
    };
    let annotations: BTreeMap<&str, &Value> = [(TOPOLOGY_MODE_ANNOTATION, mode)]
        .into_iter()
        .filter(|(_, mode)| !mode.is_null())
        .collect();
    let service: api::Service = serde_json::from_value(json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "5f0c1b5e", "annotations": annotations},
        "spec": {
            "ipFamilies": families, "trafficDistribution": distribution,
            "ports": [{"name": "http", "port": 80, "targetPort": target_port}],
        },
    }))
    .expect("a valid Service");
    Service::from(&service)
}

fn count_allocations<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let before = dhat::HeapStats::get().total_blocks;
    let result = run();
    (dhat::HeapStats::get().total_blocks - before, result)
}

fn allocations_of_desired(service: &Service, pods: &[Pod], nodes: &Nodes) -> u64 {
    let (count, desired) = count_allocations(|| desired(service, pods, nodes));
    let endpoints: usize = desired.groups.iter().map(|group| group.endpoints.len()).sum();
    assert_eq!(endpoints, 2 * pods.len(), "one endpoint per pod and family");
    count
}

fn allocations_of_plan_without_writes(cluster: &Cluster) -> u64 {
    let (count, plan) = count_allocations(|| cluster.plan());
    assert_eq!(plan.writes, []);
    count
}

/// One test, because the counters are global to the process.
#[test]
fn no_allocation_per_endpoint() {
    let both = json!(["IPv4", "IPv6"]);
    let nodes = nodes();
    let (few, many) = (pods(100), pods(10_000));
    let cases = [json!(["IPv4"]), json!(["IPv6"]), both.clone()]
        .into_iter()
        .flat_map(|families| {
            [Value::Null, json!("PreferSameZone"), json!("Auto")].map(|hints| (families.clone(), hints))
        });
    let converged = cases.map(|(families, hints)| {
        let clusters = [FEW, MANY].map(|count| {
            let service = service(&families, &json!(8080), &hints);
            Cluster::converged(service, count)
        });
        (format!("{families} {hints}"), clusters)
    });
    let converged: Vec<_> = converged.collect();
    let _profiler = dhat::Profiler::builder().testing().build();

    let number = service(&both, &json!(8080), &Value::Null);
    assert_eq!(
        allocations_of_desired(&number, &few, &nodes),
        allocations_of_desired(&number, &many, &nodes)
    );

    // Pods have one of two port lists, not shared. The second group grows while it is filled: a few more allocations, but not one
    // for each of the 9,900 additional pods.
    let named = service(&both, &json!("http"), &Value::Null);
    let more = allocations_of_desired(&named, &many, &nodes) - allocations_of_desired(&named, &few, &nodes);
    assert!(more <= 40, "{more} more allocations");

    for (case, [few, many]) in &converged {
        let has_hints = many.slices[0].endpoints[0].hints.is_some();
        assert_eq!(has_hints, !case.ends_with("null"), "{case}");
        let more_slices = many.slices.len() - few.slices.len();
        assert!(more_slices >= (MANY - FEW) / ENDPOINTS_PER_SLICE, "{case}");
        let more = allocations_of_plan_without_writes(many) - allocations_of_plan_without_writes(few);
        assert!(
            more <= more_slices as u64,
            "{case}: {more} more allocations for {more_slices} more slices"
        );
    }
}
