//! Slices of this Service, of another, and of one that is going away.

use serde_json::json;

use crate::world::{World, pod};

/// T-REC-31, T-REC-32, T-GEN-15, T-GEN-16, I7.
#[test]
fn a_slice_of_another_owner() {
    let mut world = World::with_pods(1..2);
    world.store([pod(1)]);
    assert_eq!(world.sync().order(), "");
    world.slices[0].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    assert_eq!(world.sync().order(), "cd");
    assert_eq!(world.sizes(), [1]);
}

/// T-REC-43…47, T-FIN-01…05: pods 0 (to create), 1 (to update: it moves to another node) and 2 (to delete) have ports, and so
/// slices, of their own. A Service that is going away gets nothing new, except in the place of something old.
#[test]
fn t_fin_a_service_that_is_going_away() {
    let with_port = |n: usize, port: i32| {
        let mut pod = pod(n);
        pod["spec"]["containers"][0]["ports"] = json!([{"name": "http", "containerPort": port, "protocol": "TCP"}]);
        pod
    };
    let (create, update, delete) = (1, 2, 4);
    for (id, terminating, what, order) in [
        ("43, FIN-01", false, create + update, "cu"),
        ("44, FIN-02", true, create + update, "u"),
        ("45, FIN-03", false, create + update + delete, "uu"),
        ("46, FIN-04", true, create + update + delete, "uu"),
        ("47, FIN-05", true, update + delete, "ud"),
    ] {
        let mut world = World::new();
        world.service["spec"]["ports"][0]["targetPort"] = json!("http");
        world.store([with_port(1, 81)]);
        world.store([with_port(3, 83)]);
        if what & delete > 0 {
            world.store([with_port(2, 82)]);
        }
        world.nodes.push(("node-2".into(), ""));
        let mut moved = with_port(1, 81);
        moved["spec"]["nodeName"] = json!("node-2");
        world.pods = vec![moved, with_port(3, 83)];
        if what & create > 0 {
            world.pods.push(with_port(0, 80));
        }
        if terminating {
            world.service["metadata"]["deletionTimestamp"] = json!("2024-01-02T03:04:05Z");
        }
        let names =
            |world: &World| -> Vec<_> { world.slices.iter().map(|slice| slice.metadata.name.clone()).collect() };
        let (before, untouched) = (names(&world), world.slices[1].clone());
        assert_eq!(world.sync().order(), order, "T-REC-{id}");
        assert_eq!(
            world.slices[0].endpoints[0].node_name.as_deref(),
            Some("node-2"),
            "T-REC-{id}"
        );
        assert_eq!(world.slices[1], untouched, "T-REC-{id}");
        // What was to be created is under the name of what was to be deleted.
        if what & (create + delete) == create + delete {
            assert_eq!(names(&world), before, "T-REC-{id}");
        }
    }
}
