//! What the API server would refuse is left out and named; the rest goes on (F25, R143–R146).

use slice_core::{Address, AddressType, Endpoint, Port, PortMapKey};
use slice_reconciler::{InvalidLabel, Partition, PlanError, Rejected};

use crate::support::{Ask, addresses, at, named_port, one_per_group, order, pod, pods, policy, port, rejected, stored};

fn changed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let mut endpoint = pod(7, true);
    change(&mut endpoint);
    endpoint
}

/// Groups with one bad endpoint: the type, the endpoint, and why it is left out.
fn bad_endpoints() -> Vec<(AddressType, Endpoint, String)> {
    let (v4, v6, fqdn) = (AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn);
    let wrong_type = |address_type, text: &str| {
        let reason = format!("{text:?} is not an address of that type, or not in its canonical form");
        (address_type, at(text), reason)
    };
    let cannot = |address_type, text: &str, reason: &str| {
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
        cannot(v4, "127.0.0.1", "a loopback address"),
        cannot(v4, "0.0.0.0", "the unspecified address"),
        cannot(v4, "169.254.0.1", "a link-local address"),
        cannot(v6, "fe80::1", "a link-local address"),
        cannot(fqdn, "localhost", "not a domain name of two labels or more"),
        cannot(fqdn, "a b.example.com", "not a domain name of two labels or more"),
        other(changed(|e| e.addresses.clear()), "it has no address"),
        other(with_addresses(101), "it has 101 addresses, and 100 is the most"),
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

/// The others are published; the second sync has nothing to write, and still says what is missing.
#[test]
fn bad_endpoints_are_left_out_one_by_one() {
    for (address_type, bad, reason) in bad_endpoints() {
        let good = at(match address_type {
            AddressType::IPv4 => "10.0.0.99",
            AddressType::IPv6 => "fd00::99",
            AddressType::Fqdn => "db.example.com",
        });
        for options in [crate::support::options(100), one_per_group(100)] {
            let mut ask = Ask {
                supported: vec![address_type],
                groups: vec![(address_type, port(80), vec![bad.clone(), good.clone()])],
                options,
                ..Ask::default()
            };
            for expected in ["c", ""] {
                let plan = ask.sync();
                assert_eq!(order(&plan), expected, "{reason}");
                let [
                    Rejected::Endpoint {
                        endpoint, reason: said, ..
                    },
                ] = &plan.rejected[..]
                else {
                    panic!("{reason}: {:?}", plan.rejected);
                };
                assert_eq!((&**endpoint, said.to_string()), (&bad, reason.clone()));
                let summary = plan.stats[0];
                assert_eq!(
                    (summary.endpoints, summary.changes.added),
                    (1, expected.len()),
                    "{reason}"
                );
            }
            assert_eq!(ask.existing[0].endpoints, std::slice::from_ref(&good), "{reason}");
        }
    }
    let mut fine = Ask::of(&port(80), [with_addresses(100), pod(1, true)]);
    assert_eq!(fine.sync().rejected, []);
}

/// An endpoint is named by what is behind it and where it is.
#[test]
fn what_is_left_out_can_be_told_to_a_person() {
    let ask = Ask::of(
        &port(80),
        [
            at("::1"),
            changed(|e| e.node_name = Some("a b".into())),
            changed(|e| e.addresses.clear()),
        ],
    );
    let mut said = rejected(&ask.plan());
    said.sort();
    assert_eq!(
        said,
        [
            "IPv4 endpoint \"10.0.0.7\" of pod-7 is left out: its node name \"a b\" is not a DNS name",
            "IPv4 endpoint \"::1\" is left out: \"::1\" is not an address of that type, or not in its canonical form",
            "IPv4 endpoint of pod-7 is left out: it has no address",
        ]
    );
}

/// One endpoint is left out and removed by an update, these stay, and that is all.
fn assert_one_goes(ask: &mut Ask<'_>, staying: [&str; 2]) {
    let plan = ask.sync();
    let removed = plan.stats[0].changes.removed;
    assert_eq!((order(&plan).as_str(), plan.rejected.len(), removed), ("u", 1, 1));
    assert_eq!(addresses(&ask.existing), staying);
    assert_eq!(order(&ask.sync()), "");
}

/// What was published and turns bad goes, because it is not known how it is; what is stored and stays as it is stays.
#[test]
fn an_endpoint_that_turns_bad_is_removed() {
    for options in [crate::support::options(100), one_per_group(100)] {
        let mut ask = Ask::of(&port(80), pods(6..9)).with(stored(&[&pods(6..9)], &port(80)));
        ask.options = options;
        ask.groups[0].2[1] = changed(|e| e.node_name = Some("a b".into()));
        assert_one_goes(&mut ask, ["10.0.0.6", "10.0.0.8"]);
    }
}

/// R144: what an older API server took and a newer one would not is not looked at until its list changes; then it goes, or the
/// whole slice would be refused.
#[test]
fn a_bad_endpoint_that_is_stored_goes_with_the_next_change() {
    for options in [crate::support::options(100), one_per_group(100)] {
        let bad = at("010.0.0.1");
        let mut existing = stored(&[&pods(1..2)], &port(80));
        existing[0].endpoints.push(bad.clone());
        let mut ask = Ask::of(&port(80), [pod(1, true), bad]).with(existing);
        ask.options = options;
        let plan = ask.sync();
        assert_eq!((order(&plan).as_str(), plan.rejected), ("", vec![]));
        ask.groups[0].2.push(pod(2, true));
        assert_one_goes(&mut ask, ["10.0.0.1", "10.0.0.2"]);
    }
}

/// A group with bad ports: nothing is written for it, other groups go on.
#[test]
fn f25_a_group_with_invalid_ports_is_rejected() {
    let odd = |change: fn(&mut Port)| {
        let mut port = named_port("a", 80);
        change(&mut port);
        PortMapKey::new([port])
    };
    let numbered = |count: i32| PortMapKey::new((0..count).map(|n| named_port(&format!("p{n}"), n)));
    for (ports, reason) in [
        (numbered(20_001), "there are 20001 ports, and 20000 is the most"),
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
        let mut ask = Ask::of(&port(80), pods(0..2));
        ask.groups.push((AddressType::IPv4, ports, pods(2..5)));
        let plan = ask.sync();
        assert_eq!(rejected(&plan), [format!("3 IPv4 endpoints are left out: {reason}")]);
        assert_eq!((order(&plan).as_str(), plan.stats[0].endpoints), ("c", 2));
        assert_eq!(addresses(&ask.existing), ["10.0.0.0", "10.0.0.1"]);
        assert_eq!(order(&ask.sync()), "");
        ask.groups[1].2.clear();
        assert_eq!(ask.sync().rejected, [], "nobody is left out");
    }
    let mut fine = Ask::of(&numbered(20_000), pods(0..1));
    assert_eq!(fine.sync().rejected, []);
}

/// I4: a slice whose ports others still have keeps what a bad group wants of it, too; also where nobody is left of the others.
#[test]
fn f25_a_group_whose_ports_become_invalid_stays_in_slices_of_others() {
    let bad = PortMapKey::new([named_port("a", 1), named_port("a", 2)]);
    for options in [crate::support::options(100), one_per_group(100)] {
        for (others, expected) in [
            (pods(0..2), vec!["10.0.0.0", "10.0.0.1", "10.0.0.2"]),
            (pods(0..1), vec!["10.0.0.0", "10.0.0.2"]),
            (vec![], vec!["10.0.0.2"]),
        ] {
            let mut ask = Ask::of(&port(80), others).with(stored(&[&pods(0..3)], &port(80)));
            ask.options = options;
            ask.groups.push((AddressType::IPv4, bad.clone(), pods(2..4)));
            let plan = ask.sync();
            assert_eq!(
                rejected(&plan),
                ["2 IPv4 endpoints are left out: two ports have the name \"a\""]
            );
            assert_eq!(addresses(&ask.existing), expected);
            assert_eq!(order(&ask.sync()), "");
        }
    }
}

/// I4: slices that hold what a bad group wants stay as they are, under the ports they had; what nobody wants goes; and there is
/// no placeholder beside them. Once the ports are right, all is as it should be.
#[test]
fn f25_a_group_whose_ports_become_invalid_keeps_its_slices() {
    let bad = PortMapKey::new([named_port("a", 1), named_port("a", 2)]);
    let mut existing = stored(&[&pods(0..3), &pods(3..6)], &port(80));
    existing[1].ports = port(81);
    for options in [crate::support::options(100), one_per_group(100)] {
        let mut ask = Ask::of(&bad, pods(1..3)).with(existing.clone());
        ask.options = options;
        let plan = ask.sync();
        assert_eq!(
            (order(&plan).as_str(), plan.rejected.len(), plan.stats[0].slices),
            ("d", 1, 1)
        );
        assert_eq!(ask.existing, existing[..1]);
        assert_eq!(order(&ask.sync()), "");
        ask.groups[0].1 = port(90);
        assert_eq!(order(&ask.sync()), "u");
        assert_eq!(addresses(&ask.existing), ["10.0.0.1", "10.0.0.2"]);
    }
    // Nothing was published, nothing can be: the owner has a placeholder.
    let mut ask = Ask::of(&bad, pods(1..3));
    assert_eq!((order(&ask.sync()).as_str(), order(&ask.sync()).as_str()), ("c", ""));
}

/// Labels of the owner that no object may have are left out one by one.
#[test]
fn bad_labels_of_the_owner_are_left_out() {
    let long = "a".repeat(64);
    let mut ask = Ask::of(&port(80), pods(0..1));
    ask.policy = policy(&[("long", &long), ("odd", "a b"), ("k e y", "v"), ("fine", &long[..63])]);
    for expected in ["c", ""] {
        let plan = ask.sync();
        assert_eq!(
            rejected(&plan),
            [
                "label \"k e y\" is left out: its key is not a qualified name",
                "label \"long\" is left out: its value has 64 characters, and 63 is the most",
                "label \"odd\" is left out: its value \"a b\" has characters that a label cannot have, or not at its ends",
            ]
        );
        assert_eq!(order(&plan), expected);
    }
    let labels = ask.existing[0].metadata.labels.as_ref().unwrap();
    assert!(labels.contains_key("fine") && !labels.contains_key("long"));
}

/// Owners that cannot be planned for, each for its reason; nothing is written for them (T-GX-03, G10, G34).
#[test]
fn owners_that_are_left_out_as_a_whole() {
    let long = "a".repeat(64);
    let ask = || Ask::of(&port(80), pods(0..1)).with(stored(&[&pods(0..1)], &port(80)));
    let error = |change: &dyn Fn(&mut Ask<'_>)| {
        let mut ask = ask();
        change(&mut ask);
        ask.try_plan().unwrap_err()
    };
    assert_eq!(
        error(&|ask| ask.supported = vec![AddressType::IPv6]),
        PlanError::UnsupportedType(AddressType::IPv4)
    );
    let said = error(&|ask| ask.owner.uid = "").to_string();
    assert_eq!(
        said,
        "Service ns/foo has no uid: read it from the API server before planning for it"
    );
    let said = error(&|ask| ask.owner.name = "").to_string();
    assert_eq!(
        said,
        "Service \"ns/\" lacks a name or a namespace: slices are only made for objects that have both"
    );
    assert!(matches!(
        error(&|ask| ask.owner.namespace = ""),
        PlanError::NoName { .. }
    ));
    let said = error(&|ask| ask.owner.kind = "").to_string();
    assert_eq!(
        said,
        "\"ns/foo\" has no kind or no API version: say both, as objects read by type know neither"
    );
    assert!(matches!(
        error(&|ask| ask.owner.api_version = ""),
        PlanError::NoKind { .. }
    ));
    let too_long = |key: &str| PlanError::Label {
        key: key.to_owned(),
        reason: InvalidLabel::TooLong(64),
    };
    let found_by = |ask: &mut Ask<'_>| {
        ask.policy.reserved.insert("owner".into(), Some(long.clone()));
    };
    assert_eq!(error(&found_by), too_long("owner"));
    let partition = [("cluster", long.as_str())];
    let mut partitioned = ask();
    partitioned.partition = Partition(&partition);
    assert_eq!(partitioned.try_plan(), Err(too_long("cluster")));
    let ask = ask();
    for (prefix, fits) in [
        ("", true),
        ("a.b-", true),
        ("-", false),
        ("Foo-", false),
        ("a/b-", false),
    ] {
        let mut request = ask.request();
        request.name_prefix = prefix;
        let plan = slice_reconciler::plan(request, &ask.options);
        assert_eq!(plan.err(), (!fits).then(|| PlanError::NamePrefix(prefix.to_owned())));
    }
}

/// F25, I6: what a slice loses makes room for others at once, and not only in the next plan.
#[test]
fn with_one_slice_per_group_what_is_left_out_makes_room() {
    let mut ask = Ask::of(&port(80), pods(0..2)).with(stored(&[&[changed(|_| {})]], &port(80)));
    ask.groups[0]
        .2
        .push(changed(|e| e.node_name = Some("Not a name".into())));
    ask.options = one_per_group(1);
    let plan = ask.sync();
    assert_eq!((order(&plan).as_str(), plan.rejected.len()), ("u", 2));
    assert_eq!(ask.existing[0].endpoints, [pod(0, true)]);
    assert_eq!(order(&ask.sync()), "");
}
