//! Packing of many pods.

use serde_json::json;
use slice_core::UnknownAddressType;

use crate::{
    fixtures::{pod, unready},
    harness::Harness,
};

/// Slices are filled up to the maximum (T-REC-22, T-REC-34…38, T-GEN-06, T-GEN-18…22).
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
        let mut harness = Harness::with_pods(0..250);
        harness.max = max;
        let n = sizes.len();
        assert_eq!(harness.sync().metrics(), [n, n, 250, 250, 0, n, 0, 0, n], "T-REC-{id}");
        assert_eq!(harness.sizes(), sizes, "T-REC-{id}");
    }
}

/// One full slice is created, the remainder goes into the existing slice with the best fit (T-REC-23, T-GEN-07).
#[test]
fn remainder_goes_into_one_slice() {
    let mut harness = Harness::with_pods(0..250);
    harness.store((0..62).map(pod));
    harness.store((62..123).map(pod));
    let synced = harness.sync();
    assert_eq!(synced.metrics(), [3, 3, 250, 127, 0, 1, 1, 0, 2]);
    assert_eq!(synced.order(), "cu");
    assert_eq!(harness.sizes(), [61, 89, 100]);
}

/// A remainder that fits into no existing slice gets a new one (T-REC-24, T-GEN-08).
#[test]
fn remainder_without_fit_gets_a_new_slice() {
    let mut harness = Harness::with_pods(0..300);
    harness.store((0..74).map(pod));
    harness.store((74..148).map(pod));
    assert_eq!(harness.sync().metrics(), [3, 4, 300, 152, 0, 2, 0, 0, 2]);
    assert_eq!(harness.sizes(), [52, 74, 74, 100]);
}

/// Changed ports and labels rewrite all slices, reserved labels rewrite none (T-REC-25…27, T-GEN-09…11).
#[test]
fn changed_ports_and_labels() {
    let change = |change: fn(&mut Harness)| {
        let mut harness = Harness::with_pods(0..250);
        harness.sync();
        change(&mut harness);
        let synced = harness.sync();
        (synced.writes(), harness)
    };
    let (writes, harness) = change(|harness| harness.service["spec"]["ports"][0]["targetPort"] = json!(81));
    assert_eq!(
        (writes, harness.sizes()),
        ([0, 3, 0], vec![50, 100, 100]),
        "T-REC-25, T-GEN-09"
    );
    let (writes, harness) = change(|harness| harness.service["metadata"]["labels"] = json!({"foo": "bar"}));
    assert_eq!(writes, [0, 3, 0], "T-REC-26, T-GEN-10");
    assert!(
        harness
            .slices
            .iter()
            .all(|slice| slice.metadata.labels.as_ref().unwrap()["foo"] == "bar")
    );
    let reserved = |harness: &mut Harness| {
        let keys = service_slices::RESERVED_LABELS;
        harness.service["metadata"]["labels"] = keys.iter().map(|key| ((*key).to_owned(), json!("x"))).collect();
    };
    assert_eq!(change(reserved).0, [0, 0, 0], "T-REC-27, T-GEN-11");
}

/// Small slices are not merged on their own, only when they are rewritten anyway (T-REC-28, T-GEN-12).
#[test]
fn small_slices_are_merged_only_when_rewritten() {
    let mut harness = Harness::with_pods(0..300);
    for tenth in 0..10 {
        harness.store((tenth * 30..tenth * 30 + 30).map(pod));
    }
    assert_eq!(harness.sync().writes(), [0, 0, 0]);
    harness.service["spec"]["ports"][0]["targetPort"] = json!(81);
    assert_eq!(harness.sync().metrics(), [3, 3, 300, 300, 0, 0, 3, 7, 10]);
    assert_eq!(harness.sizes(), [100; 3]);
}

/// New pods go into slices that are written anyway, the fullest first (T-REC-29, T-GEN-13).
#[test]
fn slices_that_are_written_anyway_are_filled_first() {
    let mut harness = Harness::new();
    harness.store((0..80).map(pod));
    harness.store((100..120).map(pod));
    harness.pods = (0..80).chain(100..135).map(pod).collect();
    for pod in harness.pods[..100].iter_mut().step_by(10) {
        *pod = unready(pod.take());
    }
    assert_eq!(harness.sync().metrics(), [2, 2, 115, 15, 0, 0, 2, 0, 2]);
    assert_eq!(harness.sizes(), [20, 95]);
}

/// Slices of an unknown address type are replaced (T-REC-30, T-GEN-14).
#[test]
fn slices_of_an_unknown_address_type_are_replaced() {
    let mut harness = Harness::with_pods(0..130);
    for pods in [0..80, 80..130] {
        harness.store(pods.map(pod)).address_type = Err(UnknownAddressType("IP".into()));
    }
    assert_eq!(harness.sync().order(), "ccdd");
    assert_eq!(harness.sizes(), [30, 100]);
}

/// A named port with five numbers gives five groups (T-REC-33, T-GEN-17).
#[test]
fn named_port_with_different_numbers() {
    let mut harness = Harness::with_pods(0..300);
    harness.service["spec"]["ports"][0]["targetPort"] = json!("http");
    for (n, pod) in harness.pods.iter_mut().enumerate() {
        pod["spec"]["containers"][0]["ports"] =
            json!([{"name": "http", "containerPort": 8080 + n % 5, "protocol": "TCP"}]);
    }
    assert_eq!(harness.sync().metrics(), [5, 5, 300, 300, 0, 5, 0, 0, 5]);
    assert_eq!(harness.sizes(), [60; 5]);
    let mut ports: Vec<_> = harness
        .slices
        .iter()
        .map(|slice| slice.to_k8s().ports)
        .map(|ports| json!(ports))
        .collect();
    ports.sort_by_key(ToString::to_string);
    let expected = (8080..8085).map(|number| json!([{"name": "", "protocol": "TCP", "port": number}]));
    assert_eq!(ports, expected.collect::<Vec<_>>());
}

/// Deleted pods are removed (T-REC-39, T-GEN-23). The metrics of both syncs add up to (1,1,10,20,10,1,1,0,2).
#[test]
fn deleted_pods_are_removed() {
    let mut harness = Harness::with_pods(0..20);
    assert_eq!(harness.sync().metrics(), [1, 1, 20, 20, 0, 1, 0, 0, 1]);
    harness.pods.truncate(10);
    assert_eq!(harness.sync().metrics(), [1, 1, 10, 0, 10, 0, 1, 0, 1]);
}

/// Observations of the histograms of added and removed endpoints (R81, T-REC-40, T-REC-41, T-GEN-24, T-GEN-25). The histograms
/// themselves are tested with the controller.
#[test]
fn one_added_and_one_removed() {
    let mut added = Harness::with_pods(1..3);
    added.store([pod(1)]);
    assert_eq!(added.sync().metrics(), [1, 1, 2, 1, 0, 0, 1, 0, 1]);
    let mut removed = Harness::with_pods(1..2);
    removed.store([pod(0), pod(1)]);
    assert_eq!(removed.sync().metrics(), [1, 1, 1, 0, 1, 0, 1, 0, 1]);
}
