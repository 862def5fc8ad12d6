//! Deriving endpoints allocates a fixed number of times, however many pods there are.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use service_slices::{Node, Pod, Service, desired};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

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

fn service(target_port: &Value) -> Service {
    let service: api::Service = serde_json::from_value(json!({
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"ipFamilies": ["IPv4", "IPv6"], "ports": [{"name": "http", "port": 80, "targetPort": target_port}]},
    }))
    .expect("it is a Service");
    Service::from(&service)
}

fn allocations(service: &Service, pods: &[Pod], nodes: &HashMap<Arc<str>, Node>) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    let desired = desired(service, pods, nodes);
    let after = dhat::HeapStats::get().total_blocks;
    let endpoints: usize = desired.groups.iter().map(|group| group.endpoints.len()).sum();
    assert_eq!(endpoints, 2 * pods.len(), "one endpoint per pod and family");
    after - before
}

/// One test, because the counters are the whole process's.
#[test]
fn no_allocation_per_pod() {
    let nodes = (0..10).map(|n| (format!("node-{n}").into(), Node::default())).collect();
    let (few, many) = (pods(100), pods(10_000));
    let _profiler = dhat::Profiler::builder().testing().build();

    let number = service(&json!(8080));
    assert_eq!(allocations(&number, &few, &nodes), allocations(&number, &many, &nodes));

    // Pods with one of two port lists, none of them shared; a second group grows as it is filled, so that there are a few
    // more, but far from one for each of the 9,900 pods more.
    let named = service(&json!("http"));
    let more = allocations(&named, &many, &nodes) - allocations(&named, &few, &nodes);
    assert!(more <= 40, "{more} allocations more");
}
