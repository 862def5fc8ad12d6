//! What an owner sees when its wishes or the nodes change.

use super::{
    super::TrafficDistribution::{self, PreferClose, PreferSameNode, PreferSameZone},
    *,
};

/// H11: one endpoint, one mode after the other.
#[test]
fn h11_wishes_change() {
    let traffic = |distribution: TrafficDistribution| HintMode::TrafficDistribution(distribution);
    let mut cache = cache(&[]);
    let mut stored = vec![in_zones(1, &["fake-zone-1"])];
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
        let before = hints(&stored);
        let written;
        (stored, written, _) = sync(mode, &stored, Some(&mut cache));
        assert_eq!(hints(&stored), [[expected]], "{mode:?}");
        assert_eq!(written == 1, before != hints(&stored), "{mode:?}");
        let repeated = sync(mode, &stored, Some(&mut cache));
        assert_eq!(repeated, (stored.clone(), 0, None), "{mode:?}, again");
    }
    stored[0].endpoints[0].zone = None;
    let (stored, ..) = sync(traffic(PreferSameNode), &stored, Some(&mut cache));
    assert_eq!(hints(&stored), [["@node-1"]]);
}

/// H11.3: told once, and only if there were hints.
#[test]
fn h11_switching_off_is_told_to_who_had_hints() {
    let off = Some(warning("Topology Aware Hints has been disabled"));
    let traffic = HintMode::TrafficDistribution(PreferClose);
    for mode in [HintMode::None, traffic] {
        let mut cache = cache(&[("a", 1), ("b", 1)]);
        let (stored, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
        assert_eq!(event, Some(enabled()));
        let (stored, _, event) = sync(mode, &stored, Some(&mut cache));
        assert_eq!(event, off);
        assert_eq!(sync(mode, &stored, Some(&mut cache)).2, None);
        assert_eq!(cache.answers().count(), 0);
    }
    let mut cache = cache(&[]);
    let (stored, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a"])], Some(&mut cache));
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(sync(HintMode::None, &stored, Some(&mut cache)).2, None);
}

/// HD3: nodes that get their zones later.
#[test]
fn hd3_hints_come_with_the_zones() {
    let nowhere = NodeInfo {
        zone: None,
        ..node("", 100)
    };
    let mut cache = TopologyCache::default();
    let stored = [in_zones(1, &["zone-a", "zone-b"])];
    assert!(cache.set_nodes([nowhere, nowhere]).is_empty());
    let (stored, _, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(cache.set_nodes([node("zone-a", 100), node("zone-b", 100)]), [OWNER]);
    let (stored, _, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!(event, Some(enabled()));
    assert_eq!(hints(&stored), [["zone-a", "zone-b"]]);
}

/// H17, H29.2: before nodes are known.
#[test]
fn h17_before_the_first_nodes() {
    let mut cache = TopologyCache::default();
    let (_, _, event) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    assert_eq!(event, Some(warning("Nodes only ready in one zone")));
}
