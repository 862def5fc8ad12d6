//! Cases that upstream does not test and that need no controller (service-slices.md §24).

use serde_json::{Value, json};
use slice_core::{AddressType, CompactSlice, EndpointSource, TargetView, well_known::HEADLESS_LABEL};
use slice_reconciler::Operation;

use crate::{
    fixtures::{pod, unready},
    harness::Harness,
};

const NO_WRITES: [usize; 3] = [0, 0, 0];

fn headless_without_ports() -> Harness {
    let mut harness = Harness::new();
    harness.service["spec"]["ports"] = Value::Null;
    harness
}

fn dual_stack() -> Harness {
    let mut harness = Harness::with_pods(0..2);
    harness.service["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    harness
}

/// Numbers of the pods in a slice.
fn content(slice: &CompactSlice) -> String {
    let targets = slice.endpoints.iter().filter_map(EndpointSource::target);
    let names = targets.filter_map(TargetView::name);
    names.map(|name| name.trim_start_matches("pod")).collect()
}

fn contents(harness: &Harness) -> Vec<String> {
    harness.slices.iter().map(content).collect()
}

fn set_label(slice: &mut CompactSlice, key: &str, value: &str) {
    let labels = slice.metadata.labels.as_mut().unwrap();
    labels.insert(key.to_owned(), value.to_owned());
}

/// A failed write skips only the writes that depend on it, and published endpoints stay published (G-05, W12).
#[test]
fn g_05_failed_write_skips_only_its_dependents() {
    let mut harness = Harness::with_pods(0..3);
    harness.max = 2;
    // A foreign slice has pods 0 and 1. Pod 3 is deleted, so that 0 goes next to 2; pod 1 needs a new slice.
    let foreign = harness.store([pod(0), pod(1)]);
    foreign.metadata.owner_references.as_mut().unwrap()[0].uid = "another".into();
    harness.store([pod(2), pod(3)]);
    let planned = harness.plan();
    assert_eq!(planned.order(), "cud");
    let mut done = Vec::new();
    for write in &planned.plan.writes {
        let fails = matches!(write.operation, Operation::Create(_));
        done.push(!fails && write.depends_on.iter().all(|other| done[*other]));
        if done.last() == Some(&true) {
            write.operation.apply_to(&mut harness.slices);
        }
    }
    assert_eq!(
        (done, contents(&harness)),
        (vec![false, true, false], vec!["01".into(), "20".into()])
    );
    assert_eq!(harness.sync().order(), "cd", "the next sync writes the rest");
    assert_eq!(contents(&harness), ["20", "1"]);
}

/// The placeholder is filled if the endpoints have no ports either (G-07, R93).
#[test]
fn g_07_placeholder_is_filled_with_endpoints_without_ports() {
    let mut harness = headless_without_ports();
    harness.sync();
    let placeholder = harness.slices[0].metadata.name.clone();
    harness.pods = vec![pod(0)];
    assert_eq!(harness.sync().writes(), [0, 1, 0]);
    assert_eq!(contents(&harness), ["0"]);
    assert_eq!(harness.slices[0].metadata.name, placeholder);
}

/// An address type without endpoints has a placeholder; each type is counted (G-08, R92, W5).
#[test]
fn g_08_a_family_without_addresses_has_a_placeholder() {
    let mut harness = dual_stack();
    let stats = harness.sync().plan.stats;
    let counts = stats
        .iter()
        .map(|stats| (stats.desired_endpoints, stats.slices, stats.min_slices));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 1, 1), (0, 1, 1)]);
    let types = harness.slices.iter().map(|slice| slice.address_type.clone().unwrap());
    assert_eq!(types.collect::<Vec<_>>(), [AddressType::IPv4, AddressType::IPv6]);
    assert_eq!(contents(&harness), ["01", ""]);
    assert_eq!(harness.sync().writes(), NO_WRITES);
}

/// Slices of a removed address type are deleted after the writes of the other type, with name and uid for the tracker (G-09).
#[test]
fn g_09_slices_of_a_removed_family_are_deleted_last() {
    let mut harness = dual_stack();
    harness.sync();
    harness.slices[1].metadata.uid = Some("seen".into());
    harness.service["spec"]["ipFamilies"] = json!(["IPv4"]);
    harness.pods.push(pod(2));
    let planned = harness.plan();
    assert_eq!(planned.order(), "ud");
    let Operation::Delete(v6) = &planned.plan.writes[1].operation else {
        panic!("{:?}", planned.plan);
    };
    let stored = &harness.slices[1].metadata;
    assert_eq!((Some(&v6.name), &v6.uid), (stored.name.as_ref(), &stored.uid));
}

/// A duplicate endpoint is removed from the second slice (G-10, R80).
#[test]
fn g_10_duplicate_endpoint_is_removed_from_the_second_slice() {
    for (second, writes, expected) in [(1..2, [0, 0, 1], &["01"][..]), (1..3, [0, 1, 0], &["01", "2"])] {
        let mut harness = Harness::with_pods(0..second.end);
        harness.store((0..2).map(pod));
        harness.store(second.map(pod));
        assert_eq!(harness.sync().writes(), writes);
        assert_eq!(contents(&harness), expected);
        assert_eq!(harness.sync().writes(), NO_WRITES);
    }
}

