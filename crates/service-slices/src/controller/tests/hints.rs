//! Topology hints, and the Services that node changes enqueue.

use super::*;

/// A Service with topology mode Auto.
fn auto(name: &str) -> Value {
    with(
        &service(name),
        "/metadata/annotations",
        json!({"service.kubernetes.io/topology-mode": "Auto"}),
    )
}

/// A node with this allocatable CPU.
fn sized(name: &str, zone: &str, cpu: &str) -> Value {
    with(&node(name, zone), "/status/allocatable/cpu", json!(cpu))
}

/// Three zones, `web` with three pods in each.
fn harness() -> Harness {
    let mut harness = Harness::new();
    for (index, zone) in ["a", "b", "c"].iter().enumerate() {
        harness.apply(&node(&format!("n{index}"), zone));
        for i in 0..3 {
            let pod = pod(&format!("p{index}{i}"), &format!("10.0.{index}.{i}"));
            harness.apply(&with(&pod, "/spec/nodeName", json!(format!("n{index}"))));
        }
    }
    harness.apply(&auto("web"));
    harness.before_sync();
    harness
}

/// Number of endpoints with hints.
fn hinted(harness: &Harness) -> usize {
    let endpoints = harness.slices.values().flat_map(|slice| &slice.endpoints);
    endpoints.filter(|endpoint| endpoint.hints.is_some()).count()
}

/// A node change that leaves a zone with too few endpoints enqueues the Services with topology hints (T-CTL-31…39).
#[test]
fn r26_changed_zone_ratios_enqueue_services_with_hints() {
    let mut harness = harness();
    harness.apply(&service("db"));
    harness.sync("db");
    let (writes, events) = harness.sync("web");
    assert_eq!((writes, hinted(&harness)), (vec!["create 9".to_owned()], 9));
    assert_eq!(events, ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    assert_eq!(harness.before_sync(), NONE, "nothing has changed");
    harness.apply(&sized("n0", "a", "2100m"));
    assert_eq!(harness.before_sync(), NONE, "within the overload threshold");
    harness.apply(&sized("n0", "a", "8"));
    assert_eq!(harness.before_sync(), ["ns/web"], "a change of CPUs alone counts (HD5)");
    harness.apply(&with(
        &sized("n0", "a", "8"),
        "/metadata/labels/node-role.kubernetes.io~1control-plane",
        json!(""),
    ));
    harness.before_sync();
    harness.delete(Watch::Nodes, "n1");
    assert_eq!(harness.before_sync(), ["ns/web"]);
}

/// Services whose hints were unavailable are enqueued as well (T-CTL-40, HD3).
#[test]
fn services_without_hints_are_enqueued_once_the_nodes_have_zones() {
    let mut harness = harness();
    harness.apply(&with(&node("n2", "c"), "/metadata/labels", json!({})));
    harness.before_sync();
    let (_, events) = harness.sync("web");
    assert!(events[0].contains("Insufficient Node information"), "{events:?}");
    assert_eq!(hinted(&harness), 0);
    harness.apply(&node("n2", "c"));
    assert_eq!(harness.before_sync(), ["ns/web"]);
    let (_, events) = harness.sync("web");
    assert_eq!(
        (events, hinted(&harness)),
        (
            vec!["Topology Aware Hints has been enabled, addressType: IPv4".to_owned()],
            9
        )
    );
}

/// The topology cache is updated once for many node events, before any Service is synced (R47, W19).
#[test]
fn topology_cache_is_updated_once_for_many_nodes() {
    let mut harness = harness();
    assert!(!harness.controller.nodes_changed);
    for i in 0..100 {
        harness.apply(&node(&format!("more-{i}"), "a"));
    }
    assert!(harness.controller.nodes_changed);
    harness.before_sync();
    assert!(!harness.controller.nodes_changed);
    harness.apply(&node("more-7", "a"));
    assert!(!harness.controller.nodes_changed, "the node did not change");
}

/// A Service that is deleted, not managed any more or without Auto is not enqueued for its hints (HD2, W6).
#[test]
fn services_without_auto_are_not_enqueued_for_hints() {
    for change in [
        None,
        Some(with(&auto("web"), "/spec/selector", Value::Null)),
        Some(service("web")),
    ] {
        let mut harness = harness();
        harness.sync("web");
        match change {
            Some(service) => drop(harness.apply(&service)),
            None => drop(harness.delete(Watch::Services, "web")),
        }
        harness.sync("web");
        harness.apply(&sized("n0", "a", "64"));
        assert_eq!(harness.before_sync(), NONE);
    }
}

/// Zone and hints of endpoints follow the zone of their node (T-X-04, HD4).
#[test]
fn t_x_04_endpoints_follow_the_zone_of_their_node() {
    let mut harness = Harness::new();
    harness.apply(&node("n1", "a"));
    harness.apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!("PreferSameZone"),
    ));
    harness.apply(&pod("p", "10.0.0.1"));
    let zones = |harness: &Harness| -> Vec<(String, String)> {
        let endpoint = &harness.slices.first_key_value().unwrap().1.endpoints[0];
        let hints = endpoint.hints.as_ref().unwrap();
        let zone = endpoint.zone.as_deref().unwrap().to_owned();
        let hints = hints.for_zones.iter();
        hints.map(|hint| (zone.clone(), hint.to_string())).collect()
    };
    harness.sync("web");
    assert_eq!(zones(&harness), [("a".to_owned(), "a".to_owned())]);
    assert_eq!(harness.apply(&node("n1", "b")), ["ns/web"]);
    assert_eq!(harness.sync("web").0, ["update 1"]);
    assert_eq!(zones(&harness), [("b".to_owned(), "b".to_owned())]);
}

/// Hints are enabled once all nodes have zones; the topology cache is updated once for all of them (T-UN-01).
#[test]
fn t_un_01_hints_are_enabled_once_nodes_have_zones() {
    let mut harness = Harness::new();
    let unzoned = |name: &str| with(&sized(name, "", "100m"), "/metadata/labels", json!({}));
    for name in ["n1", "n2"] {
        harness.apply(&unzoned(name));
        assert!(harness.controller.nodes_changed);
    }
    harness.before_sync();
    assert!(!harness.controller.nodes_changed);
    harness.apply(&auto("web"));
    harness.apply(&pod("a", "10.0.0.1"));
    harness.apply(&with(&pod("b", "10.0.0.2"), "/spec/nodeName", json!("n2")));
    let (_, events) = harness.sync("web");
    assert!(events[0].contains("Insufficient Node information"), "{events:?}");
    for (name, zone) in [("n1", "zone-a"), ("n2", "zone-b")] {
        harness.apply(&sized(name, zone, "100m"));
    }
    assert_eq!(harness.before_sync(), ["ns/web"]);
    let (_, events) = harness.sync("web");
    assert_eq!(events, ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    assert_eq!(hinted(&harness), 2);
}
