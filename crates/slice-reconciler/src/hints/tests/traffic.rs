use super::{super::TrafficDistribution::*, *};

fn run(mode: HintMode, lists: &mut Lists<'_>) {
    let outcome = apply::<&str>(mode, &OWNER, AddressType::IPv4, lists, None);
    assert_eq!(outcome.event, None);
}

fn four() -> Lists<'static> {
    Lists {
        create: vec![in_zones(1, &["a", "b"]), in_zones(3, &["a", "b"])],
        update: vec![in_zones(5, &["a", "a"]), in_zones(7, &["b", "c"])],
        unchanged: vec![],
    }
}

fn homeless() -> Lists<'static> {
    let mut lists = four();
    for slice in lists.create.iter_mut().chain(&mut lists.update) {
        for endpoint in &mut slice.endpoints {
            endpoint.zone = None;
        }
    }
    lists
}

/// T-HTD-01…03, -05, -06, T-TD-01…03, -05, -06, H57.
#[test]
fn h57_every_endpoint_is_meant_for_its_own_surroundings() {
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
        ("05", PreferClose, homeless(), [[["", ""], ["", ""]]; 2]),
        ("06", PreferSameNode, homeless(), nodes),
    ] {
        run(HintMode::TrafficDistribution(distribution), &mut lists);
        assert_eq!(hints(&lists.create), create, "T-HTD-{id}");
        assert_eq!(hints(&lists.update), update, "T-HTD-{id}");
        if id == "05" {
            let mut all = lists
                .create
                .iter()
                .chain(&lists.update)
                .flat_map(|slice| &slice.endpoints);
            assert!(all.all(|endpoint| endpoint.hints.is_none()), "absent, not empty");
        }
    }
}

/// T-HTD-04, T-HTD-10, T-TD-04, T-TD-10: H61, and what is stored is left alone.
#[test]
fn h61_wrong_slices_follow_at_the_end() {
    let stored = [
        slice(vec![hinted(endpoint(2, "b"), "c")]),
        slice(vec![hinted(endpoint(3, "c"), "c")]),
        in_zones(4, &["c"]),
    ];
    let before = stored.clone();
    let mut lists = Lists {
        update: vec![slice(vec![hinted(endpoint(1, "a"), "b")])],
        unchanged: stored.iter().collect(),
        ..Lists::default()
    };
    run(HintMode::TrafficDistribution(PreferClose), &mut lists);
    let expected = [(1, "a"), (2, "b"), (4, "c")].map(|(n, zone)| slice(vec![hinted(endpoint(n, zone), zone)]));
    assert_eq!(lists.update, expected);
    assert_eq!(lists.unchanged, [&stored[1]]);
    assert_eq!(stored, before);
}

/// H60, T-HTD-07, T-TD-07.
#[test]
fn h60_when_an_unchanged_slice_is_written() {
    let b = || endpoint(1, "b");
    let nodes = |endpoint: Endpoint, nodes: &[&str]| {
        rehinted(endpoint, |hints| {
            hints.for_nodes = nodes.iter().map(|node| (*node).into()).collect();
        })
    };
    let twice = |endpoint: Endpoint| rehinted(endpoint, |hints| hints.for_zones.push("b".into()));
    let homeless = |mut endpoint: Endpoint| {
        endpoint.zone = None;
        endpoint
    };
    let zone = hinted(b(), "b");
    for (what, distribution, endpoint, expected) in [
        ("T-HTD-07: not ready, no hint", PreferClose, unready(b()), false),
        ("not ready, any hint", PreferClose, unready(hinted(b(), "x")), false),
        ("no hint", PreferClose, b(), true),
        ("own zone", PreferClose, zone.clone(), false),
        ("two zones", PreferClose, twice(zone.clone()), true),
        ("no zone, but a hint", PreferClose, homeless(zone.clone()), true),
        ("no zone, no hint", PreferClose, homeless(b()), false),
        ("no zone, empty hints", PreferClose, nodes(homeless(b()), &[]), false),
        ("node missing", PreferSameNode, zone.clone(), true),
        ("own node", PreferSameNode, nodes(zone.clone(), &["node-1"]), false),
        ("other node", PreferSameNode, nodes(zone.clone(), &["node-2"]), true),
        ("node too many", PreferSameZone, nodes(zone, &["node-1"]), true),
    ] {
        let stored = slice(vec![endpoint]);
        let (_, written, _) = sync(HintMode::TrafficDistribution(distribution), &[stored], None);
        assert_eq!(written == 1, expected, "{what}");
    }
}

