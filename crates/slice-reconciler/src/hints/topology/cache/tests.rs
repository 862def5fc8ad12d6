use super::*;

const A: AddressType = AddressType::IPv4;

type Cache = TopologyCache<&'static str>;

fn node(zone: &str, cpu_milli: u64) -> NodeInfo<'_> {
    NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(cpu_milli),
    }
}

fn counts(counts: &[(&str, usize)]) -> HintCounts {
    counts.iter().map(|(zone, count)| ((*zone).into(), *count)).collect()
}

fn hinted(cache: &mut Cache, owner: &'static str, zones: &[(&str, usize)]) {
    cache.entry(&owner).0.record(A, 0, Ok(counts(zones)));
}

fn unavailable(cache: &mut Cache, owner: &'static str, ready: usize) {
    let reason = allocate(cache.ratios.as_ref(), ready).unwrap_err();
    cache.entry(&owner).0.record(A, ready, Err(reason));
}

/// The cached counts per zone, if there are hints.
pub(in super::super) fn cached_counts<'c, K: Eq + Hash>(
    cache: &'c TopologyCache<K>,
    owner: &K,
    address_type: AddressType,
) -> Option<Vec<(&'c str, usize)>> {
    match cache.owners.get(owner)?.by_type.get(&address_type)? {
        State::Hinted(counts) => Some(counts.iter().map(|(zone, count)| (&**zone, *count)).collect()),
        State::Unavailable { .. } => None,
    }
}

/// (id, nodes, hints per zone, whether the owner is enqueued).
type NodesCase = (
    &'static str,
    Vec<NodeInfo<'static>>,
    &'static [(&'static str, usize)],
    bool,
);

/// Owners with too few endpoints in a zone are enqueued (R103, T-NTD-01…09, T-CTL-31…39).
#[test]
fn h46_owners_with_an_overloaded_zone_are_enqueued() {
    let (b, c) = (node("b", 2000), node("c", 2000));
    let a = node("a", 100);
    let small = vec![a, node("b", 1000), node("c", 2000)];
    let unready = NodeInfo { ready: false, ..a };
    let steps = vec![node("a", 2000), node("b", 1000), node("c", 100)];
    let cases: Vec<NodesCase> = vec![
        ("01", vec![], &[], false),
        ("02", small.clone(), &[("a", 1), ("b", 2), ("c", 3)], true),
        (
            "03",
            vec![unready, small[1], small[2]],
            &[("a", 1), ("b", 2), ("c", 3)],
            true,
        ),
        ("04", vec![b, b, c, c], &[("b", 5), ("c", 4)], false),
        (
            "05",
            vec![b, NodeInfo { zone: None, ..b }, c, c],
            &[("b", 5), ("c", 4)],
            true,
        ),
        (
            "06",
            vec![b, NodeInfo { cpu_milli: None, ..b }, c, c],
            &[("b", 5), ("c", 4)],
            true,
        ),
        ("07", vec![b, b, c, c], &[("b", 6), ("c", 4)], true),
        ("08", steps.clone(), &[("a", 20), ("b", 10), ("c", 1)], false),
        ("09", steps, &[("a", 20), ("b", 10), ("c", 0)], true),
        ("no count at all", small, &[("a", 1), ("b", 2)], true),
    ];
    for (id, nodes, zones, expected) in cases {
        let mut cache = Cache::default();
        hinted(&mut cache, "svc1", zones);
        let enqueued = cache.set_nodes(nodes);
        assert_eq!(enqueued == ["svc1"], expected, "T-NTD-{id}");
    }
}

/// An owner with two types is enqueued once, in the order of first syncs (H46).
#[test]
fn hd14_owners_are_enqueued_once_and_in_order() {
    let owners = ["z", "m", "a", "k", "b"];
    let mut cache = Cache::default();
    for owner in owners {
        hinted(&mut cache, owner, &[("a", 1)]);
        cache
            .entry(&owner)
            .0
            .record(AddressType::IPv6, 0, Ok(counts(&[("a", 1)])));
    }
    assert_eq!(cache.set_nodes([]), owners);
}

/// A removed owner or address type has no state (H19, H21, H47, T-X-02, HD2, H13).
#[test]
fn hd2_a_forgotten_owner_is_a_new_one() {
    let mut cache = Cache::default();
    hinted(&mut cache, "gone", &[("a", 1)]);
    unavailable(&mut cache, "unavailable", 1);
    hinted(&mut cache, "single", &[("a", 1)]);
    hinted(&mut cache, "dual", &[("a", 1)]);
    cache
        .entry(&"dual")
        .0
        .record(AddressType::IPv6, 0, Ok(counts(&[("a", 1)])));

    cache.forget(&"gone");
    cache.forget(&"unavailable");
    cache.forget_type(&"single", A);
    cache.forget_type(&"dual", A);
    assert_eq!(cache.set_nodes([]), ["dual"]);
    assert_eq!(
        cache.status().collect::<Vec<_>>(),
        [(&"dual", AddressType::IPv6, Ok(()))]
    );
    let event = cache.entry(&"gone").0.record(A, 0, Ok(counts(&[("a", 1)])));
    assert_eq!(event, Some(HintEvent::enabled(A)), "like a new owner");
}

