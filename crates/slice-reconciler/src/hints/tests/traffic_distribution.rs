//! Hints by traffic distribution.

use slice_core::{AddressType, Endpoint, Hints};

use super::{
    super::{HintMode, TopologyCache, TrafficDistribution::*},
    fixtures::*,
};

fn run(mode: HintMode, lists: &mut OwnedLists<'_>) {
    let outcome = apply::<&str>(mode, &OWNER, AddressType::IPv4, lists, None);
    assert_eq!(outcome.event, None);
}

fn four() -> OwnedLists<'static> {
    OwnedLists {
        to_create: vec![in_zones(1, &["a", "b"]), in_zones(3, &["a", "b"])],
        to_update: vec![in_zones(5, &["a", "a"]), in_zones(7, &["b", "c"])],
        unchanged: vec![],
    }
}

fn without_zones() -> OwnedLists<'static> {
    let mut lists = four();
    for slice in lists.to_create.iter_mut().chain(&mut lists.to_update) {
        for endpoint in &mut slice.endpoints {
            endpoint.zone = None;
        }
    }
    lists
}

/// Every endpoint is hinted to its own zone or node (T-HTD-01…03, -05, -06, T-TD-01…03, -05, -06, H57).
#[test]
fn h57_every_endpoint_is_hinted_to_its_own_zone_or_node() {
    let zones = [[["a", "b"], ["a", "b"]], [["a", "a"], ["b", "c"]]];
    let with_nodes = [
        [["a@node-1", "b@node-2"], ["a@node-3", "b@node-4"]],
        [["a@node-5", "a@node-6"], ["b@node-7", "c@node-8"]],
    ];
    let nodes = [
        [["@node-1", "@node-2"], ["@node-3", "@node-4"]],
        [["@node-5", "@node-6"], ["@node-7", "@node-8"]],
    ];
    for (id, distribution, mut lists, [create, update]) in [
        ("01", PreferClose, four(), zones),
        ("02", PreferSameZone, four(), zones),
        ("03", PreferSameNode, four(), with_nodes),
        ("05", PreferClose, without_zones(), [[["", ""], ["", ""]]; 2]),
        ("06", PreferSameNode, without_zones(), nodes),
    ] {
        run(HintMode::TrafficDistribution(distribution), &mut lists);
        assert_eq!(hints(&lists.to_create), create, "T-HTD-{id}");
        assert_eq!(hints(&lists.to_update), update, "T-HTD-{id}");
        if id == "05" {
            let mut all = lists
                .to_create
                .iter()
                .chain(&lists.to_update)
                .flat_map(|slice| &slice.endpoints);
            assert!(all.all(|endpoint| endpoint.hints.is_none()), "absent, not empty");
        }
    }
}

/// Unchanged slices with wrong hints move to the end of the update list (T-HTD-04, T-HTD-10, T-TD-04, T-TD-10, H61).
#[test]
fn h61_slices_with_wrong_hints_move_to_the_update_list() {
    let existing = [
        slice(vec![hinted(endpoint(2, "b"), "c")]),
        slice(vec![hinted(endpoint(3, "c"), "c")]),
        in_zones(4, &["c"]),
    ];
    let before = existing.clone();
    let mut lists = OwnedLists {
        to_update: vec![slice(vec![hinted(endpoint(1, "a"), "b")])],
        unchanged: existing.iter().collect(),
        ..OwnedLists::default()
    };
    run(HintMode::TrafficDistribution(PreferClose), &mut lists);
    let expected = [(1, "a"), (2, "b"), (4, "c")].map(|(n, zone)| slice(vec![hinted(endpoint(n, zone), zone)]));
    assert_eq!(lists.to_update, expected);
    assert_eq!(lists.unchanged, [&existing[1]]);
    assert_eq!(existing, before);
}

/// Wrong hints of ready endpoints cause an update (H60, T-HTD-07, T-TD-07).
#[test]
fn h60_wrong_hints_of_ready_endpoints_cause_an_update() {
    let b = || endpoint(1, "b");
    let nodes = |endpoint: Endpoint, nodes: &[&str]| {
        rehinted(endpoint, |hints| {
            hints.for_nodes = nodes.iter().map(|node| (*node).into()).collect();
        })
    };
    let twice = |endpoint: Endpoint| rehinted(endpoint, |hints| hints.for_zones.push("b".into()));
    let without_zones = |mut endpoint: Endpoint| {
        endpoint.zone = None;
        endpoint
    };
    let zone = hinted(b(), "b");
    for (case, distribution, endpoint, expected) in [
        ("T-HTD-07: not ready, no hint", PreferClose, unready(b()), false),
        ("not ready, any hint", PreferClose, unready(hinted(b(), "x")), false),
        ("no hint", PreferClose, b(), true),
        ("own zone", PreferClose, zone.clone(), false),
        ("two zones", PreferClose, twice(zone.clone()), true),
        ("no zone, but a hint", PreferClose, without_zones(zone.clone()), true),
        ("no zone, no hint", PreferClose, without_zones(b()), false),
        (
            "no zone, empty hints",
            PreferClose,
            nodes(without_zones(b()), &[]),
            false,
        ),
        ("node missing", PreferSameNode, zone.clone(), true),
        ("own node", PreferSameNode, nodes(zone.clone(), &["node-1"]), false),
        ("other node", PreferSameNode, nodes(zone.clone(), &["node-2"]), true),
        ("node too many", PreferSameZone, nodes(zone, &["node-1"]), true),
    ] {
        let existing = slice(vec![endpoint]);
        let (_, written, _) = sync(HintMode::TrafficDistribution(distribution), &[existing], None);
        assert_eq!(written == 1, expected, "{case}");
    }
}

