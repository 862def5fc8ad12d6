//! Values that the API server would reject are omitted and reported; the rest is published (F25, R143–R146).

use slice_core::{Address, AddressType, Endpoint, Port, PortMapKey};
use slice_reconciler::{InvalidLabel, Partition, PlanError, Rejected};

use crate::{
    fixtures::{at, existing_slices, named_port, one_per_group, pod, pods, policy, port},
    harness::{Harness, addresses, order, rejected},
};

fn changed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let mut endpoint = pod(7, true);
    change(&mut endpoint);
    endpoint
}

/// (address type, invalid endpoint, reason)
fn invalid_endpoints() -> Vec<(AddressType, Endpoint, String)> {
    let (v4, v6, fqdn) = (AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn);
    let wrong_type = |address_type, text: &str| {
        let reason = format!("{text:?} is not an address of that type, or not in its canonical form");
        (address_type, at(text), reason)
    };
    let invalid = |address_type, text: &str, reason: &str| {
        let reason = format!("{text:?} cannot be published: it is {reason}");
        (address_type, at(text), reason)
    };
    let other = |endpoint: Endpoint, reason: &str| (v4, endpoint, reason.to_owned());
    vec![
        wrong_type(v4, "garbage"),
        wrong_type(v4, "010.0.0.1"),
        wrong_type(v4, "fd00::1"),
        wrong_type(v4, "example.com"),
        wrong_type(v6, "10.0.0.1"),
        wrong_type(v6, "FD00::1"),
        wrong_type(v6, "fe80::1%eth0"),
        wrong_type(fqdn, "10.0.0.1"),
        invalid(v4, "127.0.0.1", "a loopback address"),
        invalid(v4, "0.0.0.0", "the unspecified address"),
        invalid(v4, "169.254.0.1", "a link-local address"),
        invalid(v6, "fe80::1", "a link-local address"),
        invalid(fqdn, "localhost", "not a domain name of two labels or more"),
        invalid(fqdn, "a b.example.com", "not a domain name of two labels or more"),
        other(changed(|e| e.addresses.clear()), "it has no address"),
        other(with_addresses(101), "its 101 addresses exceed the limit of 100"),
        other(
            changed(|e| e.hostname = Some("".into())),
            "its hostname \"\" is not a DNS label",
        ),
        other(
            changed(|e| e.hostname = Some("a.b".into())),
            "its hostname \"a.b\" is not a DNS label",
        ),
        other(
            changed(|e| e.node_name = Some("".into())),
            "its node name \"\" is not a DNS name",
        ),
    ]
}

fn with_addresses(count: u8) -> Endpoint {
    changed(|e| {
        e.addresses = (0..count)
            .map(|n| Address::from_canonical(&format!("10.1.0.{n}")))
            .collect();
    })
}

/// The valid endpoints are published. A second sync writes nothing and reports the same.
#[test]
fn invalid_endpoints_are_rejected_one_by_one() {
    for (address_type, invalid, reason) in invalid_endpoints() {
        let valid = at(match address_type {
            AddressType::IPv4 => "10.0.0.99",
            AddressType::IPv6 => "fd00::99",
            AddressType::Fqdn => "db.example.com",
        });
        for options in [crate::fixtures::options(100), one_per_group(100)] {
            let mut harness = Harness {
                address_types: vec![address_type],
                desired: vec![(address_type, port(80), vec![invalid.clone(), valid.clone()])],
                options,
                ..Harness::default()
            };
            for expected in ["c", ""] {
                let plan = harness.sync();
                assert_eq!(order(&plan), expected, "{reason}");
                let [
                    Rejected::Endpoint {
                        endpoint,
                        reason: actual,
                        ..
                    },
                ] = &plan.rejected[..]
                else {
                    panic!("{reason}: {:?}", plan.rejected);
                };
                assert_eq!((&**endpoint, actual.to_string()), (&invalid, reason.clone()));
                let stats = plan.stats[0];
                assert_eq!(
                    (stats.desired_endpoints, stats.changes.added),
                    (1, expected.len()),
                    "{reason}"
                );
            }
            assert_eq!(harness.existing[0].endpoints, std::slice::from_ref(&valid), "{reason}");
        }
    }
    let mut fine = Harness::of(&port(80), [with_addresses(100), pod(1, true)]);
    assert_eq!(fine.sync().rejected, []);
}

