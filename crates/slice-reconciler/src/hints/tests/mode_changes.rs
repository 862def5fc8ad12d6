//! Changes of the hint mode and of the nodes.

use super::{
    super::{
        HintMode, NodeInfo, TopologyCache,
        TrafficDistribution::{self, PreferClose, PreferSameNode, PreferSameZone},
    },
    fixtures::*,
};

/// One endpoint, one mode after the other (H11).
#[test]
fn h11_hints_follow_the_mode() {
    let traffic = |distribution: TrafficDistribution| HintMode::TrafficDistribution(distribution);
    let mut cache = cache(&[]);
    let mut existing = vec![in_zones(1, &["fake-zone-1"])];
    for (mode, expected) in [
        (HintMode::None, ""),
        (traffic(PreferClose), "fake-zone-1"),
        (HintMode::Auto, ""),
        (traffic(PreferClose), "fake-zone-1"),
        (HintMode::None, ""),
        (traffic(PreferSameZone), "fake-zone-1"),
        (traffic(PreferSameNode), "fake-zone-1@node-1"),
        (HintMode::None, ""),
    ] {
        let before = hints(&existing);
        let written;
        (existing, written, _) = sync(mode, &existing, Some(&mut cache));
        assert_eq!(hints(&existing), [[expected]], "{mode:?}");
        assert_eq!(written == 1, before != hints(&existing), "{mode:?}");
        let repeated = sync(mode, &existing, Some(&mut cache));
        assert_eq!(repeated, (existing.clone(), 0, None), "{mode:?}, again");
    }
    existing[0].endpoints[0].zone = None;
    let (existing, ..) = sync(traffic(PreferSameNode), &existing, Some(&mut cache));
    assert_eq!(hints(&existing), [["@node-1"]]);
}

/// Disabling `Auto` causes one event, and only if there were hints (H11.3).
#[test]
fn h11_disabling_causes_one_event_if_there_were_hints() {
    let off = Some(warning("Topology Aware Hints has been disabled"));
    let traffic = HintMode::TrafficDistribution(PreferClose);
    for mode in [HintMode::None, traffic] {
        let mut cache = cache(&[("a", 1), ("b", 1)]);
        let (existing, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
        assert_eq!(event, Some(enabled()));
        let (existing, _, event) = sync(mode, &existing, Some(&mut cache));
        assert_eq!(event, off);
        assert_eq!(sync(mode, &existing, Some(&mut cache)).2, None);
        assert_eq!(cache.status().count(), 0);
    }
    let mut cache = cache(&[]);
    let (existing, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a"])], Some(&mut cache));
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(sync(HintMode::None, &existing, Some(&mut cache)).2, None);
}

/// Nodes get their zones later (HD3).
#[test]
fn hd3_hints_follow_when_nodes_get_zones() {
    let without_zone = NodeInfo {
        zone: None,
        ..node("", 100)
    };
    let mut cache = TopologyCache::default();
    let existing = [in_zones(1, &["zone-a", "zone-b"])];
    assert!(cache.set_nodes([without_zone, without_zone]).is_empty());
    let (existing, _, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(cache.set_nodes([node("zone-a", 100), node("zone-b", 100)]), [OWNER]);
    let (existing, _, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!(event, Some(enabled()));
    assert_eq!(hints(&existing), [["zone-a", "zone-b"]]);
}

/// Hints are unavailable before nodes are known (H17, H29.2).
#[test]
fn h17_hints_are_unavailable_before_nodes_are_known() {
    let mut cache = TopologyCache::default();
    let (_, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    assert_eq!(event, Some(warning("Nodes only ready in one zone")));
}
