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

fn counts(counts: &[(&str, usize)]) -> Counts {
    counts.iter().map(|(zone, count)| ((*zone).into(), *count)).collect()
}

fn hinted(cache: &mut Cache, owner: &'static str, zones: &[(&str, usize)]) {
    cache.entry(&owner).0.record(A, 0, Ok(counts(zones)));
}

fn refused(cache: &mut Cache, owner: &'static str, ready: usize) {
    let refusal = allocate(cache.ratios.as_ref(), ready).unwrap_err();
    cache.entry(&owner).0.record(A, ready, Err(refusal));
}

/// How many endpoints are meant for each zone, if there are hints.
pub(in super::super) fn stored_counts<'c, K: Eq + Hash>(
    cache: &'c TopologyCache<K>,
    owner: &K,
    address_type: AddressType,
) -> Option<Vec<(&'c str, usize)>> {
    match cache.owners.get(owner)?.by_type.get(&address_type)? {
        State::Hinted(counts) => Some(counts.iter().map(|(zone, count)| (&**zone, *count)).collect()),
        State::Refused { .. } => None,
    }
}

/// Nodes, hints per zone, and whether the owner is named.
type Named = (
    &'static str,
    Vec<NodeInfo<'static>>,
    &'static [(&'static str, usize)],
    bool,
);

/// R103, T-NTD-01…09, T-CTL-31…39.
#[test]
fn h46_owners_short_of_endpoints_in_a_zone_are_named() {
    let (b, c) = (node("b", 2000), node("c", 2000));
    let a = node("a", 100);
    let small = vec![a, node("b", 1000), node("c", 2000)];
    let unready = NodeInfo { ready: false, ..a };
    let steps = vec![node("a", 2000), node("b", 1000), node("c", 100)];
    let cases: Vec<Named> = vec![
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
        let again = cache.set_nodes(nodes);
        assert_eq!(again == ["svc1"], expected, "T-NTD-{id}");
    }
}

/// One owner with two types is named once (H46), in the order of first asking.
#[test]
fn hd14_owners_are_named_once_and_in_order() {
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

/// H19, H21, H47, T-X-02 (HD2), and H13.
#[test]
fn hd2_a_forgotten_owner_is_a_new_one() {
    let mut cache = Cache::default();
    hinted(&mut cache, "gone", &[("a", 1)]);
    refused(&mut cache, "refused", 1);
    hinted(&mut cache, "single", &[("a", 1)]);
    hinted(&mut cache, "dual", &[("a", 1)]);
    cache
        .entry(&"dual")
        .0
        .record(AddressType::IPv6, 0, Ok(counts(&[("a", 1)])));

    cache.forget(&"gone");
    cache.forget(&"refused");
    cache.forget_type(&"single", A);
    cache.forget_type(&"dual", A);
    assert_eq!(cache.set_nodes([]), ["dual"]);
    assert_eq!(
        cache.answers().collect::<Vec<_>>(),
        [(&"dual", AddressType::IPv6, Ok(()))]
    );
    let event = cache.entry(&"gone").0.record(A, 0, Ok(counts(&[("a", 1)])));
    assert_eq!(event, Some(HintEvent::enabled(A)), "as for any new owner");
}

/// HD3: every refusal that other nodes would lift or put otherwise, and no other.
#[test]
fn hd3_refused_owners_are_named_when_nodes_change_the_answer() {
    let (a, b, c) = (node("a", 1000), node("b", 1000), node("c", 1000));
    let nowhere = NodeInfo { zone: None, ..c };
    let mut cache = Cache::default();
    refused(&mut cache, "early", 2);
    assert_eq!(cache.set_nodes([a, b]), ["early"], "nodes are known now");
    cache.forget(&"early");

    assert!(cache.set_nodes([a, b, nowhere]).is_empty());
    refused(&mut cache, "two", 2);
    refused(&mut cache, "one", 1);
    assert!(cache.set_nodes([a, nowhere, b]).is_empty(), "nothing changed");
    assert_eq!(cache.set_nodes([a, b, c]), ["two", "one"], "another reason");
    refused(&mut cache, "two", 2);
    refused(&mut cache, "one", 1);
    assert_eq!(cache.set_nodes([a, b]), ["two"], "one endpoint is still too few");

    assert!(cache.set_nodes([a, b]).is_empty(), "nothing changed");
    cache
        .entry(&"lost")
        .0
        .record(A, 2, Err(HintsUnavailable::EndpointWithoutZone));
    assert_eq!(cache.set_nodes([a, b, c]), [""; 0], "nodes cannot help");
}

/// T-X-05 (HD5), the part that is not the controller's.
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

/// T-X-10 (HD10), and as it was.
#[test]
fn hd10_a_warning_when_the_kind_of_reason_changes() {
    let few = |endpoints| HintsUnavailable::TooFewEndpoints { endpoints, zones: 3 };
    let script = [
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
        for (step, (answer, new)) in script.iter().enumerate() {
            let told = cache.entry(&"svc1").0.record(A, 0, answer.clone());
            let expected = match answer {
                Ok(_) => new.then(|| HintEvent::enabled(A)),
                Err(refusal) => (*new || repeat_warnings).then(|| HintEvent::warning(refusal, A)),
            };
            assert_eq!(told, expected, "step {step}, repeat_warnings: {repeat_warnings}");
        }
    }
}

/// T-NODE-10, T-TOP-16: changes take exclusive access, so that there is nothing to race; threads may still share it.
#[test]
fn a_cache_can_be_shared_behind_a_mutex() {
    fn shared<T: Send + Sync>() {}
    shared::<std::sync::Mutex<Cache>>();
}

/// G89: zones with weights in place of nodes, by the same rules. Zones that can take nothing, or have no name that hints
/// can say (R146), are none.
#[test]
fn g89_zones_without_nodes() {
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
    refused(&mut with_zones, "small", 1);
    assert_eq!(with_zones.set_zones([("a", 1), ("b", 3)]), [] as [&str; 0]);
    assert_eq!(with_zones.set_zones([("a", 3), ("b", 1)]), ["svc"]);
    assert_eq!(
        with_zones.set_zones([("a", 3)]),
        ["svc", "small"],
        "one zone is as good as none"
    );
    assert_eq!(with_zones.ratios, None);
}
