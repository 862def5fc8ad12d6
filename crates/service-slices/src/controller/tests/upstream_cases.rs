//! Upstream's own cases of the Services that a pod change enqueues. Where upstream uses a pod without an address, the pod here
//! has one: a pod without an address is not eligible and enqueues nothing.

use std::collections::BTreeMap;

use super::*;

/// A pod with one label per letter. The Service of a letter selects that label.
fn labelled(letters: &str) -> Value {
    let labels: BTreeMap<String, &str> = letters.chars().map(|letter| (letter.into(), "yes")).collect();
    with(&pod("p", "10.0.0.1"), "/metadata/labels", json!(labels))
}

/// A label change enqueues the Services that the pod leaves and joins; with a changed endpoint, all that selected or select it.
#[test]
fn t_cut_01_to_06_t_dnu_01_to_06_pod_label_change() {
    for (old, new, labels_changed, both_changed) in [
        ("abc", "abc", "", "abc"),
        ("abc", "def", "abcdef", "abcdef"),
        ("abc", "", "abc", "abc"),
        ("", "abc", "abc", "abc"),
        ("abc", "bcd", "ad", "abcd"),
        ("", "", "", ""),
    ] {
        let new_address = with(&labelled(new), "/status/podIPs", json!([{"ip": "10.0.0.2"}]));
        for (changed, expected) in [(labelled(new), labels_changed), (new_address, both_changed)] {
            let mut harness = Harness::new();
            for letter in "abcdef".chars() {
                let selector = json!({letter.to_string(): "yes"});
                harness.apply(&with(&service(&letter.to_string()), "/spec/selector", selector));
            }
            harness.apply(&labelled(old));
            let enqueued = harness.apply(&changed).concat().replace("ns/", "");
            assert_eq!(enqueued, expected, "{old} to {changed}");
        }
    }
}

#[test]
fn t_cut_22_to_26_t_psu_01_to_05_pod_deletion() {
    let mut harness = Harness::new();
    for i in 0..3 {
        let selector = json!({"app": format!("test-{i}")});
        harness.apply(&with(&service(&format!("service-{i}")), "/spec/selector", selector));
    }
    for i in 0..5 {
        let labels = json!({"app": format!("test-{i}")});
        harness.apply(&with(&pod(&format!("pod-{i}"), "10.0.0.1"), "/metadata/labels", labels));
    }
    for (i, expected) in [
        (0, vec!["ns/service-0"]),
        (1, vec!["ns/service-1"]),
        (2, vec!["ns/service-2"]),
        (3, vec![]),
        (4, vec![]),
    ] {
        assert_eq!(harness.delete(Watch::Pods, &format!("pod-{i}")), expected);
    }
}

/// The Service `always` selects the pod before and after, so that it is enqueued if the endpoint changed. The Service
/// `sometimes` is enqueued if its label was added or removed.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn t_cut_27_to_41_t_pch_01_to_15_pod_changes() {
    let without_address = with(
        &with(
            &pod("p", "10.0.0.1"),
            "/metadata/labels",
            json!({"foo": "bar", "all": "same"}),
        ),
        "/status",
        json!({"phase": "Running"}),
    );
    let ips = |ips: &[&str]| {
        let ips: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        with(&without_address, "/status/podIPs", json!(ips))
    };
    let (v4, v6) = ("1.2.3.4", "fd00:10:96::1");
    let labels = |labels: Value| with(&ips(&[v4]), "/metadata/labels", labels);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let deleted = json!("2024-01-02T03:04:05Z");
    for (id, before, after, (endpoint_changed, label_changed)) in [
        ("27", without_address.clone(), without_address.clone(), (false, false)),
        (
            "28",
            without_address.clone(),
            with(&without_address, "/spec/nodeName", json!("other")),
            (false, false),
        ),
        (
            "29",
            without_address.clone(),
            with(&without_address, "/metadata/resourceVersion", json!("2")),
            (false, false),
        ),
        ("30", without_address.clone(), ips(&[v4]), (true, false)),
        ("31", ips(&[v4]), ips(&["2.3.4.5"]), (true, false)),
        ("32", without_address.clone(), ips(&[v6]), (true, false)),
        ("33", ips(&[v6]), ips(&["fd00:10:96::2"]), (true, false)),
        ("34", ips(&[v4]), ips(&[v4, v6]), (true, false)),
        ("35", ips(&[v4, v6]), ips(&[v4, "fd00:10:96::2"]), (true, false)),
        ("36", ips(&[v4, v6]), ips(&[v4]), (true, false)),
        (
            "37",
            ips(&[v4]),
            with(&ips(&[v4]), "/status/conditions", ready),
            (true, false),
        ),
        (
            "38",
            ips(&[v4]),
            with(&ips(&[v4]), "/metadata/deletionTimestamp", deleted),
            (true, false),
        ),
        (
            "39",
            labels(json!({"all": "same", "foo": "bar"})),
            labels(json!({"all": "same", "foo": "bar", "new": "1"})),
            (false, true),
        ),
        (
            "40",
            labels(json!({"all": "same", "new": "0"})),
            labels(json!({"all": "same", "new": "1"})),
            (false, true),
        ),
        (
            "41",
            labels(json!({"all": "same", "new": "1"})),
            labels(json!({"all": "same"})),
            (false, true),
        ),
    ] {
        let mut harness = Harness::new();
        for (name, selector) in [("always", json!({"all": "same"})), ("sometimes", json!({"new": "1"}))] {
            harness.apply(&with(&service(name), "/spec/selector", selector));
        }
        harness.apply(&before);
        let enqueued = harness.apply(&after);
        let has = |key: &str| enqueued.iter().any(|enqueued| enqueued == key);
        assert_eq!(
            (has("ns/always"), has("ns/sometimes")),
            (endpoint_changed, label_changed),
            "T-CUT-{id}"
        );
    }
}

/// A pod that starts terminating or finishes enqueues its Services; irrelevant changes of a terminating pod do not (G-20, G-21,
/// W9).
#[test]
fn g_20_g_21_terminating_and_finished_pods_enqueue_once() {
    for publish_not_ready in [false, true] {
        let mut harness = Harness::new();
        harness.apply(&node("n1", "a"));
        harness.apply(&with(
            &service("web"),
            "/spec/publishNotReadyAddresses",
            json!(publish_not_ready),
        ));
        let unready = with(&pod("p", "10.0.0.1"), "/status/conditions/0/status", json!("False"));
        harness.apply(&unready);
        harness.sync("web");
        let terminating = with(&unready, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z"));
        assert_eq!(harness.apply(&terminating), ["ns/web"]);
        let irrelevant = with(&terminating, "/status/containerStatuses", json!([{"name": "c"}]));
        assert_eq!(harness.apply(&irrelevant), NONE);
        assert_eq!(
            harness.apply(&with(&terminating, "/status/phase", json!("Failed"))),
            ["ns/web"]
        );
        harness.sync("web");
        assert_eq!(harness.endpoints(), []);
    }
}

#[test]
fn g_22_a_new_node_publishes_its_skipped_pods() {
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    harness.apply(&pod("p", "10.0.0.1"));
    assert_eq!(harness.sync("web").0, ["create 0"]);
    assert_eq!(harness.apply(&node("n1", "a")), ["ns/web"]);
    assert_eq!(harness.sync("web").0, ["update 1"]);
}
