//! Tests of endpoint identity and sets.

use std::collections::BTreeMap;

use super::*;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::{Address, Conditions, Endpoint, Target};

fn endpoint(addresses: &[&str], hostname: Option<&str>, target: Option<(&str, &str)>) -> Endpoint {
    Endpoint {
        addresses: addresses
            .iter()
            .map(|address| Address::from_canonical(address))
            .collect(),
        hostname: hostname.map(Into::into),
        target: target.map(|(namespace, name)| {
            Target::from(&ObjectReference {
                namespace: Some(namespace.into()),
                name: Some(name.into()),
                ..ObjectReference::default()
            })
        }),
        ..Endpoint::default()
    }
}

fn pod(address: &str, name: &str) -> Endpoint {
    endpoint(&[address], None, Some(("ns", name)))
}

fn same(a: &Endpoint, b: &Endpoint) -> bool {
    let mut set = EndpointSet::default();
    set.insert(a);
    set.remove(b).is_some()
}

/// Pods that share an address are two endpoints; a pod with the same name and address is the same one (R76, R77).
#[test]
fn r76_identity_is_addresses_hostname_and_target_name() {
    let base = pod("10.0.0.1", "a");
    let with = |change: fn(&mut Endpoint)| {
        let mut endpoint = base.clone();
        change(&mut endpoint);
        endpoint
    };
    for (difference, other, expected) in [
        ("none", base.clone(), true),
        ("address", pod("10.0.0.2", "a"), false),
        (
            "additional address",
            endpoint(&["10.0.0.1", "10.0.0.2"], None, Some(("ns", "a"))),
            false,
        ),
        ("hostname", endpoint(&["10.0.0.1"], Some("h"), Some(("ns", "a"))), false),
        (
            "empty hostname",
            endpoint(&["10.0.0.1"], Some(""), Some(("ns", "a"))),
            true,
        ),
        ("name", pod("10.0.0.1", "b"), false),
        ("namespace", endpoint(&["10.0.0.1"], None, Some(("other", "a"))), false),
        (
            "uid",
            with(|e| {
                e.target = Some(Target::from(&ObjectReference {
                    namespace: Some("ns".into()),
                    name: Some("a".into()),
                    uid: Some("u".into()),
                    ..ObjectReference::default()
                }));
            }),
            true,
        ),
        ("node", with(|e| e.node_name = Some("n".into())), true),
        ("conditions", with(|e| e.conditions.ready = Some(true)), true),
    ] {
        assert_eq!(same(&base, &other), expected, "{difference}");
    }
    let without_target = endpoint(&["10.0.0.1"], None, None);
    assert!(same(&without_target, &endpoint(&["10.0.0.1"], None, Some(("", "")))));
}

#[test]
fn order_of_addresses_does_not_matter() {
    let ascending = endpoint(&["10.0.0.1", "10.0.0.2"], None, None);
    let descending = endpoint(&["10.0.0.2", "10.0.0.1"], None, None);
    assert!(same(&ascending, &descending));
}

#[test]
fn r78_insert_replaces_an_endpoint_of_the_same_identity() {
    let first = pod("10.0.0.1", "a");
    let mut second = first.clone();
    second.conditions = Conditions {
        ready: Some(false),
        ..Conditions::default()
    };
    let mut set = EndpointSet::default();
    set.extend([&first, &second]);
    assert_eq!(set.len(), 1);
    assert_eq!(set.into_sorted(), [&second]);
}

#[test]
fn endpoint_is_removed_once() {
    let endpoints = [pod("10.0.0.1", "a"), pod("10.0.0.1", "b")];
    let mut set = EndpointSet::with_capacity(2);
    set.extend(&endpoints);
    assert_eq!(set.remove(&endpoints[0]), Some(&endpoints[0]));
    assert_eq!(set.remove(&endpoints[0]), None);
    assert_eq!(
        endpoints.each_ref().map(|endpoint| set.contains(&endpoint)),
        [false, true]
    );
    assert_eq!((set.len(), set.is_empty()), (1, false));
}

/// Pods on the host network share an address (R77). Random inserts and removes have the same results as in a map.
#[test]
fn r77_endpoints_that_share_an_address_are_separate() {
    let endpoints: Vec<Endpoint> = (0..12)
        .map(|n| pod(["10.0.0.1", "10.0.0.2"][n % 2], &(n / 4).to_string()))
        .collect();
    let identity = |endpoint: &Endpoint| format!("{:?}", (&endpoint.addresses, &endpoint.target));
    let mut state = 1_usize;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut set, mut map) = (EndpointSet::default(), BTreeMap::new());
    for _ in 0..10_000 {
        let endpoint = &endpoints[random(endpoints.len())];
        if random(2) == 0 {
            set.insert(endpoint);
            map.insert(identity(endpoint), endpoint);
        } else {
            let (removed, expected) = (set.remove(&endpoint), map.remove(&identity(endpoint)));
            assert!(
                removed.is_some() == expected.is_some()
                    && removed.zip(expected).is_none_or(|(a, b)| std::ptr::eq(a, b))
            );
        }
        assert_eq!(set.len(), map.len());
    }
    let remaining: Vec<String> = set.into_sorted().into_iter().map(identity).collect();
    assert_eq!(remaining, map.into_keys().collect::<Vec<_>>());
}

#[test]
fn sorted_order_is_independent_of_insertion_order() {
    let (a, b, c) = (pod("10.0.0.2", "a"), pod("10.0.0.10", "b"), pod("200.0.0.1", "c"));
    for (endpoints, expected) in [
        ([c.clone(), a.clone(), b.clone()], ["a", "b", "c"]),
        ([a.clone(), b.clone(), pod("10.0.0.2", "0")], ["0", "a", "b"]),
        ([pod("fd00::1", "d"), a, b], ["a", "b", "d"]),
    ] {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut set = EndpointSet::default();
            set.extend(order.map(|i: usize| &endpoints[i]));
            let sorted = set.into_sorted();
            let names = sorted.iter().map(|e| e.target().unwrap().name().unwrap());
            assert_eq!(names.collect::<Vec<_>>(), expected);
        }
    }
}
