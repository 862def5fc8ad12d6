//! Tests of the whole algorithm.

use slice_core::{AddressType, Endpoint, HintInterner};

use crate::planned::PlannedSlice;

use super::{
    super::{HintMode, tests::fixtures::*},
    assign::{assign_hint, ready_endpoints},
    balance::Moves,
    cache::tests::cached_counts,
    nodes::ZoneRatios,
    views::SliceView,
    zone_counts::ZoneCounts,
};

const TENTHS: &[(&str, u64)] = &[("a", 35), ("b", 35), ("c", 30)];

/// Unavailable hints cause a warning, no cache entry with counts and no hints (T-TOPO-01…03, T-TOP-01…03).
#[test]
fn h29_unavailable_hints_cause_a_warning_and_no_hints() {
    let few = "Insufficient number of endpoints (2 endpoints, 3 zones)";
    for (id, zones, create, expected) in [
        ("01", &[][..], vec![], UNKNOWN_NODES),
        ("02", &[], vec![in_zones(3, &["a"])], UNKNOWN_NODES),
        (
            "03",
            &[("a", 3), ("b", 4), ("c", 3)],
            vec![in_zones(3, &["a", "b"])],
            few,
        ),
    ] {
        let mut cache = cache(zones);
        let mut lists = OwnedLists {
            to_create: create.clone(),
            ..OwnedLists::default()
        };
        let outcome = auto(&mut cache, &mut lists);
        assert_eq!(outcome.event, Some(warning(expected)), "T-TOPO-{id}");
        assert_eq!((lists.to_create, lists.to_update), (create, vec![]), "T-TOPO-{id}");
        assert_eq!(cached_counts(&cache, &OWNER, AddressType::IPv4), None, "T-TOPO-{id}");
    }
}

/// Endpoints get their own zone, with as few moves as possible (H33, H38, T-TOPO-04…06, T-TOP-04…06).
#[test]
fn h36_own_zones_first_with_as_few_moves_as_possible() {
    let mut partly = in_zones(3, &["a", "b", "b", "b"]);
    partly.endpoints[2].conditions.ready = Some(false);
    partly.endpoints[3].conditions.ready = None;
    let create = vec![in_zones(3, &["a", "b"]), in_zones(5, &["c", "c", "a"])];
    let update = vec![in_zones(8, &["a", "a"]), in_zones(10, &["b", "c", "a"])];
    let halves = &[("a", 45), ("b", 55)][..];
    for (id, zones, create, update, expected, counts) in [
        (
            "04",
            halves,
            vec![in_zones(3, &["a", "b"])],
            vec![],
            [vec![vec!["a", "b"]], vec![]],
            &[("a", 1), ("b", 1)][..],
        ),
        (
            "05",
            halves,
            vec![partly],
            vec![],
            [vec![vec!["a", "b", "", ""]], vec![]],
            &[("a", 1), ("b", 1)],
        ),
        (
            "06",
            TENTHS,
            create,
            update,
            [
                vec![vec!["b", "b"], vec!["c", "c", "a"]],
                vec![vec!["a", "a"], vec!["b", "c", "a"]],
            ],
            &[("a", 4), ("b", 3), ("c", 3)],
        ),
    ] {
        let mut cache = cache(zones);
        let mut lists = OwnedLists {
            to_create: create,
            to_update: update,
            unchanged: vec![],
        };
        let outcome = auto(&mut cache, &mut lists);
        assert_eq!(outcome.event, Some(enabled()), "T-TOPO-{id}");
        assert_eq!(
            [hints(&lists.to_create), hints(&lists.to_update)],
            expected,
            "T-TOPO-{id}"
        );
        let existing = cached_counts(&cache, &OWNER, AddressType::IPv4);
        assert_eq!(existing.as_deref(), Some(counts), "T-TOPO-{id}");
    }
}

