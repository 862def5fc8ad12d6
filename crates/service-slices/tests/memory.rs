//! Heap of the controller per pod.

use std::{num::NonZeroUsize, time::Duration};

use serde_json::json;
use service_slices::controller::{Config, ServiceController};
use slice_controller::{Controller as _, EventContext};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Fills the hash tables: one more pod would double some of them.
const PODS: usize = 3_584;

/// Index, identity, names and addresses of a pod. The runtime needs a pointer and a byte more per watched object.
const BYTES_PER_POD_MAX: usize = 440;

fn pod(n: usize) -> String {
    let uid = format!("{n:08x}-0000-4000-8000-000000000000");
    let pod = json!({
        "metadata": {
            "namespace": "shop", "name": format!("web-6f7c8d9b5-{n:05}"), "uid": uid,
            "labels": {"app": "web", "pod-template-hash": "6f7c8d9b5"},
        },
        "spec": {
            "nodeName": format!("node-{}", n % 500),
            "containers": [{"name": "web", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}],
        },
        "status": {
            "podIPs": [{"ip": format!("10.0.{}.{}", n / 256, n % 256)}, {"ip": format!("fd00::{n:x}")}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    });
    pod.to_string()
}

#[test]
fn heap_per_pod_is_bounded() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let mut controller = ServiceController::new(Config {
        managed_by: "test".to_owned(),
        max_endpoints_per_slice: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    });
    let mut context = EventContext::default();
    let watches = controller.watches();
    let pods = watches.iter().find(|watch| watch.name == "pods").unwrap();
    let before = dhat::HeapStats::get().curr_bytes;
    for n in 0..PODS {
        let decoded = pods.decode(pod(n).as_bytes()).unwrap();
        controller.apply(decoded.object, &mut context);
    }
    let bytes_per_pod = (dhat::HeapStats::get().curr_bytes - before) / PODS;
    println!("{bytes_per_pod} bytes per pod");
    assert!(bytes_per_pod <= BYTES_PER_POD_MAX, "{bytes_per_pod} bytes per pod");
}
