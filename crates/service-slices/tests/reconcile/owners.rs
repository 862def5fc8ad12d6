//! Slices of the Service, of another owner, and of a terminating Service.

use serde_json::json;

use crate::{fixtures::pod, harness::Harness};

/// A slice of another owner is replaced (T-REC-31, T-REC-32, T-GEN-15, T-GEN-16, I7).
#[test]
fn slice_of_another_owner_is_replaced() {
    let mut harness = Harness::with_pods(1..2);
    harness.store([pod(1)]);
    assert_eq!(harness.sync().order(), "");
    harness.slices[0].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    assert_eq!(harness.sync().order(), "cd");
    assert_eq!(harness.sizes(), [1]);
}

/// Pods 0 (to create), 1 (to update: another node) and 2 (to delete) have different ports, hence different slices. A terminating
/// Service gets no new slices; it may reuse those to delete (T-REC-43…47, T-FIN-01…05).
#[test]
fn t_fin_terminating_service() {
    let with_port = |n: usize, port: i32| {
        let mut pod = pod(n);
        pod["spec"]["containers"][0]["ports"] = json!([{"name": "http", "containerPort": port, "protocol": "TCP"}]);
        pod
    };
    let (create, update, delete) = (1, 2, 4);
    for (id, terminating, changes, order) in [
        ("43, FIN-01", false, create + update, "cu"),
        ("44, FIN-02", true, create + update, "u"),
        ("45, FIN-03", false, create + update + delete, "uu"),
        ("46, FIN-04", true, create + update + delete, "uu"),
        ("47, FIN-05", true, update + delete, "ud"),
    ] {
        let mut harness = Harness::new();
        harness.service["spec"]["ports"][0]["targetPort"] = json!("http");
        harness.store([with_port(1, 81)]);
        harness.store([with_port(3, 83)]);
        if changes & delete > 0 {
            harness.store([with_port(2, 82)]);
        }
        harness.nodes.push(("node-2".into(), ""));
        let mut moved = with_port(1, 81);
        moved["spec"]["nodeName"] = json!("node-2");
        harness.pods = vec![moved, with_port(3, 83)];
        if changes & create > 0 {
            harness.pods.push(with_port(0, 80));
        }
        if terminating {
            harness.service["metadata"]["deletionTimestamp"] = json!("2024-01-02T03:04:05Z");
        }
        let names =
            |harness: &Harness| -> Vec<_> { harness.slices.iter().map(|slice| slice.metadata.name.clone()).collect() };
        let (before, untouched) = (names(&harness), harness.slices[1].clone());
        assert_eq!(harness.sync().order(), order, "T-REC-{id}");
        assert_eq!(
            harness.slices[0].endpoints[0].node_name.as_deref(),
            Some("node-2"),
            "T-REC-{id}"
        );
        assert_eq!(harness.slices[1], untouched, "T-REC-{id}");
        // The slice to delete is reused for the slice to create.
        if changes & (create + delete) == create + delete {
            assert_eq!(names(&harness), before, "T-REC-{id}");
        }
    }
}
