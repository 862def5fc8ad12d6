use super::*;

const fn node(zone: &'static str, cpu_milli: u64) -> NodeInfo<'static> {
    NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(cpu_milli),
    }
}

fn unready(node: NodeInfo<'static>) -> NodeInfo<'static> {
    NodeInfo { ready: false, ..node }
}

fn control_plane(node: NodeInfo<'static>) -> NodeInfo<'static> {
    NodeInfo { excluded: true, ..node }
}

fn seven() -> Vec<NodeInfo<'static>> {
    vec![
        node("a", 1000),
        node("a", 1000),
        node("a", 1000),
        node("a", 2000),
        node("b", 3000),
        node("b", 1500),
        node("c", 500),
    ]
}

fn halves() -> ZoneRatios {
    ZoneRatios::from_pairs(&[("a", 0.5), ("b", 0.5)])
}

/// Only ready worker nodes count (T-NODE-01…09, T-TOP-07…15).
#[test]
fn h23_ratios_count_ready_workers() {
    let (a, b) = (node("a", 1000), node("b", 1000));
    for (case, nodes, expected) in [
        ("none", vec![], None),
        ("one", vec![a], None),
        ("one zone", vec![a, a], None),
        ("two zones", vec![a, b], Some(halves())),
        ("unready", vec![unready(a), b], None),
        ("control plane", vec![a, control_plane(b)], None),
        ("another unready", vec![a, b, unready(b)], Some(halves())),
        ("another control plane", vec![a, b, control_plane(b)], Some(halves())),
        (
            "many",
            seven(),
            Some(ZoneRatios::from_pairs(&[("a", 0.5), ("b", 0.45), ("c", 0.05)])),
        ),
    ] {
        assert_eq!(ZoneRatios::from_nodes(nodes, false), expected, "{case}");
    }
}

#[test]
fn h22_cpus_are_summed_by_zone() {
    let expected = BTreeMap::from([("a", 5000), ("b", 4500), ("c", 500)]);
    assert_eq!(cpu_by_zone(seven(), false), Some(expected));
}

/// One incomplete ready worker node makes ratios unavailable, unless such nodes are ignored (H22.3, HD11, R146).
#[test]
fn hd11_an_incomplete_node_makes_ratios_unavailable_unless_ignored() {
    let complete = node("a", 1000);
    for incomplete in [
        NodeInfo { zone: None, ..complete },
        NodeInfo {
            zone: Some(""),
            ..complete
        },
        NodeInfo {
            zone: Some("not a label"),
            ..complete
        },
        NodeInfo {
            cpu_milli: None,
            ..complete
        },
        NodeInfo {
            cpu_milli: Some(0),
            ..complete
        },
    ] {
        let with = |third| [complete, node("b", 1000), third];
        assert_eq!(ZoneRatios::from_nodes(with(incomplete), false), None, "{incomplete:?}");
        assert_eq!(
            ZoneRatios::from_nodes(with(incomplete), true),
            Some(halves()),
            "{incomplete:?}"
        );
        for ignored in [unready(incomplete), control_plane(incomplete)] {
            assert_eq!(
                ZoneRatios::from_nodes(with(ignored), false),
                Some(halves()),
                "{ignored:?}"
            );
        }
    }
}

/// The order of nodes does not matter (T-X-13).
#[test]
fn hd14_node_order_does_not_matter() {
    let forward = seven();
    let backward: Vec<_> = forward.iter().rev().copied().collect();
    assert_eq!(
        ZoneRatios::from_nodes(forward, false),
        ZoneRatios::from_nodes(backward, false)
    );
}

#[test]
fn cpu_sum_saturates() {
    let huge = node("a", u64::MAX);
    assert!(ZoneRatios::from_nodes([huge, huge, node("b", 1)], false).is_some());
}