/// Messages name the address and the target of the endpoint.
#[test]
fn messages_name_address_and_target() {
    let harness = Harness::of(
        &port(80),
        [
            at("::1"),
            changed(|e| e.node_name = Some("a b".into())),
            changed(|e| e.addresses.clear()),
        ],
    );
    let mut messages = rejected(&harness.plan());
    messages.sort();
    assert_eq!(
        messages,
        [
            "IPv4 endpoint \"10.0.0.7\" of pod-7 is rejected: its node name \"a b\" is not a DNS name",
            "IPv4 endpoint \"::1\" is rejected: \"::1\" is not an address of that type, or not in its canonical form",
            "IPv4 endpoint of pod-7 is rejected: it has no address",
        ]
    );
}

/// Asserts that a sync rejects one endpoint, removes it by an update, and keeps these.
fn assert_one_removed(harness: &mut Harness<'_>, remaining: [&str; 2]) {
    let plan = harness.sync();
    let removed = plan.stats[0].changes.removed;
    assert_eq!((order(&plan).as_str(), plan.rejected.len(), removed), ("u", 1, 1));
    assert_eq!(addresses(&harness.existing), remaining);
    assert_eq!(order(&harness.sync()), "");
}

/// A published endpoint whose desired form is invalid is removed; unchanged endpoints stay.
#[test]
fn an_endpoint_that_becomes_invalid_is_removed() {
    for options in [crate::fixtures::options(100), one_per_group(100)] {
        let mut harness = Harness::of(&port(80), pods(6..9)).with(existing_slices(&[&pods(6..9)], &port(80)));
        harness.options = options;
        harness.desired[0].2[1] = changed(|e| e.node_name = Some("a b".into()));
        assert_one_removed(&mut harness, ["10.0.0.6", "10.0.0.8"]);
    }
}

/// An existing endpoint that only an older API server accepted stays until its slice is written. Then it is removed,
/// because the API server would reject the whole slice (R144).
#[test]
fn an_existing_invalid_endpoint_is_removed_with_the_next_update() {
    for options in [crate::fixtures::options(100), one_per_group(100)] {
        let invalid = at("010.0.0.1");
        let mut existing = existing_slices(&[&pods(1..2)], &port(80));
        existing[0].endpoints.push(invalid.clone());
        let mut harness = Harness::of(&port(80), [pod(1, true), invalid]).with(existing);
        harness.options = options;
        let plan = harness.sync();
        assert_eq!((order(&plan).as_str(), plan.rejected), ("", vec![]));
        harness.desired[0].2.push(pod(2, true));
        assert_one_removed(&mut harness, ["10.0.0.1", "10.0.0.2"]);
    }
}