/// An unknown or absent value removes all hints (T-HTD-08, -09, T-TD-08, -09, H63, H53a).
#[test]
fn h63_an_unknown_value_removes_hints() {
    let a = || hinted(endpoint(1, "a"), "a");
    let existing = [slice(vec![unready(hinted(endpoint(2, "b"), "b"))]), in_zones(3, &["b"])];
    for unknown in [Some("Unknown"), None] {
        let mut lists = OwnedLists {
            to_create: vec![slice(vec![a(), hinted(endpoint(2, "b"), "b")]), slice(vec![a()])],
            to_update: vec![slice(vec![a()])],
            unchanged: existing.iter().collect(),
        };
        run(HintMode::of(|_| None, unknown, true), &mut lists);
        assert_eq!(hints(&lists.to_create), [vec!["", ""], vec![""]]);
        assert_eq!(hints(&lists.to_update), [[""], [""]]);
        assert_eq!(lists.unchanged, [&existing[1]]);
    }
}

/// Empty hints are replaced by absent ones (H53a).
#[test]
fn h53a_empty_hints_are_removed_too() {
    let mut emptied = endpoint(1, "a");
    emptied.hints = Some(Hints::default().into());
    let (existing, written, _) = sync(HintMode::None, &[slice(vec![emptied])], None);
    assert_eq!((existing, written), (vec![in_zones(1, &["a"])], 1));
}

/// A write removes the hint of an endpoint that is not ready (HD1, H58).
#[test]
fn hd1_an_endpoint_that_is_not_ready_loses_its_hint_when_its_slice_is_written() {
    let existing = slice(vec![endpoint(1, "a"), unready(hinted(endpoint(2, "b"), "a"))]);
    let (existing, written, _) = sync(HintMode::TrafficDistribution(PreferClose), &[existing], None);
    let expected = slice(vec![hinted(endpoint(1, "a"), "a"), unready(endpoint(2, "b"))]);
    assert_eq!((existing, written), (vec![expected], 1));
}

/// An empty zone or node name gets no hint (HD15, H62).
#[test]
fn hd15_an_empty_zone_or_node_gets_no_hint() {
    let mut unnamed = endpoint(1, "");
    unnamed.node_name = Some("".into());
    let existing = [slice(vec![unnamed.clone()]), slice(vec![hinted(unnamed.clone(), "")])];
    let (existing, written, _) = sync(HintMode::TrafficDistribution(PreferSameNode), &existing, None);
    assert_eq!((existing, written), (vec![slice(vec![unnamed]); 2], 1));
}

/// The hint is removed and restored with readiness (H58).
#[test]
fn h58_hints_follow_readiness() {
    let mode = HintMode::TrafficDistribution(PreferSameNode);
    for (endpoint, expected) in [(endpoint(1, "a"), "a@node-1"), (unready(endpoint(1, "a")), "")] {
        let mut lists = OwnedLists {
            to_update: vec![slice(vec![endpoint])],
            ..OwnedLists::default()
        };
        run(mode, &mut lists);
        assert_eq!(hints(&lists.to_update), [[expected]]);
        assert_eq!(sync(mode, &lists.to_update, None).1, 0);
    }
}

/// Metric labels for each mode (H65).
#[test]
fn h65_metric_labels() {
    let labels = |mode, cache: Option<&mut TopologyCache<&'static str>>| {
        let mut lists: OwnedLists<'_> = OwnedLists::default();
        apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache)
            .result
            .labels()
    };
    assert_eq!(labels(HintMode::Auto, Some(&mut cache(&[]))), ("Auto", ""));
    assert_eq!(labels(HintMode::Auto, None), ("Disabled", ""));
    assert_eq!(labels(HintMode::None, None), ("Disabled", ""));
    for distribution in [PreferClose, PreferSameZone, PreferSameNode] {
        assert_eq!(
            labels(HintMode::TrafficDistribution(distribution), None),
            ("Disabled", distribution.as_str())
        );
    }
}

/// The API server would reject a slice with such a hint (R146).
#[test]
fn r146_an_invalid_zone_gets_no_hint() {
    let mut lists = OwnedLists {
        to_update: vec![in_zones(1, &["a", "not a label", ""])],
        ..OwnedLists::default()
    };
    run(HintMode::TrafficDistribution(PreferSameZone), &mut lists);
    assert_eq!(hints(&lists.to_update), [["a", "", ""]]);
    let written = lists.to_update;
    let mut lists = OwnedLists {
        unchanged: written.iter().collect(),
        ..OwnedLists::default()
    };
    run(HintMode::TrafficDistribution(PreferSameZone), &mut lists);
    assert_eq!(lists.to_update, [], "a second sync writes nothing");
}