/// Owners are enqueued if other nodes give hints or another reason, and only then (HD3).
#[test]
fn hd3_owners_without_hints_are_enqueued_if_nodes_change_the_result() {
    let (a, b, c) = (node("a", 1000), node("b", 1000), node("c", 1000));
    let without_zone = NodeInfo { zone: None, ..c };
    let mut cache = Cache::default();
    unavailable(&mut cache, "early", 2);
    assert_eq!(cache.set_nodes([a, b]), ["early"], "nodes are known now");
    cache.forget(&"early");

    assert!(cache.set_nodes([a, b, without_zone]).is_empty());
    unavailable(&mut cache, "two", 2);
    unavailable(&mut cache, "one", 1);
    assert!(cache.set_nodes([a, without_zone, b]).is_empty(), "nothing changed");
    assert_eq!(cache.set_nodes([a, b, c]), ["two", "one"], "another reason");
    unavailable(&mut cache, "two", 2);
    unavailable(&mut cache, "one", 1);
    assert_eq!(cache.set_nodes([a, b]), ["two"], "one endpoint is still too few");

    assert!(cache.set_nodes([a, b]).is_empty(), "nothing changed");
    cache
        .entry(&"lost")
        .0
        .record(A, 2, Err(HintsUnavailable::EndpointWithoutZone));
    assert_eq!(cache.set_nodes([a, b, c]), [""; 0], "does not depend on nodes");
}

/// CPU and exclusion of a node change the result (T-X-05, HD5, the part without the controller).
#[test]
fn hd5_cpu_and_exclusion_matter() {
    let (a, b) = (node("a", 1000), node("b", 1000));
    let doubled = node("b", 2000);
    let excluded = NodeInfo { excluded: true, ..b };
    assert!(b != doubled && b != excluded);
    let mut cache = Cache::default();
    assert!(cache.set_nodes([a, b]).is_empty());
    hinted(&mut cache, "svc1", &[("a", 4), ("b", 4)]);
    assert!(cache.set_nodes([a, b]).is_empty());
    assert_eq!(cache.set_nodes([a, doubled]), ["svc1"]);
    assert_eq!(cache.set_nodes([a, excluded]), ["svc1"]);
}

/// By default only a new kind of reason warns, with `repeat_warnings` every sync (T-X-10, HD10).
#[test]
fn hd10_a_warning_when_the_kind_of_reason_changes() {
    let few = |endpoints| HintsUnavailable::TooFewEndpoints { endpoints, zones: 3 };
    let steps = [
        (Err(HintsUnavailable::UnknownNodes), true),
        (Err(HintsUnavailable::UnknownNodes), false),
        (Err(few(1)), true),
        (Err(few(2)), false),
        (Ok(counts(&[("a", 1)])), true),
        (Ok(counts(&[("a", 2)])), false),
        (Err(few(2)), true),
    ];
    for repeat_warnings in [false, true] {
        let mut cache = Cache::new(TopologyOptions {
            repeat_warnings,
            ..TopologyOptions::default()
        });
        for (step, (result, new)) in steps.iter().enumerate() {
            let event = cache.entry(&"svc1").0.record(A, 0, result.clone());
            let expected = match result {
                Ok(_) => new.then(|| HintEvent::enabled(A)),
                Err(reason) => (*new || repeat_warnings).then(|| HintEvent::warning(reason, A)),
            };
            assert_eq!(event, expected, "step {step}, repeat_warnings: {repeat_warnings}");
        }
    }
}

/// Changes need exclusive access, so threads share the cache behind a mutex (T-NODE-10, T-TOP-16).
#[test]
fn a_cache_can_be_shared_behind_a_mutex() {
    fn shared<T: Send + Sync>() {}
    shared::<std::sync::Mutex<Cache>>();
}

/// Weighted zones follow the same rules as nodes. Zones with weight 0 or an invalid name (R146) are ignored (G89).
#[test]
fn g89_weighted_zones_replace_nodes() {
    let mut with_nodes = Cache::default();
    assert!(
        with_nodes
            .set_nodes([node("a", 1000), node("b", 2000), node("b", 1000)])
            .is_empty()
    );
    let mut with_zones = Cache::default();
    let zones = [("b", 3), ("a", 1), ("c", 0), ("", 5), ("not a label", 5)];
    assert!(with_zones.set_zones(zones).is_empty());
    assert_eq!(with_zones.ratios, with_nodes.ratios);

    hinted(&mut with_zones, "svc", &[("a", 1), ("b", 3)]);
    unavailable(&mut with_zones, "small", 1);
    assert_eq!(with_zones.set_zones([("a", 1), ("b", 3)]), [] as [&str; 0]);
    assert_eq!(with_zones.set_zones([("a", 3), ("b", 1)]), ["svc"]);
    assert_eq!(
        with_zones.set_zones([("a", 3)]),
        ["svc", "small"],
        "one zone gives no ratios"
    );
    assert_eq!(with_zones.ratios, None);
}
