//! What is wanted: when two lists of groups are the same, and what their order does not matter to.

use k8s_openapi::api::discovery::v1::EndpointPort;
use slice_core::{AddressType, Endpoint, PortMapKey};

use crate::support::{Ask, apply, at, order, pod, pods, port};

type Groups = Vec<(AddressType, PortMapKey, Vec<Endpoint>)>;

fn both_types(groups: Groups) -> Ask<'static> {
    Ask {
        supported: vec![AddressType::IPv4, AddressType::IPv6],
        groups,
        ..Ask::default()
    }
}

/// T-CMP-01…08: two lists of groups are the same when nothing is written to get from one to the other, either way. A group
/// twice is that group (G8), unlike in the fork.
#[test]
fn t_cmp_when_lists_of_groups_are_the_same() {
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
            "06: an endpoint twice",
            vec![of(v4, 80, &[a, a])],
            vec![of(v4, 80, &[a, b])],
            false,
        ),
        (
            "06: an endpoint twice",
            vec![of(v4, 80, &[a, a])],
            vec![of(v4, 80, &[a])],
            true,
        ),
        (
            "07: a group twice",
            vec![of(v4, 80, &[a]), of(v4, 80, &[a])],
            vec![of(v4, 80, &[a]), of(v4, 81, &[a])],
            false,
        ),
        (
            "07: a group twice",
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
        for (from, to) in [(&one, &other), (&other, &one)] {
            let stored = apply(&both_types(from.clone()).plan(), &[]);
            let plan = both_types(to.clone()).with(stored).plan();
            assert_eq!(plan.writes.is_empty(), same, "T-CMP-{id}");
        }
    }
}

/// T-GX-02, G8: groups of the same type and ports are one; the later endpoint of an identity wins.
#[test]
fn t_gx_02_equal_groups_are_merged() {
    let mut ask = Ask::of(&port(80), [pod(1, true), pod(2, true)]);
    ask.groups
        .push((AddressType::IPv4, port(80), vec![pod(2, false), pod(3, true)]));
    assert_eq!(order(&ask.sync()), "c");
    assert_eq!(ask.existing[0].endpoints, [pod(1, true), pod(2, false), pod(3, true)]);
}

/// T-GX-01, G7: a port without a name is a port with an empty one, a protocol left out is TCP.
#[test]
fn t_gx_01_defaults_make_no_difference() {
    let api_port = |name: Option<&str>, protocol: Option<&str>| EndpointPort {
        name: name.map(Into::into),
        protocol: protocol.map(Into::into),
        port: Some(80),
        ..EndpointPort::default()
    };
    let key = |port| PortMapKey::from_k8s(Some(&[port]));
    let mut ask = Ask::of(&key(api_port(None, None)), pods(0..1));
    ask.sync();
    ask.existing[0].ports = key(api_port(Some(""), Some("TCP")));
    assert_eq!(ask.plan().writes, []);
}

/// T-GX-05, G26, W18: slices are reused within their family, whatever else is to be created.
#[test]
fn t_gx_05_slices_are_reused_within_their_family() {
    let mut ask = both_types(vec![(AddressType::IPv4, port(80), vec![at("10.0.0.1")])]);
    ask.options.placeholder = false;
    ask.sync();
    let name = ask.existing[0].metadata.name.clone();
    ask.groups = vec![
        (AddressType::IPv4, port(81), vec![at("10.0.0.1")]),
        (AddressType::IPv6, port(81), vec![at("fd00::1")]),
    ];
    assert_eq!(order(&ask.sync()), "cu");
    let reused = ask.existing.iter().find(|slice| slice.metadata.name == name).unwrap();
    assert_eq!(
        (&reused.address_type, &reused.ports),
        (&Ok(AddressType::IPv4), &port(81))
    );
}

/// T-GX-08, G29: writes of one family wait for none of the other.
#[test]
fn t_gx_08_families_do_not_wait_for_each_other() {
    let wanted = |n: usize| {
        let v6 = |n| at(&format!("fd00::{n}"));
        vec![
            (AddressType::IPv4, port(80), pods(n..n + 3)),
            (AddressType::IPv6, port(80), (n..n + 3).map(v6).collect()),
        ]
    };
    let mut ask = both_types(wanted(1));
    ask.sync();
    ask.groups = wanted(2);
    let plan = ask.plan();
    assert_eq!(order(&plan), "uu");
    assert!(plan.writes.iter().all(|write| write.after.is_empty()));
}

/// G10, G11: the types may change from sync to sync, up to none at all; then there is no placeholder either.
#[test]
fn g11_types_come_and_go() {
    let mut ask = both_types(vec![]);
    for (supported, order_of_writes) in [
        (vec![AddressType::IPv4, AddressType::IPv6], "cc"),
        (vec![AddressType::IPv6], "d"),
        (vec![AddressType::Fqdn], "cd"),
        (vec![], "d"),
        (vec![], ""),
    ] {
        ask.supported = supported;
        assert_eq!(order(&ask.sync()), order_of_writes);
    }
}

/// G17, R141: domain names are a type like the others, and come last.
#[test]
fn g17_domain_names() {
    let mut ask = both_types(vec![
        (
            AddressType::Fqdn,
            port(443),
            vec![at("b.example.com"), at("a.example.com.")],
        ),
        (AddressType::IPv4, port(443), vec![at("10.0.0.1")]),
    ]);
    ask.supported.push(AddressType::Fqdn);
    let plan = ask.sync();
    let types: Vec<_> = plan.stats.iter().map(|summary| summary.address_type).collect();
    assert_eq!(types, [AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn]);
    assert_eq!(order(&plan), "ccc", "with a placeholder for IPv6");
    let named = ask.existing.last().unwrap().to_k8s();
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
    assert_eq!(ask.plan().writes, []);
    ask.groups[0].2.truncate(1);
    assert_eq!(order(&ask.sync()), "u");
}

/// T-GX-15, G32: the order of groups, endpoints and slices does not matter, byte for byte.
#[test]
fn t_gx_15_the_order_of_inputs_does_not_matter() {
    let mut ask = both_types(vec![
        (AddressType::IPv4, port(80), pods(0..30)),
        (AddressType::IPv4, port(81), pods(30..60)),
        (
            AddressType::IPv6,
            port(80),
            (1..9).map(|n| at(&format!("fd00::{n}"))).collect(),
        ),
    ]);
    ask.options = crate::support::options(7);
    ask.sync();
    ask.groups[0].2 = pods(10..50);
    ask.groups[1].2 = pods(50..70);
    let plan = ask.plan();
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..20 {
        rng.shuffle(&mut ask.groups);
        rng.shuffle(&mut ask.existing);
        for (_, _, endpoints) in &mut ask.groups {
            rng.shuffle(endpoints);
        }
        assert_eq!(format!("{:?}", ask.plan()), format!("{plan:?}"));
    }
}
