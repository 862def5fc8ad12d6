//! Desired groups: equality, merging and order.

use k8s_openapi::api::discovery::v1::EndpointPort;
use slice_core::{AddressType, Endpoint, PortMapKey};

use crate::{
    fixtures::{at, pod, pods, port},
    harness::{Harness, apply, order},
};

type Groups = Vec<(AddressType, PortMapKey, Vec<Endpoint>)>;

fn both_types(desired: Groups) -> Harness<'static> {
    Harness {
        address_types: vec![AddressType::IPv4, AddressType::IPv6],
        desired,
        ..Harness::default()
    }
}

/// Two lists of groups are equal if syncing from one to the other writes nothing, in both directions. A duplicate group is
/// merged (G8), unlike in the fork (T-CMP-01…08).
#[test]
fn t_cmp_equal_lists_of_groups() {
    let (v4, v6) = (AddressType::IPv4, AddressType::IPv6);
    let of = |address_type, ports: i32, addresses: &[&str]| {
        (
            address_type,
            port(ports),
            addresses.iter().map(|address| at(address)).collect(),
        )
    };
    let (a, b) = ("10.0.0.1", "10.0.0.2");
    for (id, one, other, same) in [
        ("01: none", vec![], vec![], true),
        ("02: ports", vec![of(v4, 80, &[a])], vec![of(v4, 81, &[a])], false),
        (
            "03: type",
            vec![of(v4, 80, &[a])],
            vec![of(v6, 80, &["fd00::1"])],
            false,
        ),
        ("04: order", vec![of(v4, 80, &[a, b])], vec![of(v4, 80, &[b, a])], true),
        ("05: endpoint", vec![of(v4, 80, &[a])], vec![of(v4, 80, &[b])], false),
        (
            "06: duplicate endpoint",
            vec![of(v4, 80, &[a, a])],
            vec![of(v4, 80, &[a, b])],
            false,
        ),
        (
            "06: duplicate endpoint",
            vec![of(v4, 80, &[a, a])],
            vec![of(v4, 80, &[a])],
            true,
        ),
        (
            "07: duplicate group",
            vec![of(v4, 80, &[a]), of(v4, 80, &[a])],
            vec![of(v4, 80, &[a]), of(v4, 81, &[a])],
            false,
        ),
        (
            "07: duplicate group",
            vec![of(v4, 80, &[a]), of(v4, 80, &[a])],
            vec![of(v4, 80, &[a])],
            true,
        ),
        (
            "08: length",
            vec![of(v4, 80, &[a])],
            vec![of(v4, 80, &[a]), of(v4, 81, &[b])],
            false,
        ),
    ] {
        for (before, after) in [(&one, &other), (&other, &one)] {
            let existing = apply(&both_types(before.clone()).plan(), &[]);
            let plan = both_types(after.clone()).with(existing).plan();
            assert_eq!(plan.writes.is_empty(), same, "T-CMP-{id}");
        }
    }
}

/// Groups of the same type and ports are merged, and the later endpoint of an identity wins (T-GX-02, G8).
#[test]
fn t_gx_02_equal_groups_are_merged() {
    let mut harness = Harness::of(&port(80), [pod(1, true), pod(2, true)]);
    harness
        .desired
        .push((AddressType::IPv4, port(80), vec![pod(2, false), pod(3, true)]));
    assert_eq!(order(&harness.sync()), "c");
    assert_eq!(
        harness.existing[0].endpoints,
        [pod(1, true), pod(2, false), pod(3, true)]
    );
}

/// An absent port name equals an empty one, and an absent protocol equals TCP (T-GX-01, G7).
#[test]
fn t_gx_01_defaults_make_no_difference() {
    let api_port = |name: Option<&str>, protocol: Option<&str>| EndpointPort {
        name: name.map(Into::into),
        protocol: protocol.map(Into::into),
        port: Some(80),
        ..EndpointPort::default()
    };
    let key = |port| PortMapKey::from_k8s(Some(&[port]));
    let mut harness = Harness::of(&key(api_port(None, None)), pods(0..1));
    harness.sync();
    harness.existing[0].ports = key(api_port(Some(""), Some("TCP")));
    assert_eq!(harness.plan().writes, []);
}

