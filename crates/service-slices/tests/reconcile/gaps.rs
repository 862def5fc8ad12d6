//! What upstream has no tests for and needs no controller (service-slices.md §24).

use serde_json::{Value, json};
use slice_core::{AddressType, CompactSlice, EndpointSource, TargetView, well_known::HEADLESS_LABEL};
use slice_reconciler::Operation;

use crate::world::{World, pod, unready};

const NOTHING: [usize; 3] = [0, 0, 0];

fn headless_without_ports() -> World {
    let mut world = World::new();
    world.service["spec"]["ports"] = Value::Null;
    world
}

fn dual_stack() -> World {
    let mut world = World::with_pods(0..2);
    world.service["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    world
}

/// The pods that a slice holds, by their numbers.
fn content(slice: &CompactSlice) -> String {
    let targets = slice.endpoints.iter().filter_map(EndpointSource::target);
    let names = targets.filter_map(TargetView::name);
    names.map(|name| name.trim_start_matches("pod")).collect()
}

fn contents(world: &World) -> Vec<String> {
    world.slices.iter().map(content).collect()
}

fn set_label(slice: &mut CompactSlice, key: &str, value: &str) {
    let labels = slice.metadata.labels.as_mut().unwrap();
    labels.insert(key.to_owned(), value.to_owned());
}

/// G-05, W12: one write fails; what does not wait for it goes on, and nothing that is published goes missing.
#[test]
fn g_05_a_write_that_fails_stops_only_what_waits_for_it() {
    let mut world = World::with_pods(0..3);
    world.max = 2;
    // Somebody else's slice has 0 and 1. 3 is gone from beside 2, where 0 finds room; 1 needs a new slice.
    let foreign = world.store([pod(0), pod(1)]);
    foreign.metadata.owner_references.as_mut().unwrap()[0].uid = "another".into();
    world.store([pod(2), pod(3)]);
    let planned = world.plan();
    assert_eq!(planned.order(), "cud");
    let mut done = Vec::new();
    for write in &planned.plan.writes {
        let fails = matches!(write.operation, Operation::Create(_));
        done.push(!fails && write.after.iter().all(|other| done[*other]));
        if done.last() == Some(&true) {
            write.operation.apply_to(&mut world.slices);
        }
    }
    assert_eq!(
        (done, contents(&world)),
        (vec![false, true, false], vec!["01".into(), "20".into()])
    );
    assert_eq!(world.sync().order(), "cd", "and then the rest");
    assert_eq!(contents(&world), ["20", "1"]);
}

/// G-07, R93.
#[test]
fn g_07_a_placeholder_is_filled_when_pods_have_no_ports_either() {
    let mut world = headless_without_ports();
    world.sync();
    let placeholder = world.slices[0].metadata.name.clone();
    world.pods = vec![pod(0)];
    assert_eq!(world.sync().writes(), [0, 1, 0]);
    assert_eq!(contents(&world), ["0"]);
    assert_eq!(world.slices[0].metadata.name, placeholder);
}

/// G-08, R92; W5: each family is counted.
#[test]
fn g_08_a_family_without_addresses_has_a_placeholder() {
    let mut world = dual_stack();
    let stats = world.sync().plan.stats;
    let counts = stats
        .iter()
        .map(|summary| (summary.endpoints, summary.slices, summary.min_slices));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 1, 1), (0, 1, 1)]);
    let types = world.slices.iter().map(|slice| slice.address_type.clone().unwrap());
    assert_eq!(types.collect::<Vec<_>>(), [AddressType::IPv4, AddressType::IPv6]);
    assert_eq!(contents(&world), ["01", ""]);
    assert_eq!(world.sync().writes(), NOTHING);
}

/// G-09: the slices of a family that the Service no longer has go after what is written for the other, and the tracker can be
/// told which.
#[test]
fn g_09_a_family_goes() {
    let mut world = dual_stack();
    world.sync();
    world.slices[1].metadata.uid = Some("seen".into());
    world.service["spec"]["ipFamilies"] = json!(["IPv4"]);
    world.pods.push(pod(2));
    let planned = world.plan();
    assert_eq!(planned.order(), "ud");
    let Operation::Delete(v6) = &planned.plan.writes[1].operation else {
        panic!("{:?}", planned.plan);
    };
    let stored = &world.slices[1].metadata;
    assert_eq!((Some(&v6.name), &v6.uid), (stored.name.as_ref(), &stored.uid));
}

/// G-10, R80.
#[test]
fn g_10_an_endpoint_in_two_slices_is_taken_out_of_the_second() {
    for (second, writes, expected) in [(1..2, [0, 0, 1], &["01"][..]), (1..3, [0, 1, 0], &["01", "2"])] {
        let mut world = World::with_pods(0..second.end);
        world.store((0..2).map(pod));
        world.store(second.map(pod));
        assert_eq!(world.sync().writes(), writes);
        assert_eq!(contents(&world), expected);
        assert_eq!(world.sync().writes(), NOTHING);
    }
}

