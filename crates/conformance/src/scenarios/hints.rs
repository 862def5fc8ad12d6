//! Topology hints, by annotation and by traffic distribution.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Events, Slices, Writes},
    Scenario, apply, delete, node, pod, service, with,
};

fn traffic(value: &str) -> Value {
    with(&service("web"), "/spec/trafficDistribution", json!(value))
}

fn auto_of(service: &Value) -> Value {
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    with(service, "/metadata/annotations", auto)
}

fn auto() -> Value {
    auto_of(&service("web"))
}

/// Zones from `zone-a` on with a node and this number of pods each; the Service follows in a second step, because events name
/// the numbers of endpoints at the time.
fn spread(name: &'static str, rules: &'static [&'static str], service: &Value, pods: &[usize]) -> Scenario {
    let mut changes = Vec::new();
    for ((zone, letter), count) in ('a'..).enumerate().zip(pods) {
        let node_name = format!("{name}-n{zone}");
        changes.push(apply(&node(&node_name, &format!("zone-{letter}"))));
        for i in 1..=*count {
            let addresses = [format!("10.3.{zone}.{i}"), format!("fd00:3:{zone}::{i}")];
            let addresses = addresses.each_ref().map(String::as_str);
            changes.push(apply(&pod(&format!("p{zone}{i}"), "web", &node_name, &addresses)));
        }
    }
    Scenario::new(name, rules).then(changes).then([apply(service)])
}

/// Pattern of a slice with one endpoint and these hints.
fn hinted(zone: Option<&str>, node: Option<&str>) -> Value {
    let list = |name: Option<&str>| name.map(|name| json!([{"name": name}]));
    let hints = json!({"forZones": list(zone), "forNodes": list(node)});
    let hints = if zone.or(node).is_some() { hints } else { Value::Null };
    json!({"endpoints": [{"hints": hints}]})
}

/// One pod, and all values of the annotation and of the field in turn.
fn all_modes() -> Scenario {
    let name = "traffic-distribution-is-changed";
    let node_name = "traffic-distribution-is-changed-n0";
    let rules = &[
        "T-INT-26",
        "T-HINT-01…09",
        "H9",
        "H12",
        "H14",
        "H56",
        "H57",
        "H60",
        "H64",
        "R94",
        "R100",
    ];
    let zone = Some("zone-a");
    spread(name, rules, &service("web"), &[1])
        .exclusive()
        .expect_slices([hinted(None, None)])
        .then([apply(&traffic("PreferClose"))])
        .expect_slices([hinted(zone, None)])
        .then([apply(&auto_of(&traffic("PreferClose")))])
        .expect_slices([hinted(None, None)])
        .then([apply(&traffic("PreferClose"))])
        .expect_slices([hinted(zone, None)])
        .then([apply(&service("web"))])
        .expect_slices([hinted(None, None)])
        .then([apply(&traffic("PreferSameZone"))])
        .expect_slices([hinted(zone, None)])
        .then([apply(&traffic("PreferSameNode"))])
        .expect_slices([hinted(zone, Some(node_name))])
        .then([apply(&service("web"))])
        .expect_slices([hinted(None, None)])
        .then([apply(&node(node_name, ""))])
        .allow_deviation("HD4", &[Slices, Writes])
        .then([apply(&traffic("PreferSameNode"))])
        .expect_slices([hinted(None, Some(node_name))])
}

/// An unready node does not count for zone ratios, but its pod is an endpoint without zone, so there are no hints.
fn endpoint_without_zone() -> Scenario {
    let name = "auto-and-an-endpoint-without-zone";
    let unready = with(
        &node("auto-and-an-endpoint-without-zone-n9", ""),
        "/status/conditions/0/status",
        json!("False"),
    );
    spread(name, &["R98", "H36", "H37", "HD7"], &auto(), &[2, 2])
        .exclusive()
        .then([
            apply(&unready),
            apply(&pod(
                "without-zone",
                "web",
                "auto-and-an-endpoint-without-zone-n9",
                &["10.3.9.1"],
            )),
        ])
        .expect_slices([
            json!({"endpoints": [{"hints": null}, {"hints": null}, {"hints": null}, {"hints": null}, {"hints": null}]}),
        ])
}

/// Pattern of a slice with an endpoint in each of two zones, hinted for its own zone.
fn own_zones() -> Value {
    json!({"endpoints": [
        {"zone": "zone-a", "hints": {"forZones": [{"name": "zone-a"}]}},
        {"zone": "zone-b", "hints": {"forZones": [{"name": "zone-b"}]}},
    ]})
}

fn by_traffic_distribution() -> Vec<Scenario> {
    let unready = with(
        &pod("p01", "web", "prefer-close-and-an-unready-endpoint-n0", &["10.3.0.1"]),
        "/status/conditions",
        json!([]),
    );
    vec![
        all_modes(),
        spread(
            "prefer-close",
            &["H3", "H31", "H59", "R103a", "R103b", "R103d"],
            &traffic("PreferClose"),
            &[2, 2],
        ),
        spread(
            "prefer-same-zone",
            &["H3", "R103c"],
            &traffic("PreferSameZone"),
            &[1, 1],
        )
        .expect_slices([own_zones()]),
        spread("prefer-same-node", &["H3"], &traffic("PreferSameNode"), &[2, 2]).then([delete("Pod", "p01")]),
        spread(
            "prefer-close-and-an-unready-endpoint",
            &["H58"],
            &traffic("PreferClose"),
            &[1, 1],
        )
        .then([apply(&unready)])
        .expect_slices([json!({"endpoints": [
            {"zone": "zone-a", "hints": null}, {"zone": "zone-b", "hints": {"forZones": [{"name": "zone-b"}]}},
        ]})]),
        spread(
            "prefer-close-and-local-policies",
            &["H15"],
            &with(&traffic("PreferClose"), "/spec/internalTrafficPolicy", json!("Local")),
            &[1, 1],
        )
        .expect_slices([own_zones()]),
    ]
}

fn by_annotation() -> Vec<Scenario> {
    let two_families = with(
        &with(&auto(), "/spec/ipFamilies", json!(["IPv4", "IPv6"])),
        "/spec/ipFamilyPolicy",
        json!("RequireDualStack"),
    );
    vec![
        spread(
            "auto-in-two-zones",
            &["R95", "R96", "R97", "R100", "R101", "H1", "H40", "H41"],
            &auto(),
            &[1, 1],
        )
        .exclusive()
        .expect_slices([own_zones()])
        .then([apply(&service("web"))]),
        spread(
            "auto-by-the-deprecated-annotation",
            &["R94", "H7", "H8"],
            &with(
                &service("web"),
                "/metadata/annotations",
                json!({"service.kubernetes.io/topology-aware-hints": "auto"}),
            ),
            &[1, 1],
        )
        .exclusive()
        .expect_slices([own_zones()]),
        spread("auto-with-too-few-endpoints", &["R96", "H29", "H30"], &auto(), &[1, 0])
            .exclusive()
            .expect_slices([hinted(None, None)]),
        spread(
            "auto-with-an-uneven-number-of-endpoints",
            &["R96", "H31", "H32"],
            &auto(),
            &[2, 1],
        )
        .exclusive()
        .expect_slices([json!({"endpoints": [{"hints": null}, {"hints": null}, {"hints": null}]})]),
        endpoint_without_zone(),
        spread("auto-in-two-families", &["H54", "HD9"], &two_families, &[1, 1])
            .exclusive()
            .allow_deviation("HD9", &[Events])
            .expect_slices([own_zones(), own_zones()]),
        spread(
            "auto-after-hints-for-nodes",
            &["H35", "HD6"],
            &traffic("PreferSameNode"),
            &[1, 1],
        )
        .exclusive()
        .then([apply(&auto())])
        .allow_deviation("HD6", &[Slices, Writes])
        .expect_slices([json!({"endpoints": [{"hints": {"forNodes": null}}, {"hints": {"forNodes": null}}]})]),
        spread("auto-and-a-deleted-zone", &["R102", "R26"], &auto(), &[3, 3])
            .exclusive()
            .then([delete("Node", "auto-and-a-deleted-zone-n1")])
            .allow_deviation("W10", &[Slices, Writes, Events]),
        spread(
            "auto-has-precedence-over-the-field",
            &["R94", "H9"],
            &with(&auto(), "/spec/trafficDistribution", json!("PreferClose")),
            &[3, 3],
        )
        .exclusive()
        .then([apply(&traffic("PreferClose"))]),
    ]
}

pub(super) fn all() -> Vec<Scenario> {
    [by_traffic_distribution(), by_annotation()].concat()
}
