//! Deriving endpoints allocates a fixed number of times, however many pods there are; finding that there is nothing to do, once
//! or a few times for each slice, and never for an endpoint.

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

/// A Service, its pods, and the slices that it has.
struct Cluster {
    service: Service,
    pods: Vec<Pod>,
    nodes: Nodes,
    slices: Vec<CompactSlice>,
}

impl Cluster {
    /// At rest: the slices are as they should be.
    fn at_rest(service: Service, count: usize) -> Self {
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
        let facts = |zone| NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(1_000),
        };
        let nobody = topology.set_nodes(zones.map(facts));
        assert!(nobody.is_empty(), "nobody has hints yet");
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
        .expect("it is a pod")
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
    .expect("it is a Service");
    Service::from(&service)
}

fn allocations<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let before = dhat::HeapStats::get().total_blocks;
    let answer = run();
    (dhat::HeapStats::get().total_blocks - before, answer)
}

fn to_derive(service: &Service, pods: &[Pod], nodes: &Nodes) -> u64 {
    let (count, desired) = allocations(|| desired(service, pods, nodes));
    let endpoints: usize = desired.groups.iter().map(|group| group.endpoints.len()).sum();
    assert_eq!(endpoints, 2 * pods.len(), "one endpoint per pod and family");
    count
}

fn to_find_nothing_to_do(cluster: &Cluster) -> u64 {
    let (count, plan) = allocations(|| cluster.plan());
    assert_eq!(plan.writes, []);
    count
}

/// One test, because the counters are the whole process's.
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
    let at_rest = cases.map(|(families, hints)| {
        let clusters = [FEW, MANY].map(|count| {
            let service = service(&families, &json!(8080), &hints);
            Cluster::at_rest(service, count)
        });
        (format!("{families} {hints}"), clusters)
    });
    let at_rest: Vec<_> = at_rest.collect();
    let _profiler = dhat::Profiler::builder().testing().build();

    let number = service(&both, &json!(8080), &Value::Null);
    assert_eq!(to_derive(&number, &few, &nodes), to_derive(&number, &many, &nodes));

    // Pods with one of two port lists, none of them shared; a second group grows as it is filled, so that there are a few
    // more, but far from one for each of the 9,900 pods more.
    let named = service(&both, &json!("http"), &Value::Null);
    let more = to_derive(&named, &many, &nodes) - to_derive(&named, &few, &nodes);
    assert!(more <= 40, "{more} allocations more");

    for (case, [few, many]) in &at_rest {
        let has_hints = many.slices[0].endpoints[0].hints.is_some();
        assert_eq!(has_hints, !case.ends_with("null"), "{case}");
        let slices_more = many.slices.len() - few.slices.len();
        assert!(slices_more >= (MANY - FEW) / ENDPOINTS_PER_SLICE, "{case}");
        let more = to_find_nothing_to_do(many) - to_find_nothing_to_do(few);
        assert!(
            more <= slices_more as u64,
            "{case}: {more} allocations more for {slices_more} slices more"
        );
    }
}