/// G-12, R90, R110: it changes nothing for anybody who reads slices.
#[test]
fn g_12_a_wrong_headless_label_alone_is_left_alone() {
    for pods in [0, 1] {
        let mut headless = World::with_pods(0..pods);
        headless.sync();
        let labels = headless.slices[0].metadata.labels.as_mut().unwrap();
        assert_eq!(labels.remove(HEADLESS_LABEL).as_deref(), Some(""));
        assert_eq!(headless.sync().writes(), NOTHING, "{pods} pods");
        let mut plain = World::with_pods(0..pods);
        plain.service["spec"]["clusterIP"] = json!("10.0.0.10");
        plain.sync();
        set_label(&mut plain.slices[0], HEADLESS_LABEL, "");
        assert_eq!(plain.sync().writes(), NOTHING, "{pods} pods");
    }
}

/// G-13, R110.
#[test]
fn g_13_a_label_of_others_goes() {
    let mut world = World::with_pods(0..1);
    world.sync();
    set_label(&mut world.slices[0], "theirs", "yes");
    assert_eq!(world.sync().writes(), [0, 1, 0]);
    assert_eq!(world.slices[0].metadata.labels.as_ref().unwrap().get("theirs"), None);
}

/// G-14, W24: whether the slice only changes or is used for something else, what others put on it stays.
#[test]
fn g_14_what_others_put_on_a_slice_survives() {
    for (target, changed) in [(80, unready(pod(0))), (81, pod(0))] {
        let mut world = World::with_pods(0..1);
        world.sync();
        let metadata = &mut world.slices[0].metadata;
        metadata.annotations = Some([("theirs".to_owned(), "yes".to_owned())].into());
        metadata.finalizers = Some(vec!["example.com/theirs".into()]);
        metadata.resource_version = Some("7".into());
        let owner = json!({"apiVersion": "v1", "kind": "Theirs", "name": "a", "uid": "b"});
        let owners = metadata.owner_references.as_mut().unwrap();
        owners.push(serde_json::from_value(owner).unwrap());
        let before = metadata.clone();
        world.service["spec"]["ports"][0]["targetPort"] = json!(target);
        world.pods = vec![changed];
        assert_eq!(world.sync().writes(), [0, 1, 0], "{target}");
        assert_eq!(world.slices[0].metadata, before, "{target}");
    }
}

/// G-26, G-27: however an API server spells the same slice, it needs no write.
#[test]
fn g_26_and_27_other_spellings_are_no_reason_to_write() {
    let mut two_ports = World::with_pods(0..1);
    let port = |number: i32| json!({"name": format!("p{number}"), "port": number, "protocol": "TCP"});
    two_ports.service["spec"]["ports"] = json!([port(81), port(80)]);
    for mut world in [two_ports, headless_without_ports()] {
        world.sync();
        let mut stored = world.slices[0].to_k8s();
        let ports = stored.ports.filter(|ports| !ports.is_empty());
        stored.ports = ports.map(|ports| ports.into_iter().rev().collect());
        stored.endpoints = stored.endpoints.filter(|endpoints| !endpoints.is_empty());
        world.slices = vec![CompactSlice::from(&stored)];
        assert_eq!(world.sync().writes(), NOTHING, "{stored:?}");
    }
}

/// G-29, R80: a label is no reason to take hints away, also where nobody would give them again.
#[test]
fn g_29_a_label_of_the_service_leaves_hints_alone() {
    let mut world = World::with_pods(0..4);
    world.max = 2;
    world.nodes = vec![("node-1".into(), "zone-1")];
    world.service["spec"]["trafficDistribution"] = json!("PreferClose");
    world.sync();
    let endpoints = |world: &World| {
        world
            .slices
            .iter()
            .map(|slice| slice.endpoints.clone())
            .collect::<Vec<_>>()
    };
    let before = endpoints(&world);
    assert!(before.iter().flatten().all(|endpoint| endpoint.hints.is_some()));
    world.gives_hints = false;
    world.service["metadata"]["labels"] = json!({"foo": "bar"});
    assert_eq!(world.sync().writes(), [0, 2, 0]);
    assert_eq!(endpoints(&world), before);
}

/// G-38: the hint goes with readiness and comes back with it, one write each.
#[test]
fn g_38_hints_follow_readiness() {
    let mut world = World::with_pods(0..2);
    world.nodes = vec![("node-1".into(), "zone-1")];
    world.service["spec"]["trafficDistribution"] = json!("PreferSameNode");
    let hinted = json!({"forZones": [{"name": "zone-1"}], "forNodes": [{"name": "node-1"}]});
    for (changed, writes, expected) in [
        (pod(1), [1, 0, 0], &hinted),
        (unready(pod(1)), [0, 1, 0], &Value::Null),
        (pod(1), [0, 1, 0], &hinted),
    ] {
        world.pods[1] = changed;
        assert_eq!(world.sync().writes(), writes);
        let endpoints = &json!(world.slices[0].to_k8s())["endpoints"];
        assert_eq!((&endpoints[0]["hints"], &endpoints[1]["hints"]), (&hinted, expected));
        assert_eq!(world.sync().writes(), NOTHING);
    }
}

/// G-39, W26, I7.
#[test]
fn g_39_the_placeholder_of_an_earlier_service_is_replaced() {
    let mut world = World::new();
    world.sync();
    let earlier = world.slices[0].metadata.name.clone();
    world.service["metadata"]["uid"] = json!("uid-foo-2");
    assert_eq!(world.sync().writes(), [1, 0, 1]);
    assert_ne!(world.slices[0].metadata.name, earlier);
    assert_eq!(world.sync().writes(), NOTHING);
}