/// A wrong headless label alone causes no write, because no consumer depends on it (G-12, R90, R110).
#[test]
fn g_12_wrong_headless_label_alone_causes_no_write() {
    for pods in [0, 1] {
        let mut headless = Harness::with_pods(0..pods);
        headless.sync();
        let labels = headless.slices[0].metadata.labels.as_mut().unwrap();
        assert_eq!(labels.remove(HEADLESS_LABEL).as_deref(), Some(""));
        assert_eq!(headless.sync().writes(), NO_WRITES, "{pods} pods");
        let mut plain = Harness::with_pods(0..pods);
        plain.service["spec"]["clusterIP"] = json!("10.0.0.10");
        plain.sync();
        set_label(&mut plain.slices[0], HEADLESS_LABEL, "");
        assert_eq!(plain.sync().writes(), NO_WRITES, "{pods} pods");
    }
}

/// A label of another client is removed (G-13, R110).
#[test]
fn g_13_foreign_label_is_removed() {
    let mut harness = Harness::with_pods(0..1);
    harness.sync();
    set_label(&mut harness.slices[0], "foreign", "yes");
    assert_eq!(harness.sync().writes(), [0, 1, 0]);
    assert_eq!(harness.slices[0].metadata.labels.as_ref().unwrap().get("foreign"), None);
}

/// Annotations, finalizers and owner references of other clients survive an update and the reuse of a slice (G-14, W24).
#[test]
fn g_14_foreign_metadata_survives() {
    for (target, changed) in [(80, unready(pod(0))), (81, pod(0))] {
        let mut harness = Harness::with_pods(0..1);
        harness.sync();
        let metadata = &mut harness.slices[0].metadata;
        metadata.annotations = Some([("foreign".to_owned(), "yes".to_owned())].into());
        metadata.finalizers = Some(vec!["example.com/foreign".into()]);
        metadata.resource_version = Some("7".into());
        let owner = json!({"apiVersion": "v1", "kind": "Foreign", "name": "a", "uid": "b"});
        let owners = metadata.owner_references.as_mut().unwrap();
        owners.push(serde_json::from_value(owner).unwrap());
        let before = metadata.clone();
        harness.service["spec"]["ports"][0]["targetPort"] = json!(target);
        harness.pods = vec![changed];
        assert_eq!(harness.sync().writes(), [0, 1, 0], "{target}");
        assert_eq!(harness.slices[0].metadata, before, "{target}");
    }
}

/// A slice in another equivalent form, with other port order or absent lists, is not written (G-26, G-27).
#[test]
fn g_26_and_27_equivalent_forms_cause_no_write() {
    let mut two_ports = Harness::with_pods(0..1);
    let port = |number: i32| json!({"name": format!("p{number}"), "port": number, "protocol": "TCP"});
    two_ports.service["spec"]["ports"] = json!([port(81), port(80)]);
    for mut harness in [two_ports, headless_without_ports()] {
        harness.sync();
        let mut stored = harness.slices[0].to_k8s();
        let ports = stored.ports.filter(|ports| !ports.is_empty());
        stored.ports = ports.map(|ports| ports.into_iter().rev().collect());
        stored.endpoints = stored.endpoints.filter(|endpoints| !endpoints.is_empty());
        harness.slices = vec![CompactSlice::from(&stored)];
        assert_eq!(harness.sync().writes(), NO_WRITES, "{stored:?}");
    }
}

/// A label change of the Service preserves existing hints, even if no hints are assigned (G-29, R80).
#[test]
fn g_29_label_change_preserves_hints() {
    let mut harness = Harness::with_pods(0..4);
    harness.max = 2;
    harness.nodes = vec![("node-1".into(), "zone-1")];
    harness.service["spec"]["trafficDistribution"] = json!("PreferClose");
    harness.sync();
    let endpoints = |harness: &Harness| {
        harness
            .slices
            .iter()
            .map(|slice| slice.endpoints.clone())
            .collect::<Vec<_>>()
    };
    let before = endpoints(&harness);
    assert!(before.iter().flatten().all(|endpoint| endpoint.hints.is_some()));
    harness.assigns_hints = false;
    harness.service["metadata"]["labels"] = json!({"foo": "bar"});
    assert_eq!(harness.sync().writes(), [0, 2, 0]);
    assert_eq!(endpoints(&harness), before);
}

/// The hint is removed and added with readiness, one write each (G-38).
#[test]
fn g_38_hints_follow_readiness() {
    let mut harness = Harness::with_pods(0..2);
    harness.nodes = vec![("node-1".into(), "zone-1")];
    harness.service["spec"]["trafficDistribution"] = json!("PreferSameNode");
    let hinted = json!({"forZones": [{"name": "zone-1"}], "forNodes": [{"name": "node-1"}]});
    for (changed, writes, expected) in [
        (pod(1), [1, 0, 0], &hinted),
        (unready(pod(1)), [0, 1, 0], &Value::Null),
        (pod(1), [0, 1, 0], &hinted),
    ] {
        harness.pods[1] = changed;
        assert_eq!(harness.sync().writes(), writes);
        let endpoints = &json!(harness.slices[0].to_k8s())["endpoints"];
        assert_eq!((&endpoints[0]["hints"], &endpoints[1]["hints"]), (&hinted, expected));
        assert_eq!(harness.sync().writes(), NO_WRITES);
    }
}

/// The placeholder of a deleted Service with the same name is replaced (G-39, W26, I7).
#[test]
fn g_39_the_placeholder_of_an_earlier_service_is_replaced() {
    let mut harness = Harness::new();
    harness.sync();
    let earlier = harness.slices[0].metadata.name.clone();
    harness.service["metadata"]["uid"] = json!("uid-foo-2");
    assert_eq!(harness.sync().writes(), [1, 0, 1]);
    assert_ne!(harness.slices[0].metadata.name, earlier);
    assert_eq!(harness.sync().writes(), NO_WRITES);
}