/// A group with invalid ports is not published; other groups are.
#[test]
fn f25_a_group_with_invalid_ports_is_rejected() {
    let odd = |change: fn(&mut Port)| {
        let mut port = named_port("a", 80);
        change(&mut port);
        PortMapKey::new([port])
    };
    let numbered = |count: i32| PortMapKey::new((0..count).map(|n| named_port(&format!("p{n}"), n)));
    for (ports, reason) in [
        (numbered(20_001), "20001 ports exceed the limit of 20000"),
        (
            PortMapKey::new([named_port("a", 1), named_port("a", 2)]),
            "two ports have the name \"a\"",
        ),
        (
            PortMapKey::new([named_port("", 1), named_port("", 2)]),
            "two ports have the name \"\"",
        ),
        (
            odd(|port| port.name = "a b".into()),
            "the port name \"a b\" is not a DNS label",
        ),
        (
            odd(|port| port.protocol = "QUIC".into()),
            "the protocol \"QUIC\" is none of TCP, UDP, SCTP",
        ),
        (
            odd(|port| port.app_protocol = Some("".into())),
            "the application protocol \"\" is not a qualified name",
        ),
    ] {
        let mut harness = Harness::of(&port(80), pods(0..2));
        harness.desired.push((AddressType::IPv4, ports, pods(2..5)));
        let plan = harness.sync();
        assert_eq!(rejected(&plan), [format!("3 IPv4 endpoints are rejected: {reason}")]);
        assert_eq!((order(&plan).as_str(), plan.stats[0].desired_endpoints), ("c", 2));
        assert_eq!(addresses(&harness.existing), ["10.0.0.0", "10.0.0.1"]);
        assert_eq!(order(&harness.sync()), "");
        harness.desired[1].2.clear();
        assert_eq!(harness.sync().rejected, [], "an empty group is not reported");
    }
    let mut fine = Harness::of(&numbered(20_000), pods(0..1));
    assert_eq!(fine.sync().rejected, []);
}

/// Published endpoints of a rejected group stay in slices of another group, even if that group becomes empty (I4).
#[test]
fn f25_a_group_whose_ports_become_invalid_stays_in_slices_of_others() {
    let invalid = PortMapKey::new([named_port("a", 1), named_port("a", 2)]);
    for options in [crate::fixtures::options(100), one_per_group(100)] {
        for (others, expected) in [
            (pods(0..2), vec!["10.0.0.0", "10.0.0.1", "10.0.0.2"]),
            (pods(0..1), vec!["10.0.0.0", "10.0.0.2"]),
            (vec![], vec!["10.0.0.2"]),
        ] {
            let mut harness = Harness::of(&port(80), others).with(existing_slices(&[&pods(0..3)], &port(80)));
            harness.options = options;
            harness.desired.push((AddressType::IPv4, invalid.clone(), pods(2..4)));
            let plan = harness.sync();
            assert_eq!(
                rejected(&plan),
                ["2 IPv4 endpoints are rejected: two ports have the name \"a\""]
            );
            assert_eq!(addresses(&harness.existing), expected);
            assert_eq!(order(&harness.sync()), "");
        }
    }
}

/// Slices with endpoints of a rejected group do not change, other undesired slices are deleted, and no placeholder is
/// created. With valid ports the slices are updated (I4).
#[test]
fn f25_a_group_whose_ports_become_invalid_keeps_its_slices() {
    let invalid = PortMapKey::new([named_port("a", 1), named_port("a", 2)]);
    let mut existing = existing_slices(&[&pods(0..3), &pods(3..6)], &port(80));
    existing[1].ports = port(81);
    for options in [crate::fixtures::options(100), one_per_group(100)] {
        let mut harness = Harness::of(&invalid, pods(1..3)).with(existing.clone());
        harness.options = options;
        let plan = harness.sync();
        assert_eq!(
            (order(&plan).as_str(), plan.rejected.len(), plan.stats[0].slices),
            ("d", 1, 1)
        );
        assert_eq!(harness.existing, existing[..1]);
        assert_eq!(order(&harness.sync()), "");
        harness.desired[0].1 = port(90);
        assert_eq!(order(&harness.sync()), "u");
        assert_eq!(addresses(&harness.existing), ["10.0.0.1", "10.0.0.2"]);
    }
    // No endpoint was published, and none can be: the owner has a placeholder.
    let mut harness = Harness::of(&invalid, pods(1..3));
    assert_eq!(
        (order(&harness.sync()).as_str(), order(&harness.sync()).as_str()),
        ("c", "")
    );
}