/// T-HTD-08, -09, T-TD-08, -09: H63, H53a.
#[test]
fn h63_without_a_known_value_hints_go() {
    let a = || hinted(endpoint(1, "a"), "a");
    let stored = [slice(vec![unready(hinted(endpoint(2, "b"), "b"))]), in_zones(3, &["b"])];
    for unknown in [Some("Unknown"), None] {
        let mut lists = Lists {
            create: vec![slice(vec![a(), hinted(endpoint(2, "b"), "b")]), slice(vec![a()])],
            update: vec![slice(vec![a()])],
            unchanged: stored.iter().collect(),
        };
        run(HintMode::of(|_| None, unknown, true), &mut lists);
        assert_eq!(hints(&lists.create), [vec!["", ""], vec![""]]);
        assert_eq!(hints(&lists.update), [[""], [""]]);
        assert_eq!(lists.unchanged, [&stored[1]]);
    }
}

/// Hints that are there but empty are not what we write (H53a).
#[test]
fn h53a_empty_hints_are_stripped_too() {
    let mut emptied = endpoint(1, "a");
    emptied.hints = Some(Hints::default().into());
    let (stored, written, _) = sync(HintMode::None, &[slice(vec![emptied])], None);
    assert_eq!((stored, written), (vec![in_zones(1, &["a"])], 1));
}

/// HD1 (H58).
#[test]
fn hd1_an_endpoint_that_is_not_ready_loses_its_hint_when_its_slice_is_written() {
    let stored = slice(vec![endpoint(1, "a"), unready(hinted(endpoint(2, "b"), "a"))]);
    let (stored, written, _) = sync(HintMode::TrafficDistribution(PreferClose), &[stored], None);
    let expected = slice(vec![hinted(endpoint(1, "a"), "a"), unready(endpoint(2, "b"))]);
    assert_eq!((stored, written), (vec![expected], 1));
}

/// HD15 (H62).
#[test]
fn hd15_an_empty_name_is_no_name() {
    let mut nowhere = endpoint(1, "");
    nowhere.node_name = Some("".into());
    let stored = [slice(vec![nowhere.clone()]), slice(vec![hinted(nowhere.clone(), "")])];
    let (stored, written, _) = sync(HintMode::TrafficDistribution(PreferSameNode), &stored, None);
    assert_eq!((stored, written), (vec![slice(vec![nowhere]); 2], 1));
}

/// H58: the hint goes with readiness and comes back with it.
#[test]
fn h58_hints_follow_readiness() {
    let mode = HintMode::TrafficDistribution(PreferSameNode);
    for (endpoint, expected) in [(endpoint(1, "a"), "a@node-1"), (unready(endpoint(1, "a")), "")] {
        let mut lists = Lists {
            update: vec![slice(vec![endpoint])],
            ..Lists::default()
        };
        run(mode, &mut lists);
        assert_eq!(hints(&lists.update), [[expected]]);
        assert_eq!(sync(mode, &lists.update, None).1, 0);
    }
}

/// H65.
#[test]
fn h65_labels_of_what_was_done() {
    let labels = |mode, cache: Option<&mut TopologyCache<&'static str>>| {
        let mut lists: Lists<'_> = Lists::default();
        apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache)
            .verdict
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

/// R146: the API server would refuse the slice.
#[test]
fn r146_a_zone_that_hints_cannot_name_is_none() {
    let mut lists = Lists {
        update: vec![in_zones(1, &["a", "not a label", ""])],
        ..Lists::default()
    };
    run(HintMode::TrafficDistribution(PreferSameZone), &mut lists);
    assert_eq!(hints(&lists.update), [["a", "", ""]]);
    let written = lists.update;
    let mut lists = Lists {
        unchanged: written.iter().collect(),
        ..Lists::default()
    };
    run(HintMode::TrafficDistribution(PreferSameZone), &mut lists);
    assert_eq!(lists.update, [], "and it is at rest so");
}
