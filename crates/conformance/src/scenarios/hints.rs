//! Hints.

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

/// Zones from `zone-a` on with a node and so many pods each, and then the Service: events tell of every number that was
/// seen on the way, if there is one.
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

/// A slice with one endpoint of these hints.
fn hinted(zone: Option<&str>, node: Option<&str>) -> Value {
    let named = |name: Option<&str>| name.map(|name| json!([{"name": name}]));
    let hints = json!({"forZones": named(zone), "forNodes": named(node)});
    let hints = if zone.or(node).is_some() { hints } else { Value::Null };
    json!({"endpoints": [{"hints": hints}]})
}

/// One pod, and everything that can be asked for.
fn life_cycle() -> Scenario {
    let name = "traffic-distribution-comes-and-goes";
    let node_name = "traffic-distribution-comes-and-goes-n0";
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
        .alone()
        .shows([hinted(None, None)])
        .then([apply(&traffic("PreferClose"))])
        .shows([hinted(zone, None)])
        .then([apply(&auto_of(&traffic("PreferClose")))])
        .shows([hinted(None, None)])
        .then([apply(&traffic("PreferClose"))])
        .shows([hinted(zone, None)])
        .then([apply(&service("web"))])
        .shows([hinted(None, None)])
        .then([apply(&traffic("PreferSameZone"))])
        .shows([hinted(zone, None)])
        .then([apply(&traffic("PreferSameNode"))])
        .shows([hinted(zone, Some(node_name))])
        .then([apply(&service("web"))])
        .shows([hinted(None, None)])
        .then([apply(&node(node_name, ""))])
        .unlike("HD4", &[Slices, Writes])
        .then([apply(&traffic("PreferSameNode"))])
        .shows([hinted(None, Some(node_name))])
}

/// Who is unready has no say about zones, but its pods have: theirs is not known.
fn without_zone() -> Scenario {
    let name = "auto-and-an-endpoint-without-zone";
    let unready = with(
        &node("auto-and-an-endpoint-without-zone-n9", ""),
        "/status/conditions/0/status",
        json!("False"),
    );
    spread(name, &["R98", "H36", "H37", "HD7"], &auto(), &[2, 2])
        .alone()
        .then([
            apply(&unready),
            apply(&pod(
                "lost",
                "web",
                "auto-and-an-endpoint-without-zone-n9",
                &["10.3.9.1"],
            )),
        ])
        .shows([
            json!({"endpoints": [{"hints": null}, {"hints": null}, {"hints": null}, {"hints": null}, {"hints": null}]}),
        ])
}

/// A slice with an endpoint in each of two zones, meant for its own.
fn own_zones() -> Value {
    json!({"endpoints": [
        {"zone": "zone-a", "hints": {"forZones": [{"name": "zone-a"}]}},
        {"zone": "zone-b", "hints": {"forZones": [{"name": "zone-b"}]}},
    ]})
}

fn by_traffic_distribution() -> Vec<Scenario> {
    let unready = with(
        &pod("p01", "web", "prefer-close-and-one-that-is-not-ready-n0", &["10.3.0.1"]),
        "/status/conditions",
        json!([]),
    );
    vec![
        life_cycle(),
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
        .shows([own_zones()]),
        spread("prefer-same-node", &["H3"], &traffic("PreferSameNode"), &[2, 2]).then([delete("Pod", "p01")]),
        spread(
            "prefer-close-and-one-that-is-not-ready",
            &["H58"],
            &traffic("PreferClose"),
            &[1, 1],
        )
        .then([apply(&unready)])
        .shows([json!({"endpoints": [
            {"zone": "zone-a", "hints": null}, {"zone": "zone-b", "hints": {"forZones": [{"name": "zone-b"}]}},
        ]})]),
        spread(
            "prefer-close-and-local-policies",
            &["H15"],
            &with(&traffic("PreferClose"), "/spec/internalTrafficPolicy", json!("Local")),
            &[1, 1],
        )
        .shows([own_zones()]),
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
        .alone()
        .shows([own_zones()])
        .then([apply(&service("web"))]),
        spread(
            "auto-by-its-old-name",
            &["R94", "H7", "H8"],
            &with(
                &service("web"),
                "/metadata/annotations",
                json!({"service.kubernetes.io/topology-aware-hints": "auto"}),
            ),
            &[1, 1],
        )
        .alone()
        .shows([own_zones()]),
        spread("auto-with-too-few", &["R96", "H29", "H30"], &auto(), &[1, 0])
            .alone()
            .shows([hinted(None, None)]),
        spread(
            "auto-with-a-number-that-fits-nowhere",
            &["R96", "H31", "H32"],
            &auto(),
            &[2, 1],
        )
        .alone()
        .shows([json!({"endpoints": [{"hints": null}, {"hints": null}, {"hints": null}]})]),
        without_zone(),
        spread("auto-in-two-families", &["H54", "HD9"], &two_families, &[1, 1])
            .alone()
            .unlike("HD9", &[Events])
            .shows([own_zones(), own_zones()]),
        spread(
            "auto-after-hints-for-nodes",
            &["H35", "HD6"],
            &traffic("PreferSameNode"),
            &[1, 1],
        )
        .alone()
        .then([apply(&auto())])
        .unlike("HD6", &[Slices, Writes])
        .shows([json!({"endpoints": [{"hints": {"forNodes": null}}, {"hints": {"forNodes": null}}]})]),
        spread("auto-and-a-zone-that-goes", &["R102", "R26"], &auto(), &[3, 3])
            .alone()
            .then([delete("Node", "auto-and-a-zone-that-goes-n1")])
            .unlike("W10", &[Slices, Writes, Events]),
        spread(
            "auto-wins-over-the-field",
            &["R94", "H9"],
            &with(&auto(), "/spec/trafficDistribution", json!("PreferClose")),
            &[3, 3],
        )
        .alone()
        .then([apply(&traffic("PreferClose"))]),
    ]
}

pub(super) fn all() -> Vec<Scenario> {
    [by_traffic_distribution(), by_annotation()].concat()
}
