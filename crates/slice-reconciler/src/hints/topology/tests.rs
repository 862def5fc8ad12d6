//! Whole runs of the algorithm.

use slice_core::{AddressType, Endpoint, HintInterner};

use crate::planned::PlannedSlice;

use super::{
    super::{HintMode, tests::*},
    assign::{give_hints, ready_endpoints},
    balance::Moves,
    cache::tests::stored_counts,
    listed::Listed,
    nodes::Ratios,
    shares::Shares,
};

const TENTHS: &[(&str, u64)] = &[("a", 35), ("b", 35), ("c", 30)];

/// T-TOPO-01…03, T-TOP-01…03: refused, nothing stored as hinted, no hints on what is returned.
#[test]
fn h29_refusals_are_told_and_leave_no_hints() {
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
        let mut lists = Lists {
            create: create.clone(),
            ..Lists::default()
        };
        let outcome = auto(&mut cache, &mut lists);
        assert_eq!(outcome.event, Some(warning(expected)), "T-TOPO-{id}");
        assert_eq!((lists.create, lists.update), (create, vec![]), "T-TOPO-{id}");
        assert_eq!(stored_counts(&cache, &OWNER, AddressType::IPv4), None, "T-TOPO-{id}");
    }
}

/// H33, H38, T-TOPO-04…06, T-TOP-04…06.
#[test]
fn h36_own_zones_first_then_as_few_moves_as_it_takes() {
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
        let mut lists = Lists {
            create,
            update,
            unchanged: vec![],
        };
        let outcome = auto(&mut cache, &mut lists);
        assert_eq!(outcome.event, Some(enabled()), "T-TOPO-{id}");
        assert_eq!([hints(&lists.create), hints(&lists.update)], expected, "T-TOPO-{id}");
        let stored = stored_counts(&cache, &OWNER, AddressType::IPv4);
        assert_eq!(stored.as_deref(), Some(counts), "T-TOPO-{id}");
    }
}

/// T-SI-01…05, T-TOP-37…41.
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
        let stored = slices(unchanged);
        let mut lists = Lists {
            create: slices(create),
            update: slices(update),
            unchanged: stored.iter().collect(),
        };
        assert_eq!(lists.with_drafts(|lists| ready_endpoints(lists)), expected, "T-SI-{id}");
    }
}

/// T-REDIS-01…03, T-TOP-17…19: where endpoints are, what zones give and receive; their hints, and what is counted then.
#[test]
fn h52_what_is_moved_is_counted() {
    let ratios = Ratios::known(&[("a", 0.4), ("b", 0.3), ("c", 0.3)]);
    for (id, at, give, receive, expected, counted) in [
        ("01", &[][..], [0, 0, 0], [0, 0, 0], &[][..], [0, 0, 0]),
        ("02", &["a"], [1, 0, 0], [0, 1, 0], &["b"], [0, 1, 0]),
        ("03", &["a"; 3], [2, 0, 0], [0, 1, 1], &["b", "c", "a"], [1, 1, 1]),
    ] {
        let slice = in_zones(1, at);
        let mut planned: PlannedSlice<'_, &Endpoint> = PlannedSlice::unchanged(&slice);
        let (give, receive) = (give.into(), receive.into());
        let mut moves = Moves { give, receive };
        let shares = Shares::count(&ratios, [(Listed::Written(&planned), true)].into_iter());
        assert_eq!(
            shares.map(|shares| shares.after(&moves)).ok(),
            Some(counted.into()),
            "T-REDIS-{id}"
        );
        for endpoint in &mut planned.endpoints {
            give_hints(endpoint, &ratios, &mut moves, &mut HintInterner::default());
        }
        assert_eq!(hints(&[planned.into_slice()]), [expected], "T-REDIS-{id}");
    }
}

/// As the outcome of a whole run: two zones, and three.
#[test]
fn h52_endpoints_of_a_giving_zone_serve_the_first_that_receives() {
    for (zones, at, expected) in [
        (&[("a", 1), ("b", 1)][..], vec!["a", "a"], vec!["b", "a"]),
        (
            &[("a", 1), ("b", 1), ("c", 1)],
            vec!["a", "a", "a"],
            vec!["b", "c", "a"],
        ),
    ] {
        let mut lists = Lists {
            create: vec![in_zones(1, &at)],
            ..Lists::default()
        };
        auto(&mut cache(zones), &mut lists);
        assert_eq!(hints(&lists.create), [expected]);
    }
}