/// Slices are reused only within their address family (T-GX-05, G26, W18).
#[test]
fn t_gx_05_slices_are_reused_within_their_family() {
    let mut harness = both_types(vec![(AddressType::IPv4, port(80), vec![at("10.0.0.1")])]);
    harness.options.placeholder = false;
    harness.sync();
    let name = harness.existing[0].metadata.name.clone();
    harness.desired = vec![
        (AddressType::IPv4, port(81), vec![at("10.0.0.1")]),
        (AddressType::IPv6, port(81), vec![at("fd00::1")]),
    ];
    assert_eq!(order(&harness.sync()), "cu");
    let reused = harness
        .existing
        .iter()
        .find(|slice| slice.metadata.name == name)
        .unwrap();
    assert_eq!(
        (&reused.address_type, &reused.ports),
        (&Ok(AddressType::IPv4), &port(81))
    );
}

/// Writes of one address family do not depend on those of the other (T-GX-08, G29).
#[test]
fn t_gx_08_families_are_independent() {
    let desired = |n: usize| {
        let v6 = |n| at(&format!("fd00::{n}"));
        vec![
            (AddressType::IPv4, port(80), pods(n..n + 3)),
            (AddressType::IPv6, port(80), (n..n + 3).map(v6).collect()),
        ]
    };
    let mut harness = both_types(desired(1));
    harness.sync();
    harness.desired = desired(2);
    let plan = harness.plan();
    assert_eq!(order(&plan), "uu");
    assert!(plan.writes.iter().all(|write| write.depends_on.is_empty()));
}

/// Address types may change with every sync. Without any there is no placeholder (G10, G11).
#[test]
fn g11_address_types_change() {
    let mut harness = both_types(vec![]);
    for (address_types, order_of_writes) in [
        (vec![AddressType::IPv4, AddressType::IPv6], "cc"),
        (vec![AddressType::IPv6], "d"),
        (vec![AddressType::Fqdn], "cd"),
        (vec![], "d"),
        (vec![], ""),
    ] {
        harness.address_types = address_types;
        assert_eq!(order(&harness.sync()), order_of_writes);
    }
}

/// FQDN is an address type like the others, and sorts last (G17, R141).
#[test]
fn g17_domain_names() {
    let mut harness = both_types(vec![
        (
            AddressType::Fqdn,
            port(443),
            vec![at("b.example.com"), at("a.example.com.")],
        ),
        (AddressType::IPv4, port(443), vec![at("10.0.0.1")]),
    ]);
    harness.address_types.push(AddressType::Fqdn);
    let plan = harness.sync();
    let types: Vec<_> = plan.stats.iter().map(|stats| stats.address_type).collect();
    assert_eq!(types, [AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn]);
    assert_eq!(order(&plan), "ccc", "with a placeholder for IPv6");
    let named = harness.existing.last().unwrap().to_k8s();
    let endpoints: Vec<_> = named
        .endpoints
        .unwrap()
        .into_iter()
        .flat_map(|endpoint| endpoint.addresses)
        .collect();
    assert_eq!(
        (named.address_type.as_str(), endpoints),
        ("FQDN", vec!["a.example.com.".into(), "b.example.com".into()])
    );
    assert_eq!(harness.plan().writes, []);
    harness.desired[0].2.truncate(1);
    assert_eq!(order(&harness.sync()), "u");
}

/// Plans do not depend on the order of groups, endpoints and slices, byte for byte (T-GX-15, G32).
#[test]
fn t_gx_15_the_order_of_inputs_does_not_matter() {
    let mut harness = both_types(vec![
        (AddressType::IPv4, port(80), pods(0..30)),
        (AddressType::IPv4, port(81), pods(30..60)),
        (
            AddressType::IPv6,
            port(80),
            (1..9).map(|n| at(&format!("fd00::{n}"))).collect(),
        ),
    ]);
    harness.options = crate::fixtures::options(7);
    harness.sync();
    harness.desired[0].2 = pods(10..50);
    harness.desired[1].2 = pods(50..70);
    let plan = harness.plan();
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..20 {
        rng.shuffle(&mut harness.desired);
        rng.shuffle(&mut harness.existing);
        for (_, _, endpoints) in &mut harness.desired {
            rng.shuffle(endpoints);
        }
        assert_eq!(format!("{:?}", harness.plan()), format!("{plan:?}"));
    }
}
