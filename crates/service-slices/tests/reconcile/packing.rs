//! Many pods.

use serde_json::json;
use slice_core::UnknownAddressType;

use crate::world::{World, pod, unready};

/// T-REC-22, T-REC-34…38, T-GEN-06, T-GEN-18…22.
#[test]
fn slices_are_filled_to_the_maximum() {
    for (id, max, sizes) in [
        ("22, GEN-06", 100, vec![50, 100, 100]),
        ("34, GEN-18", 50, vec![50; 5]),
        ("35, GEN-19", 80, vec![10, 80, 80, 80]),
        ("36, GEN-20", 150, vec![100, 150]),
        ("37, GEN-21", 250, vec![250]),
        ("38, GEN-22", 500, vec![250]),
    ] {
        let mut world = World::with_pods(0..250);
        world.max = max;
        let n = sizes.len();
        assert_eq!(world.sync().metrics(), [n, n, 250, 250, 0, n, 0, 0, n], "T-REC-{id}");
        assert_eq!(world.sizes(), sizes, "T-REC-{id}");
    }
}

/// T-REC-23, T-GEN-07: one whole slice is new, the rest goes where it fits best.
#[test]
fn a_remainder_goes_into_one_slice() {
    let mut world = World::with_pods(0..250);
    world.store((0..62).map(pod));
    world.store((62..123).map(pod));
    let synced = world.sync();
    assert_eq!(synced.metrics(), [3, 3, 250, 127, 0, 1, 1, 0, 2]);
    assert_eq!(synced.order(), "cu");
    assert_eq!(world.sizes(), [61, 89, 100]);
}

/// T-REC-24, T-GEN-08: a remainder that fits nowhere gets a slice of its own.
#[test]
fn a_remainder_that_fits_nowhere() {
    let mut world = World::with_pods(0..300);
    world.store((0..74).map(pod));
    world.store((74..148).map(pod));
    assert_eq!(world.sync().metrics(), [3, 4, 300, 152, 0, 2, 0, 0, 2]);
    assert_eq!(world.sizes(), [52, 74, 74, 100]);
}

/// T-REC-25…27, T-GEN-09…11: other ports and other labels rewrite all slices, reserved labels none.
#[test]
fn other_ports_and_labels() {
    let change = |change: fn(&mut World)| {
        let mut world = World::with_pods(0..250);
        world.sync();
        change(&mut world);
        let synced = world.sync();
        (synced.writes(), world)
    };
    let (writes, world) = change(|world| world.service["spec"]["ports"][0]["targetPort"] = json!(81));
    assert_eq!(
        (writes, world.sizes()),
        ([0, 3, 0], vec![50, 100, 100]),
        "T-REC-25, T-GEN-09"
    );
    let (writes, world) = change(|world| world.service["metadata"]["labels"] = json!({"foo": "bar"}));
    assert_eq!(writes, [0, 3, 0], "T-REC-26, T-GEN-10");
    assert!(
        world
            .slices
            .iter()
            .all(|slice| slice.metadata.labels.as_ref().unwrap()["foo"] == "bar")
    );
    let reserved = |world: &mut World| {
        let keys = service_slices::RESERVED_LABELS;
        world.service["metadata"]["labels"] = keys.iter().map(|key| ((*key).to_owned(), json!("x"))).collect();
    };
    assert_eq!(change(reserved).0, [0, 0, 0], "T-REC-27, T-GEN-11");
}

/// T-REC-28, T-GEN-12: nothing is joined for its own sake; what is rewritten anyway is packed well.
#[test]
fn many_small_slices() {
    let mut world = World::with_pods(0..300);
    for tenth in 0..10 {
        world.store((tenth * 30..tenth * 30 + 30).map(pod));
    }
    assert_eq!(world.sync().writes(), [0, 0, 0]);
    world.service["spec"]["ports"][0]["targetPort"] = json!(81);
    assert_eq!(world.sync().metrics(), [3, 3, 300, 300, 0, 0, 3, 7, 10]);
    assert_eq!(world.sizes(), [100; 3]);
}

/// T-REC-29, T-GEN-13: new pods go into slices that are written anyway, the fullest first.
#[test]
fn slices_that_are_written_anyway_are_filled_first() {
    let mut world = World::new();
    world.store((0..80).map(pod));
    world.store((100..120).map(pod));
    world.pods = (0..80).chain(100..135).map(pod).collect();
    for pod in world.pods[..100].iter_mut().step_by(10) {
        *pod = unready(pod.take());
    }
    assert_eq!(world.sync().metrics(), [2, 2, 115, 15, 0, 0, 2, 0, 2]);
    assert_eq!(world.sizes(), [20, 95]);
}

/// T-REC-30, T-GEN-14: slices of a type that is no longer known.
#[test]
fn slices_of_an_unknown_type_are_replaced() {
    let mut world = World::with_pods(0..130);
    for pods in [0..80, 80..130] {
        world.store(pods.map(pod)).address_type = Err(UnknownAddressType("IP".into()));
    }
    assert_eq!(world.sync().order(), "ccdd");
    assert_eq!(world.sizes(), [30, 100]);
}

/// T-REC-33, T-GEN-17: a named port with five numbers makes five groups.
#[test]
fn a_named_port_with_different_numbers() {
    let mut world = World::with_pods(0..300);
    world.service["spec"]["ports"][0]["targetPort"] = json!("http");
    for (n, pod) in world.pods.iter_mut().enumerate() {
        pod["spec"]["containers"][0]["ports"] =
            json!([{"name": "http", "containerPort": 8080 + n % 5, "protocol": "TCP"}]);
    }
    assert_eq!(world.sync().metrics(), [5, 5, 300, 300, 0, 5, 0, 0, 5]);
    assert_eq!(world.sizes(), [60; 5]);
    let mut ports: Vec<_> = world
        .slices
        .iter()
        .map(|slice| slice.to_k8s().ports)
        .map(|ports| json!(ports))
        .collect();
    ports.sort_by_key(ToString::to_string);
    let expected = (8080..8085).map(|number| json!([{"name": "", "protocol": "TCP", "port": number}]));
    assert_eq!(ports, expected.collect::<Vec<_>>());
}

/// T-REC-39, T-GEN-23: pods that go. The metrics of both syncs added up are (1,1,10,20,10,1,1,0,2).
#[test]
fn pods_that_go() {
    let mut world = World::with_pods(0..20);
    assert_eq!(world.sync().metrics(), [1, 1, 20, 20, 0, 1, 0, 0, 1]);
    world.pods.truncate(10);
    assert_eq!(world.sync().metrics(), [1, 1, 10, 0, 10, 0, 1, 0, 1]);
}

/// R81, T-REC-40, T-REC-41, T-GEN-24, T-GEN-25: what the histograms of added and removed endpoints are fed with. How
/// they are printed is the controllers' to show.
#[test]
fn one_added_and_one_removed() {
    let mut added = World::with_pods(1..3);
    added.store([pod(1)]);
    assert_eq!(added.sync().metrics(), [1, 1, 2, 1, 0, 0, 1, 0, 1]);
    let mut removed = World::with_pods(1..2);
    removed.store([pod(0), pod(1)]);
    assert_eq!(removed.sync().metrics(), [1, 1, 1, 0, 1, 0, 1, 0, 1]);
}