/// Ready endpoints of all three lists count (T-SI-01…05, T-TOP-37…41).
#[test]
fn ready_endpoints_are_counted_over_all_lists() {
    let with = |ready: usize, others: usize| {
        let mut slice = in_zones(0, &vec!["a"; ready + others]);
        for endpoint in &mut slice.endpoints[ready..] {
            endpoint.conditions.ready = None;
        }
        slice
    };
    let cases: [(&str, &[_], &[_], &[_], usize); 5] = [
        ("01", &[], &[], &[], 0),
        ("02", &[(0, 0)], &[], &[], 0),
        ("03", &[(15, 0), (8, 0)], &[], &[], 23),
        ("04", &[(15, 0), (8, 0)], &[(2, 0)], &[(100, 0), (90, 0)], 215),
        ("05", &[(15, 3), (5, 4)], &[(3, 8)], &[(98, 2), (90, 6)], 211),
    ];
    for (id, create, update, unchanged, expected) in cases {
        let slices = |sizes: &[(usize, usize)]| sizes.iter().map(|(r, o)| with(*r, *o)).collect::<Vec<_>>();
        let existing = slices(unchanged);
        let mut lists = OwnedLists {
            to_create: slices(create),
            to_update: slices(update),
            unchanged: existing.iter().collect(),
        };
        assert_eq!(
            lists.with_slice_lists(|lists| ready_endpoints(lists)),
            expected,
            "T-SI-{id}"
        );
    }
}

/// (zones of endpoints, moves) → (hints, counts) (T-REDIS-01…03, T-TOP-17…19).
#[test]
fn h52_counts_follow_the_moves() {
    let ratios = ZoneRatios::from_pairs(&[("a", 0.4), ("b", 0.3), ("c", 0.3)]);
    for (id, at, give, receive, expected, counted) in [
        ("01", &[][..], [0, 0, 0], [0, 0, 0], &[][..], [0, 0, 0]),
        ("02", &["a"], [1, 0, 0], [0, 1, 0], &["b"], [0, 1, 0]),
        ("03", &["a"; 3], [2, 0, 0], [0, 1, 1], &["b", "c", "a"], [1, 1, 1]),
    ] {
        let slice = in_zones(1, at);
        let mut planned: PlannedSlice<'_, &Endpoint> = PlannedSlice::unchanged(&slice);
        let (give, receive) = (give.into(), receive.into());
        let mut moves = Moves { give, receive };
        let zones = ZoneCounts::count(&ratios, [(SliceView::Planned(&planned), true)].into_iter());
        assert_eq!(
            zones.map(|zones| zones.after(&moves)).ok(),
            Some(counted.into()),
            "T-REDIS-{id}"
        );
        for endpoint in &mut planned.endpoints {
            assign_hint(endpoint, &ratios, &mut moves, &mut HintInterner::default());
        }
        assert_eq!(hints(&[planned.into_slice()]), [expected], "T-REDIS-{id}");
    }
}

/// The same by a whole assignment, with two and three zones.
#[test]
fn h52_endpoints_of_a_giving_zone_go_to_the_first_receiver() {
    for (zones, at, expected) in [
        (&[("a", 1), ("b", 1)][..], vec!["a", "a"], vec!["b", "a"]),
        (
            &[("a", 1), ("b", 1), ("c", 1)],
            vec!["a", "a", "a"],
            vec!["b", "c", "a"],
        ),
    ] {
        let mut lists = OwnedLists {
            to_create: vec![in_zones(1, &at)],
            ..OwnedLists::default()
        };
        auto(&mut cache(zones), &mut lists);
        assert_eq!(hints(&lists.to_create), [expected]);
    }
}

/// Earlier slices keep their hints; the others move to the end of the update list (H34).
#[test]
fn h34_a_slice_that_fits_is_unchanged_and_the_next_is_updated() {
    let a = |n| hinted(endpoint(n, "a"), "a");
    let existing = [slice(vec![a(1), a(2)]), slice(vec![a(3), a(4)]), slice(vec![])];
    let before = existing.clone();
    let mut lists = OwnedLists {
        to_update: vec![in_zones(5, &["b", "b"])],
        unchanged: existing.iter().collect(),
        ..OwnedLists::default()
    };
    let mut cache = cache(&[("a", 1), ("b", 1)]);
    auto(&mut cache, &mut lists);
    assert_eq!(lists.unchanged, [&existing[0], &existing[2]]);
    assert_eq!(hints(&lists.to_update), [["b", "b"], ["b", "a"]]);
    assert_eq!(existing, before);
}

