//! What is better than upstream (topology-and-traffic.md §15, "Required beyond upstream").

use super::*;

const HALVES: &[(&str, u64)] = &[("a", 1000), ("b", 1000)];

#[test]
fn t_x_01_hd1_an_endpoint_that_is_not_ready_keeps_no_hint() {
    let (b, not_ready) = (hinted(endpoint(2, "b"), "b"), unready(hinted(endpoint(3, "b"), "a")));
    let stored = slice(vec![endpoint(1, "a"), b, not_ready]);
    let (stored, written, _) = sync(HintMode::Auto, &[stored], Some(&mut cache(HALVES)));
    assert_eq!(
        (hints(&stored), written),
        (vec![vec!["a".into(), "b".into(), String::new()]], 1)
    );
}

#[test]
fn t_x_03_hd3_hints_come_back_with_the_nodes() {
    let mut cache = cache(HALVES);
    let (stored, ..) = sync(HintMode::Auto, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    let (a, b, joins) = (node("a", 1000), node("b", 1000), node("b", 100));
    assert_eq!(cache.set_nodes([a, b, NodeInfo { zone: None, ..joins }]), [OWNER]);
    let (stored, _, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!(hints(&stored), [["", ""]]);
    assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    assert_eq!(cache.set_nodes([a, b, joins]), [OWNER]);
    let (stored, _, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!(hints(&stored), [["a", "b"]]);
    assert_eq!(event, Some(enabled()));
    assert!(cache.set_nodes([a, b, joins]).is_empty());
}

#[test]
fn t_x_06_hd6_hints_for_nodes_go_under_auto() {
    let mut cache = cache(HALVES);
    let same_node = HintMode::TrafficDistribution(super::super::TrafficDistribution::PreferSameNode);
    let (stored, ..) = sync(same_node, &[in_zones(1, &["a", "b"])], Some(&mut cache));
    assert_eq!(hints(&stored), [["a@node-1", "b@node-2"]]);
    let (stored, written, _) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!((hints(&stored), written), (vec![vec!["a".into(), "b".to_owned()]], 1));
}

#[test]
fn t_x_07_hd7_a_missing_zone_is_no_reason_to_write() {
    let mut cache = cache(HALVES);
    let mut stored = in_zones(1, &["a", "b", "a", "b"]);
    stored.endpoints[3].zone = None;
    let other = hinted(endpoint(5, "a"), "a");
    let stored = [stored, slice(vec![other, hinted(endpoint(6, "b"), "b")])];
    let (stored, written, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
    assert_eq!(
        event,
        Some(warning("One or more endpoints do not have a zone specified"))
    );
    assert_eq!((tally(&stored), written), ((std::collections::BTreeMap::new(), 0), 1));
    assert_eq!(
        sync(HintMode::Auto, &stored, Some(&mut cache)),
        (stored.clone(), 0, None)
    );
}

/// H44.
#[test]
fn t_x_08_hd8_nobody_is_meant_for_a_zone_without_nodes() {
    let mut cache = cache(HALVES);
    let (stored, written, _) = sync(
        HintMode::Auto,
        &[in_zones(1, &["a", "b", "zz", "zz"])],
        Some(&mut cache),
    );
    let two = ["a", "b"].map(|zone| (zone.to_owned(), 2));
    assert_eq!((tally(&stored), written), ((two.into(), 2), 1));
    assert_eq!(
        sync(HintMode::Auto, &stored, Some(&mut cache)),
        (stored.clone(), 0, None)
    );
    assert!(
        cache
            .set_nodes(HALVES.iter().map(|(zone, cpu)| node(zone, *cpu)))
            .is_empty()
    );
}

/// H20, T-X-09, G-30: one "enabled" for the family that has hints, not one per sync.
#[test]
fn t_x_09_hd9_each_family_is_told_once() {
    let mut cache = cache(HALVES);
    let (v4, v6) = ([in_zones(1, &["a", "b"])], [in_zones(1, &["a"])]);
    let mut told = Vec::new();
    for _ in 0..2 {
        for (address_type, stored) in [(AddressType::IPv4, &v4), (AddressType::IPv6, &v6)] {
            let mut lists = Lists {
                unchanged: stored.iter().collect(),
                ..Lists::default()
            };
            let outcome = apply(HintMode::Auto, &OWNER, address_type, &mut lists, Some(&mut cache));
            told.extend(outcome.event.map(|event| event.message));
        }
    }
    let expected = [
        "Topology Aware Hints has been enabled, addressType: IPv4",
        "Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv6",
    ];
    assert_eq!(told, expected);
}

/// H42, T-X-10: five syncs, one warning; with the switch, five.
#[test]
fn t_x_10_hd10_warnings_on_transition() {
    for (repeat_warnings, expected) in [(false, 1), (true, 5)] {
        let mut cache = TopologyCache::new(super::super::TopologyOptions {
            repeat_warnings,
            ..Default::default()
        });
        let stored = [in_zones(1, &["a", "b"])];
        let mut told = || sync(HintMode::Auto, &stored, Some(&mut cache)).2;
        assert_eq!((0..5).filter_map(|_| told()).count(), expected);
        assert!(cache.set_nodes([]) == [OWNER]);
        let (_, _, event) = sync(HintMode::Auto, &stored, Some(&mut cache));
        assert_eq!(event, Some(warning(UNKNOWN_NODES)));
    }
}

/// H53b, HD17: of 9 endpoints, zone b should have 4, but 5 are too few too many to move any (H49). That is no reason
/// to write.
#[test]
fn hd17_a_share_that_cannot_be_had_is_no_reason_to_write() {
    let mut cache = cache(&[("a", 10), ("b", 15), ("c", 4)]);
    let stored = [in_zones(1, &["a", "a", "c", "c"]), in_zones(5, &["b"; 5])];
    let (stored, written, _) = sync(HintMode::Auto, &stored, Some(&mut cache));
    let counts = [("a", 2), ("b", 5), ("c", 2)].map(|(zone, count)| (zone.to_owned(), count));
    assert_eq!((tally(&stored), written), ((counts.into(), 0), 2));
    assert_eq!(
        sync(HintMode::Auto, &stored, Some(&mut cache)),
        (stored.clone(), 0, None)
    );
}

/// HD17: what is written anyway is opened before anything else is, in whatever order they come.
#[test]
fn hd17_no_slice_is_opened_that_need_not_be() {
    let named = |name: &str, slice: CompactSlice| CompactSlice {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..slice
    };
    let a = |n| hinted(endpoint(n, "a"), "a");
    let stored = [named("2", slice(vec![a(1), a(2)])), named("3", slice(vec![a(3), a(4)]))];
    let mut lists = Lists {
        update: vec![named("1", in_zones(5, &["a", "a"]))],
        unchanged: stored.iter().collect(),
        ..Lists::default()
    };
    auto(&mut cache(&[("a", 1), ("b", 1)]), &mut lists);
    assert_eq!(hints(&lists.update), [["b", "b"], ["b", "a"]]);
    assert_eq!(lists.unchanged, [&stored[0]]);
}

/// T-X-13 (HD14, HD17): same input, same output, and then there is nothing to do, not even where the balance cannot be had.
#[test]
fn t_x_13_hd14_same_input_same_output_and_then_rest() {
    let zones = [("a", 700), ("b", 200), ("c", 100), ("d", 90)];
    let places = ["a", "b", "c", "d", "zz"];
    let mut state = 7_u32;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    for round in 0..500 {
        let slices: Vec<_> = (0..=draw(4))
            .map(|_| {
                let endpoints = (0..draw(9)).map(|n| {
                    let endpoint = endpoint(n, places[draw(5)]);
                    if draw(2) == 0 {
                        endpoint
                    } else {
                        hinted(endpoint, places[draw(5)])
                    }
                });
                slice(endpoints.collect())
            })
            .collect();
        let (mut forth, mut back) = (TopologyCache::default(), TopologyCache::default());
        let _ = forth.set_nodes(zones.iter().map(|(zone, cpu)| node(zone, *cpu)));
        let _ = back.set_nodes(zones.iter().rev().map(|(zone, cpu)| node(zone, *cpu)));
        let first = sync(HintMode::Auto, &slices, Some(&mut forth));
        assert_eq!(first, sync(HintMode::Auto, &slices, Some(&mut back)), "round {round}");
        let (stored, ..) = first;
        assert!(!tally(&stored).0.contains_key("zz"), "round {round}");
        assert_eq!(sync(HintMode::Auto, &stored, Some(&mut forth)).1, 0, "round {round}");
    }
}
