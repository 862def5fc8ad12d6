//! Counters of plans. Their sum over the latest plans of all owners gives the metrics.

use std::collections::BTreeMap;

use slice_core::{AddressType, CompactSlice, Endpoint, PortMapKey};
use slice_reconciler::PlanStats;

use crate::{
    fixtures::{at, existing_slices, map, named_port, options, port},
    harness::Harness,
};

/// (endpoints, slices) of port 80 and of ports 80 and 443.
type Owner = [(usize, usize); 2];

/// The counters of a plan that does not change these slices.
fn stats(owner: Owner, placeholder: bool) -> Vec<PlanStats> {
    let both = PortMapKey::new([named_port("a", 80), named_port("b", 443)]);
    let mut harness = Harness::default();
    for (index, ((endpoints, slices), ports)) in owner.into_iter().zip([port(80), both]).enumerate() {
        let desired: Vec<Endpoint> = (1..=endpoints).map(|n| at(&format!("10.{index}.0.{n}"))).collect();
        let each = endpoints.div_ceil(slices).max(1);
        let mut contents: Vec<&[Endpoint]> = desired.chunks(each).collect();
        contents.resize(slices, &[]);
        let existing = existing_slices(&contents, &ports)
            .into_iter()
            .enumerate()
            .map(|(n, mut slice)| {
                slice.metadata.name = Some(format!("foo-{index}-{n}"));
                slice.ports = ports.clone();
                slice
            });
        harness.existing.extend(existing);
        harness.desired.push((AddressType::IPv4, ports, desired));
    }
    harness.options.placeholder = placeholder;
    let plan = harness.plan();
    assert_eq!(plan.writes, []);
    plan.stats
}

/// (minimum of slices, slices, endpoints)
fn totals<'a>(stats: impl IntoIterator<Item = &'a PlanStats>) -> (usize, usize, usize) {
    stats.into_iter().fold((0, 0, 0), |(min, slices, endpoints), stats| {
        (
            min + stats.min_slices,
            slices + stats.slices,
            endpoints + stats.desired_endpoints,
        )
    })
}

/// Totals change with each owner (T-MC-01, T-MET-01, T-MIR-61…65).
#[test]
fn t_mc_01_totals_over_owners() {
    let (a, b): (Owner, Owner) = ([(12, 5), (18, 8)], [(45, 1), (35, 1)]);
    let mut owners = BTreeMap::new();
    let set = |owners: &mut BTreeMap<_, _>, name, owner| {
        owners.insert(name, stats(owner, true));
        totals(owners.values().flatten())
    };
    assert_eq!(set(&mut owners, "svc1", a), (2, 13, 30), "T-MIR-61");
    assert_eq!(set(&mut owners, "svc2", b), (4, 15, 110), "T-MIR-62");
    assert_eq!(set(&mut owners, "svc3", a), (6, 28, 140), "T-MIR-63");
    assert_eq!(set(&mut owners, "svc1", b), (6, 17, 190), "T-MIR-64");
    owners.remove("svc3");
    assert_eq!(totals(owners.values().flatten()), (4, 4, 160), "T-MIR-65");
}

/// The minimum for an owner without endpoints is one slice with a placeholder, else none (T-MC-02, T-MC-03, T-MET-02).
#[test]
fn t_mc_02_owners_without_endpoints() {
    for (placeholder, expected) in [(true, (1, 2, 0)), (false, (0, 2, 0))] {
        assert_eq!(totals(&stats([(0, 1), (0, 1)], placeholder)), expected);
    }
}

/// Endpoints and slices of both address families count (G47, W5).
#[test]
fn g47_both_families_count() {
    let mut harness = Harness {
        address_types: vec![AddressType::IPv4, AddressType::IPv6],
        desired: vec![
            (AddressType::IPv4, port(80), vec![at("10.0.0.1"), at("10.0.0.2")]),
            (AddressType::IPv6, port(80), vec![at("fd00::1")]),
        ],
        options: options(1),
        ..Harness::default()
    };
    harness.policy.copied_labels = map(&[("a", "b")]);
    assert_eq!(totals(&harness.sync().stats), (3, 3, 3));
    let slices: Vec<CompactSlice> = harness.existing;
    assert_eq!(slices.len(), 3);
}