/// An unchanged slice with a surplus keeps its hints, and the cache has the actual counts (H53).
#[test]
fn h53_unchanged_slices_are_not_updated_for_balance() {
    let existing = slice((1..=11).map(|n| hinted(endpoint(n, "a"), "a")).collect());
    let mut lists = OwnedLists {
        to_create: vec![in_zones(12, &["b"; 9])],
        unchanged: vec![&existing],
        ..OwnedLists::default()
    };
    let mut cache = cache(&[("a", 1), ("b", 1)]);
    auto(&mut cache, &mut lists);
    assert_eq!((lists.to_update.len(), lists.unchanged.len()), (0, 1));
    assert_eq!(hints(&lists.to_create), [["b"; 9]]);
    let counts = cached_counts(&cache, &OWNER, AddressType::IPv4);
    assert_eq!(counts, Some(vec![("a", 11), ("b", 9)]));
}

/// 3 equal zones → (endpoints per zone, cross-zone hints, updates, metric label) (H10, T-RT-01…05).
#[test]
fn t_rt_existing_slices_get_hints_without_repacking() {
    let c = || in_zones(1, &["c", "c", "c"]);
    let ac = || in_zones(1, &["a", "a", "c", "c"]);
    let ab = || in_zones(5, &["a", "a", "b", "b", "b"]);
    for (id, with_cache, mode, existing, each, cross_zone, written, label) in [
        ("01", false, HintMode::Auto, vec![c()], 0, 0, 0, "Disabled"),
        ("02", true, HintMode::Auto, vec![c()], 1, 2, 1, "Auto"),
        ("03", true, HintMode::Auto, vec![ac()], 0, 0, 0, "Auto"),
        ("04", true, HintMode::Auto, vec![ac(), ab()], 3, 1, 2, "Auto"),
        ("05", true, HintMode::None, vec![ac(), ab()], 0, 0, 0, "Disabled"),
    ] {
        let mut cache = cache(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let mut lists = OwnedLists {
            unchanged: existing.iter().collect(),
            ..OwnedLists::default()
        };
        let cache = with_cache.then_some(&mut cache);
        let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache);
        assert_eq!(outcome.result.labels(), (label, ""), "T-RT-{id}");
        let updates = lists.to_update.len();
        let slices: Vec<_> = lists.unchanged.into_iter().cloned().chain(lists.to_update).collect();
        let zones = ["a", "b", "c"].into_iter().filter(|_| each > 0);
        let expected = zones.map(|zone| (zone.to_owned(), each)).collect();
        assert_eq!(tally(&slices), (expected, cross_zone), "T-RT-{id}");
        assert_eq!(updates, written, "T-RT-{id}");
    }
}

/// 1, 3 and 2 pods in equal zones, no existing slices → (endpoints per zone, cross-zone hints) (T-RTD-01…06).
#[test]
fn t_rtd_new_slices_by_annotation_and_field() {
    let (close, node) = (Some("PreferClose"), Some("PreferSameNode"));
    for (id, annotation, field, newer_values, expected, labels) in [
        (
            "01",
            "Disabled",
            close,
            true,
            Some(([1, 3, 2], 0)),
            ("Disabled", "PreferClose"),
        ),
        ("02", "Auto", close, true, Some(([2, 2, 2], 1)), ("Auto", "")),
        ("03", "", None, true, None, ("Disabled", "")),
        (
            "04",
            "Disabled",
            node,
            true,
            Some(([1, 3, 2], 0)),
            ("Disabled", "PreferSameNode"),
        ),
        ("05", "Disabled", Some("PreferSameZone"), false, None, ("Disabled", "")),
        // The feature is disabled: the caller does not pass the field.
        ("06", "Disabled", None, false, None, ("Disabled", "")),
    ] {
        let mode = HintMode::of(|_| Some(annotation), field, newer_values);
        let mut cache = cache(&[("a", 1), ("b", 1), ("c", 1)]);
        let mut lists = OwnedLists {
            to_create: vec![in_zones(0, &["a", "b", "b", "b", "c", "c"])],
            ..OwnedLists::default()
        };
        let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, Some(&mut cache));
        assert_eq!(outcome.result.labels(), labels, "T-RTD-{id}");
        let (counts, cross_zone) = tally(&lists.to_create);
        let counts: Vec<_> = counts.into_values().collect();
        let expected = expected.map_or((vec![], 0), |(counts, cross_zone)| (counts.into(), cross_zone));
        assert_eq!((counts, cross_zone), expected, "T-RTD-{id}");
        let hints = lists.to_create[0].endpoints.iter().flat_map(|endpoint| &endpoint.hints);
        let nodes = hints.flat_map(|hints| &hints.for_nodes).count();
        assert_eq!(nodes, if id == "04" { 6 } else { 0 }, "T-RTD-{id}");
    }
}