/// Invalid copied labels are omitted one by one.
#[test]
fn invalid_copied_labels_are_rejected() {
    let long = "a".repeat(64);
    let mut harness = Harness::of(&port(80), pods(0..1));
    harness.policy = policy(&[("long", &long), ("odd", "a b"), ("k e y", "v"), ("fine", &long[..63])]);
    for expected in ["c", ""] {
        let plan = harness.sync();
        assert_eq!(
            rejected(&plan),
            [
                "label \"k e y\" is rejected: its key is not a qualified name",
                "label \"long\" is rejected: its value of 64 characters exceeds the limit of 63",
                "label \"odd\" is rejected: its value \"a b\" is not a valid label value",
            ]
        );
        assert_eq!(order(&plan), expected);
    }
    let labels = harness.existing[0].metadata.labels.as_ref().unwrap();
    assert!(labels.contains_key("fine") && !labels.contains_key("long"));
}

/// The errors of invalid owners, for which nothing is written (T-GX-03, G10, G34).
#[test]
fn invalid_owners_are_errors() {
    let long = "a".repeat(64);
    let harness = || Harness::of(&port(80), pods(0..1)).with(existing_slices(&[&pods(0..1)], &port(80)));
    let error = |change: &dyn Fn(&mut Harness<'_>)| {
        let mut harness = harness();
        change(&mut harness);
        harness.try_plan().unwrap_err()
    };
    assert_eq!(
        error(&|harness| harness.address_types = vec![AddressType::IPv6]),
        PlanError::UnsupportedType(AddressType::IPv4)
    );
    let message = error(&|harness| harness.owner.uid = "").to_string();
    assert_eq!(
        message,
        "Service ns/foo has no uid: read it from the API server before planning for it"
    );
    let message = error(&|harness| harness.owner.name = "").to_string();
    assert_eq!(
        message,
        "Service \"ns/\" has no name or no namespace: pass the metadata of a namespaced object"
    );
    assert!(matches!(
        error(&|harness| harness.owner.namespace = ""),
        PlanError::NoName { .. }
    ));
    let message = error(&|harness| harness.owner.kind = "").to_string();
    assert_eq!(
        message,
        "\"ns/foo\" has no kind or no API version: pass both, because typed objects carry neither"
    );
    assert!(matches!(
        error(&|harness| harness.owner.api_version = ""),
        PlanError::NoKind { .. }
    ));
    let too_long = |key: &str| PlanError::Label {
        key: key.to_owned(),
        reason: InvalidLabel::TooLong(64),
    };
    let too_long_label = |harness: &mut Harness<'_>| {
        harness.policy.managed_labels.insert("owner".into(), Some(long.clone()));
    };
    assert_eq!(error(&too_long_label), too_long("owner"));
    let partition = [("cluster", long.as_str())];
    let mut partitioned = harness();
    partitioned.partition = Partition(&partition);
    assert_eq!(partitioned.try_plan(), Err(too_long("cluster")));
    let harness = harness();
    for (prefix, is_valid) in [
        ("", true),
        ("a.b-", true),
        ("-", false),
        ("Foo-", false),
        ("a/b-", false),
    ] {
        let mut request = harness.request();
        request.name_prefix = prefix;
        let plan = slice_reconciler::plan(request, &harness.options);
        assert_eq!(
            plan.err(),
            (!is_valid).then(|| PlanError::NamePrefix(prefix.to_owned()))
        );
    }
}

/// A removed endpoint makes room for another in the same plan (F25, I6).
#[test]
fn with_one_slice_per_group_a_rejected_endpoint_makes_room() {
    let mut harness = Harness::of(&port(80), pods(0..2)).with(existing_slices(&[&[changed(|_| {})]], &port(80)));
    harness.desired[0]
        .2
        .push(changed(|e| e.node_name = Some("Not a name".into())));
    harness.options = one_per_group(1);
    let plan = harness.sync();
    assert_eq!((order(&plan).as_str(), plan.rejected.len()), ("u", 2));
    assert_eq!(harness.existing[0].endpoints, [pod(0, true)]);
    assert_eq!(order(&harness.sync()), "");
}