/// H34: earlier slices are favoured, the others follow at the end, and what is stored is left alone.
#[test]
fn h34_a_slice_that_fits_stays_and_the_next_is_written() {
    let a = |n| hinted(endpoint(n, "a"), "a");
    let stored = [slice(vec![a(1), a(2)]), slice(vec![a(3), a(4)]), slice(vec![])];
    let before = stored.clone();
    let mut lists = Lists {
        update: vec![in_zones(5, &["b", "b"])],
        unchanged: stored.iter().collect(),
        ..Lists::default()
    };
    let mut cache = cache(&[("a", 1), ("b", 1)]);
    auto(&mut cache, &mut lists);
    assert_eq!(lists.unchanged, [&stored[0], &stored[2]]);
    assert_eq!(hints(&lists.update), [["b", "b"], ["b", "a"]]);
    assert_eq!(stored, before);
}

/// H53: what an unchanged slice has too much of is not taken back, and what is stored is what was done.
#[test]
fn h53_unchanged_slices_are_not_reopened_for_balance() {
    let stored = slice((1..=11).map(|n| hinted(endpoint(n, "a"), "a")).collect());
    let mut lists = Lists {
        create: vec![in_zones(12, &["b"; 9])],
        unchanged: vec![&stored],
        ..Lists::default()
    };
    let mut cache = cache(&[("a", 1), ("b", 1)]);
    auto(&mut cache, &mut lists);
    assert_eq!((lists.update.len(), lists.unchanged.len()), (0, 1));
    assert_eq!(hints(&lists.create), [["b"; 9]]);
    let counts = stored_counts(&cache, &OWNER, AddressType::IPv4);
    assert_eq!(counts, Some(vec![("a", 11), ("b", 9)]));
}

/// H10, T-RT-01…05: 3 equal zones; how many are meant for each, how many cross, how many slices are written, under
/// which name.
#[test]
fn t_rt_slices_that_exist_get_hints_without_repacking() {
    let c = || in_zones(1, &["c", "c", "c"]);
    let ac = || in_zones(1, &["a", "a", "c", "c"]);
    let ab = || in_zones(5, &["a", "a", "b", "b", "b"]);
    for (id, with_cache, mode, stored, each, crossing, written, label) in [
        ("01", false, HintMode::Auto, vec![c()], 0, 0, 0, "Disabled"),
        ("02", true, HintMode::Auto, vec![c()], 1, 2, 1, "Auto"),
        ("03", true, HintMode::Auto, vec![ac()], 0, 0, 0, "Auto"),
        ("04", true, HintMode::Auto, vec![ac(), ab()], 3, 1, 2, "Auto"),
        ("05", true, HintMode::None, vec![ac(), ab()], 0, 0, 0, "Disabled"),
    ] {
        let mut cache = cache(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let mut lists = Lists {
            unchanged: stored.iter().collect(),
            ..Lists::default()
        };
        let cache = with_cache.then_some(&mut cache);
        let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache);
        assert_eq!(outcome.verdict.labels(), (label, ""), "T-RT-{id}");
        let updates = lists.update.len();
        let slices: Vec<_> = lists.unchanged.into_iter().cloned().chain(lists.update).collect();
        let zones = ["a", "b", "c"].into_iter().filter(|_| each > 0);
        let expected = zones.map(|zone| (zone.to_owned(), each)).collect();
        assert_eq!(tally(&slices), (expected, crossing), "T-RT-{id}");
        assert_eq!(updates, written, "T-RT-{id}");
    }
}

/// T-RTD-01…06: 1, 3 and 2 pods in equal zones, nothing stored; how many are meant for each zone, how many cross.
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
        // Switched off entirely: whoever calls does not pass the field on.
        ("06", "Disabled", None, false, None, ("Disabled", "")),
    ] {
        let mode = HintMode::of(|_| Some(annotation), field, newer_values);
        let mut cache = cache(&[("a", 1), ("b", 1), ("c", 1)]);
        let mut lists = Lists {
            create: vec![in_zones(0, &["a", "b", "b", "b", "c", "c"])],
            ..Lists::default()
        };
        let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, Some(&mut cache));
        assert_eq!(outcome.verdict.labels(), labels, "T-RTD-{id}");
        let (counts, crossing) = tally(&lists.create);
        let counts: Vec<_> = counts.into_values().collect();
        let expected = expected.map_or((vec![], 0), |(counts, crossing)| (counts.into(), crossing));
        assert_eq!((counts, crossing), expected, "T-RTD-{id}");
        let hints = lists.create[0].endpoints.iter().flat_map(|endpoint| &endpoint.hints);
        let nodes = hints.flat_map(|hints| &hints.for_nodes).count();
        assert_eq!(nodes, if id == "04" { 6 } else { 0 }, "T-RTD-{id}");
    }
}
