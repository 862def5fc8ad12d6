//! Deviations from upstream (topology-and-traffic.md §15, "Required beyond upstream").

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{AddressType, CompactSlice};

use super::{
    super::{HintMode, NodeInfo, TopologyCache, TopologyOptions, TrafficDistribution},
    fixtures::*,
};

const HALVES: &[(&str, u64)] = &[("a", 1000), ("b", 1000)];

#[test]
fn t_x_01_hd1_an_endpoint_that_is_not_ready_keeps_no_hint() {
    let (b, not_ready) = (hinted(endpoint(2, "b"), "b"), unready(hinted(endpoint(3, "b"), "a")));
    let existing = slice(vec![endpoint(1, "a"), b, not_ready]);
    let (existing, written, _) = sync(HintMode::Auto, &[existing], Some(&mut cache(HALVES)));
    assert_eq!(
        (hints(&existing), written),
        (vec![vec!["a".into(), "b".into(), String::new()]], 1)
    );
}

#[test]
fn t_x_03_hd3_hints_come_back_with_the_nodes() {
    let mut cache = cache(HALVES);
    let (existing, ..) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    let (a, b, third) = (node("a", 1000), node("b", 1000), node("b", 100));
    assert_eq!(cache.set_nodes([a, b, NodeInfo { zone: None, ..third }]), [OWNER]);
    let (existing, _, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!(hints(&existing), [["", ""]]);
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(cache.set_nodes([a, b, third]), [OWNER]);
    let (existing, _, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!(hints(&existing), [["a", "b"]]);
    assert_eq!(event, Some(enabled()));
    assert!(cache.set_nodes([a, b, third]).is_empty());
}

#[test]
fn t_x_06_hd6_auto_removes_node_hints() {
    let mut cache = cache(HALVES);
    let same_node = HintMode::TrafficDistribution(TrafficDistribution::PreferSameNode);
    let (existing, ..) = sync(same_node, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    assert_eq!(hints(&existing), [["a@node-1", "b@node-2"]]);
    let (existing, written, _) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!((hints(&existing), written), (vec![vec!["a".into(), "b".to_owned()]], 1));
}

#[test]
fn t_x_07_hd7_a_missing_zone_causes_no_write() {
    let mut cache = cache(HALVES);
    let mut existing = in_zones(1, &["a", "b", "a", "b"]);
    existing.endpoints[3].zone = None;
    let other = hinted(endpoint(5, "a"), "a");
    let existing = [existing, slice(vec![other, hinted(endpoint(6, "b"), "b")])];
    let (existing, written, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
    assert_eq!(
        event,
        Some(warning("One or more endpoints do not have a zone specified"))
    );
    assert_eq!((tally(&existing), written), ((BTreeMap::new(), 0), 1));
    assert_eq!(
        sync(HintMode::Auto, &existing, Some(&mut cache)),
        (existing.clone(), 0, None)
    );
}

/// Endpoints in zones without nodes are hinted to zones with nodes (H44).
#[test]
fn t_x_08_hd8_no_endpoint_is_hinted_to_a_zone_without_nodes() {
    let mut cache = cache(HALVES);
    let (existing, written, _) = sync(
        HintMode::Auto,
        &[in_zones(1, &["a", "b", "zz", "zz"])],
        Some(&mut cache),
    );
    let two = ["a", "b"].map(|zone| (zone.to_owned(), 2));
    assert_eq!((tally(&existing), written), ((two.into(), 2), 1));
    assert_eq!(
        sync(HintMode::Auto, &existing, Some(&mut cache)),
        (existing.clone(), 0, None)
    );
    assert!(
        cache
            .set_nodes(HALVES.iter().map(|(zone, cpu)| node(zone, *cpu)))
            .is_empty()
    );
}

/// One "enabled" event for the family that has hints, not one per sync (H20, T-X-09, G-30).
#[test]
fn t_x_09_hd9_one_event_per_family() {
    let mut cache = cache(HALVES);
    let (v4, v6) = ([in_zones(1, &["a", "b"])], [in_zones(1, &["a"])]);
    let mut messages = Vec::new();
    for _ in 0..2 {
        for (address_type, existing) in [(AddressType::IPv4, &v4), (AddressType::IPv6, &v6)] {
            let mut lists = OwnedLists {
                unchanged: existing.iter().collect(),
                ..OwnedLists::default()
            };
            let outcome = apply(HintMode::Auto, &OWNER, address_type, &mut lists, Some(&mut cache));
            messages.extend(outcome.event.map(|event| event.message));
        }
    }
    let expected = [
        "Topology Aware Hints has been enabled, addressType: IPv4",
        "Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv6",
    ];
    assert_eq!(messages, expected);
}

/// Five syncs cause one warning, or five with `repeat_warnings` (H42, T-X-10).
#[test]
fn t_x_10_hd10_warnings_on_transition() {
    for (repeat_warnings, expected) in [(false, 1), (true, 5)] {
        let mut cache = TopologyCache::new(TopologyOptions {
            repeat_warnings,
            ..Default::default()
        });
        let existing = [in_zones(1, &["a", "b"])];
        let mut event = || sync(HintMode::Auto, &existing, Some(&mut cache)).2;
        assert_eq!((0..5).filter_map(|_| event()).count(), expected);
        assert!(cache.set_nodes([]) == [OWNER]);
        let (_, _, event) = sync(HintMode::Auto, &existing, Some(&mut cache));
        assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    }
}

/// Of 9 endpoints zone b should have 4. It has 5, a surplus too small for a move (H49), which causes no write (H53b, HD17).
#[test]
fn hd17_an_unreachable_share_causes_no_write() {
    let mut cache = cache(&[("a", 10), ("b", 15), ("c", 4)]);
    let existing = [in_zones(1, &["a", "a", "c", "c"]), in_zones(5, &["b"; 5])];
    let (existing, written, _) = sync(HintMode::Auto, &existing, Some(&mut cache));
    let counts = [("a", 2), ("b", 5), ("c", 2)].map(|(zone, count)| (zone.to_owned(), count));
    assert_eq!((tally(&existing), written), ((counts.into(), 0), 2));
    assert_eq!(
        sync(HintMode::Auto, &existing, Some(&mut cache)),
        (existing.clone(), 0, None)
    );
}

/// The hints of slices that are written anyway are reassigned before those of unchanged slices, in any order (HD17).
#[test]
fn hd17_slices_written_anyway_are_reassigned_first() {
    let named = |name: &str, slice: CompactSlice| CompactSlice {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..slice
    };
    let a = |n| hinted(endpoint(n, "a"), "a");
    let existing = [named("2", slice(vec![a(1), a(2)])), named("3", slice(vec![a(3), a(4)]))];
    let mut lists = OwnedLists {
        to_update: vec![named("1", in_zones(5, &["a", "a"]))],
        unchanged: existing.iter().collect(),
        ..OwnedLists::default()
    };
    auto(&mut cache(&[("a", 1), ("b", 1)]), &mut lists);
    assert_eq!(hints(&lists.to_update), [["b", "b"], ["b", "a"]]);
    assert_eq!(lists.unchanged, [&existing[0]]);
}

/// Equal input gives equal output, and a second sync writes nothing, even if the balance is unreachable (T-X-13, HD14, HD17).
#[test]
fn t_x_13_hd14_assignment_is_deterministic_and_converges() {
    let zones = [("a", 700), ("b", 200), ("c", 100), ("d", 90)];
    let zone_names = ["a", "b", "c", "d", "zz"];
    let mut state = 7_u32;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    for round in 0..500 {
        let slices: Vec<_> = (0..=draw(4))
            .map(|_| {
                let endpoints = (0..draw(9)).map(|n| {
                    let endpoint = endpoint(n, zone_names[draw(5)]);
                    if draw(2) == 0 {
                        endpoint
                    } else {
                        hinted(endpoint, zone_names[draw(5)])
                    }
                });
                slice(endpoints.collect())
            })
            .collect();
        let (mut forward, mut backward) = (TopologyCache::default(), TopologyCache::default());
        let _ = forward.set_nodes(zones.iter().map(|(zone, cpu)| node(zone, *cpu)));
        let _ = backward.set_nodes(zones.iter().rev().map(|(zone, cpu)| node(zone, *cpu)));
        let first = sync(HintMode::Auto, &slices, Some(&mut forward));
        assert_eq!(
            first,
            sync(HintMode::Auto, &slices, Some(&mut backward)),
            "round {round}"
        );
        let (existing, ..) = first;
        assert!(!tally(&existing).0.contains_key("zz"), "round {round}");
        assert_eq!(
            sync(HintMode::Auto, &existing, Some(&mut forward)).1,
            0,
            "round {round}"
        );
    }
}
