//! Topology hints, and which nodes lead to a new look at which Services.

use super::*;

fn auto(name: &str) -> Value {
    with(
        &service(name),
        "/metadata/annotations",
        json!({"service.kubernetes.io/topology-mode": "Auto"}),
    )
}

fn sized(name: &str, zone: &str, cpu: &str) -> Value {
    with(&node(name, zone), "/status/allocatable/cpu", json!(cpu))
}

/// Three zones, `web` with three pods in each.
fn stage() -> Stage {
    let mut stage = Stage::new();
    for (index, zone) in ["a", "b", "c"].iter().enumerate() {
        stage.apply(&node(&format!("n{index}"), zone));
        for i in 0..3 {
            let pod = pod(&format!("p{index}{i}"), &format!("10.0.{index}.{i}"));
            stage.apply(&with(&pod, "/spec/nodeName", json!(format!("n{index}"))));
        }
    }
    stage.apply(&auto("web"));
    stage.before_sync();
    stage
}

fn hinted(stage: &Stage) -> usize {
    let endpoints = stage.slices.values().flat_map(|slice| &slice.endpoints);
    endpoints.filter(|endpoint| endpoint.hints.is_some()).count()
}

/// T-CTL-31…39: who has hints is looked at again when a zone gets too few endpoints for its size.
#[test]
fn r26_nodes_that_change_the_shares_of_zones_wake_who_has_hints() {
    let mut stage = stage();
    stage.apply(&service("db"));
    stage.sync("db");
    let (writes, events) = stage.sync("web");
    assert_eq!((writes, hinted(&stage)), (vec!["create 9".to_owned()], 9));
    assert_eq!(events, ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    assert_eq!(stage.before_sync(), [""; 0], "nothing has changed");
    stage.apply(&sized("n0", "a", "2100m"));
    assert_eq!(stage.before_sync(), [""; 0], "not by much");
    stage.apply(&sized("n0", "a", "8"));
    assert_eq!(stage.before_sync(), ["ns/web"], "HD5: also when only the CPUs change");
    stage.apply(&with(
        &sized("n0", "a", "8"),
        "/metadata/labels/node-role.kubernetes.io~1control-plane",
        json!(""),
    ));
    stage.before_sync();
    stage.delete(Watch::Nodes, "n1");
    assert_eq!(stage.before_sync(), ["ns/web"]);
}

/// T-CTL-40, HD3: also those who were refused.
#[test]
fn who_was_refused_hints_is_looked_at_when_the_nodes_say_enough() {
    let mut stage = stage();
    stage.apply(&with(&node("n2", "c"), "/metadata/labels", json!({})));
    stage.before_sync();
    let (_, events) = stage.sync("web");
    assert!(events[0].contains("Insufficient Node information"), "{events:?}");
    assert_eq!(hinted(&stage), 0);
    stage.apply(&node("n2", "c"));
    assert_eq!(stage.before_sync(), ["ns/web"]);
    let (_, events) = stage.sync("web");
    assert_eq!(
        (events, hinted(&stage)),
        (
            vec!["Topology Aware Hints has been enabled, addressType: IPv4".to_owned()],
            9
        )
    );
}

/// R47, W19: nodes are weighed before any Service is looked at.
#[test]
fn many_nodes_are_weighed_once() {
    let mut stage = stage();
    assert!(!stage.controller.nodes_changed);
    for i in 0..100 {
        stage.apply(&node(&format!("more-{i}"), "a"));
    }
    assert!(stage.controller.nodes_changed);
    stage.before_sync();
    assert!(!stage.controller.nodes_changed);
    stage.apply(&node("more-7", "a"));
    assert!(!stage.controller.nodes_changed, "it says nothing new");
}

/// HD2, W6: who no longer asks for hints is forgotten.
#[test]
fn who_is_gone_is_not_looked_at_for_its_hints() {
    for gone in [
        None,
        Some(with(&auto("web"), "/spec/selector", Value::Null)),
        Some(service("web")),
    ] {
        let mut stage = stage();
        stage.sync("web");
        match gone {
            Some(service) => drop(stage.apply(&service)),
            None => drop(stage.delete(Watch::Services, "web")),
        }
        stage.sync("web");
        stage.apply(&sized("n0", "a", "64"));
        assert_eq!(stage.before_sync(), [""; 0]);
    }
}

/// T-X-04, HD4.
#[test]
fn t_x_04_a_node_that_moves_takes_its_endpoints_along() {
    let mut stage = Stage::new();
    stage.apply(&node("n1", "a"));
    stage.apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!("PreferSameZone"),
    ));
    stage.apply(&pod("p", "10.0.0.1"));
    let zones = |stage: &Stage| -> Vec<(String, String)> {
        let endpoint = &stage.slices.first_key_value().unwrap().1.endpoints[0];
        let hints = endpoint.hints.as_ref().unwrap();
        let zone = endpoint.zone.as_deref().unwrap().to_owned();
        let hints = hints.for_zones.iter();
        hints.map(|hint| (zone.clone(), hint.to_string())).collect()
    };
    stage.sync("web");
    assert_eq!(zones(&stage), [("a".to_owned(), "a".to_owned())]);
    assert_eq!(stage.apply(&node("n1", "b")), ["ns/web"]);
    assert_eq!(stage.sync("web").0, ["update 1"]);
    assert_eq!(zones(&stage), [("b".to_owned(), "b".to_owned())]);
}

/// T-UN-01: nodes are weighed once, however many came, and what they say decides about hints.
#[test]
fn t_un_01_zones_that_nodes_gain_switch_hints_on() {
    let mut stage = Stage::new();
    let unzoned = |name: &str| with(&sized(name, "", "100m"), "/metadata/labels", json!({}));
    for name in ["n1", "n2"] {
        stage.apply(&unzoned(name));
        assert!(stage.controller.nodes_changed);
    }
    stage.before_sync();
    assert!(!stage.controller.nodes_changed);
    stage.apply(&auto("web"));
    stage.apply(&pod("a", "10.0.0.1"));
    stage.apply(&with(&pod("b", "10.0.0.2"), "/spec/nodeName", json!("n2")));
    let (_, events) = stage.sync("web");
    assert!(events[0].contains("Insufficient Node information"), "{events:?}");
    for (name, zone) in [("n1", "zone-a"), ("n2", "zone-b")] {
        stage.apply(&sized(name, zone, "100m"));
    }
    assert_eq!(stage.before_sync(), ["ns/web"]);
    let (_, events) = stage.sync("web");
    assert_eq!(events, ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    assert_eq!(hinted(&stage), 2);
}
