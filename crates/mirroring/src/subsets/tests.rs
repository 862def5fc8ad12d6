use super::*;
use crate::fixtures::{endpoints, ports};

/// Returns the canonical subsets in the notation of the fixtures.
fn repack(subsets: &str) -> String {
    let endpoints = endpoints(subsets);
    let subsets = Subsets::read(&endpoints);
    let format_member = |member: &Member| {
        let address = &subsets.addresses[member.address];
        let mark = if member.ready { "" } else { "!" };
        let target = match address
            .target
            .as_ref()
            .map(|target| (&target.identity().uid, &target.identity().name))
        {
            None => String::new(),
            Some((None, Some(name))) => format!("@{name}"),
            Some((uid, None)) => format!("/{}", uid.as_deref().unwrap_or_default()),
            Some((Some(uid), Some(name))) => format!("/{uid}@{name}"),
        };
        format!("{mark}{}{target}", address.address)
    };
    let format_subset = |subset: &Subset| {
        let members: Vec<String> = subset.members.iter().map(format_member).collect();
        format!("{} :{}", members.join(" "), ports(&subset.ports))
    };
    subsets
        .canonical
        .iter()
        .map(format_subset)
        .collect::<Vec<_>>()
        .join("; ")
}

fn assert_repacked(rows: &[(&str, &str, &str)]) {
    for (id, subsets, expected) in rows {
        assert_eq!(repack(subsets), *expected, "{id}");
    }
}

#[test]
fn t_rpk_01_to_13_and_15_canonical_subsets_are_unchanged() {
    assert_repacked(&[
        ("T-RPK-01", " :", ""),
        ("T-RPK-02", " :111", ""),
        ("T-RPK-03", "1.2.3.4 :", "1.2.3.4 :"),
        ("T-RPK-04", "!1.2.3.4 :", "!1.2.3.4 :"),
        ("T-RPK-05", "1.2.3.4 :111", "1.2.3.4 :111"),
        ("T-RPK-06", "beef::1:2:3:4 :111", "beef::1:2:3:4 :111"),
        ("T-RPK-07", "!1.2.3.4 :111", "!1.2.3.4 :111"),
        ("T-RPK-08", "1.2.3.4/uid-1 :111", "1.2.3.4/uid-1 :111"),
        ("T-RPK-09", "!1.2.3.4/uid-1 :111", "!1.2.3.4/uid-1 :111"),
        ("T-RPK-10", "1.2.3.4/ :111", "1.2.3.4/ :111"),
        ("T-RPK-11", "!1.2.3.4/ :111", "!1.2.3.4/ :111"),
        ("T-RPK-12", "1.2.3.4 5.6.7.8 :111", "1.2.3.4 5.6.7.8 :111"),
        ("T-RPK-13", "1.2.3.4 !5.6.7.8 :111", "1.2.3.4 !5.6.7.8 :111"),
        ("T-RPK-15", "1.2.3.4 :111 222", "1.2.3.4 :111 222"),
    ]);
}

#[test]
fn t_rpk_14_to_22_duplicates_are_merged() {
    assert_repacked(&[
        ("T-RPK-14", "1.2.3.4 !1.2.3.4 :111", "!1.2.3.4 :111"),
        ("T-RPK-16", "1.2.3.4 1.2.3.4 :111", "1.2.3.4 :111"),
        ("T-RPK-17", "beef::1 beef::1 :111", "beef::1 :111"),
        ("T-RPK-18", "1.2.3.4@foo 1.2.3.4@bar :111", "1.2.3.4@foo :111"),
        ("T-RPK-19", "1.2.3.4@foo !1.2.3.4@bar :111", "!1.2.3.4@foo :111"),
        ("T-RPK-20", "1.2.3.4 :111 111", "1.2.3.4 :111"),
        ("T-RPK-21", "1.2.3.4 :111; 1.2.3.4 :111", "1.2.3.4 :111"),
        ("T-RPK-22", "1.2.3.4 :111; !1.2.3.4 :111", "!1.2.3.4 :111"),
        ("M51", "!1.2.3.4 :111; 1.2.3.4 :111", "!1.2.3.4 :111"),
        (
            "M50: the first occurrence in the object, also for another port",
            "1.2.3.4@foo :111; 1.2.3.4@bar 5.6.7.8 :222",
            "1.2.3.4@foo :111; 1.2.3.4@foo 5.6.7.8 :222",
        ),
        (
            "M47: no target equals an empty uid",
            "1.2.3.4 1.2.3.4/ :1",
            "1.2.3.4 :1",
        ),
        (
            "M47: different text, different address",
            "1.2.3.4@a 01.2.3.4@b :1",
            "1.2.3.4@b 1.2.3.4@a :1",
        ),
        (
            "D4, T-MIR-N05",
            "1.1.1.1 :p/80~http; 1.1.1.1 :p/80~http",
            "1.1.1.1 :p/80~http",
        ),
        (
            "D4, T-MIR-N06",
            "1.1.1.1 :p/80~http; !1.1.1.1 :p/80~http",
            "!1.1.1.1 :p/80~http",
        ),
        (
            "M48: an empty appProtocol differs from none",
            "1.1.1.1 :p/80~; 1.1.1.2 :p/80",
            "1.1.1.2 :p/80; 1.1.1.1 :p/80~",
        ),
    ]);
}

#[test]
fn t_rpk_23_to_33_ports_of_the_same_addresses_are_joined() {
    let by_uid = "5.6.7.8 :111; 5.6.7.8/uid-1 :111; 1.2.3.4/uid-1 :111; 1.2.3.4 :111";
    let one_ready = "5.6.7.8 :111; !5.6.7.8/uid-1 :111; !1.2.3.4/uid-1 :111; !1.2.3.4 :111";
    let interleaved = "1.2.3.4 :111; 1.2.3.5 :222; 1.2.3.6 :111; 1.2.3.5 :333";
    let not_ready = "1.2.3.4 :111; !1.2.3.5 :222; 1.2.3.6 :111; !1.2.3.5 :333";
    assert_repacked(&[
        ("T-RPK-23", "1.2.3.4 :111; 1.2.3.4 :222", "1.2.3.4 :111 222"),
        (
            "T-RPK-24",
            "1.2.3.4/uid-1 :111; 1.2.3.4/uid-1 :222",
            "1.2.3.4/uid-1 :111 222",
        ),
        (
            "T-RPK-25",
            "1.2.3.4/uid-1 :111; !1.2.3.4/uid-1 :222",
            "1.2.3.4/uid-1 :111; !1.2.3.4/uid-1 :222",
        ),
        ("T-RPK-26", "1.2.3.4 :111; 5.6.7.8 :111", "1.2.3.4 5.6.7.8 :111"),
        (
            "T-RPK-27",
            "1.2.3.4/uid-1 :111; 1.2.3.4/uid-2 :111",
            "1.2.3.4/uid-1 1.2.3.4/uid-2 :111",
        ),
        (
            "T-RPK-28",
            "1.2.3.4/uid-2 :111; 1.2.3.4 :111",
            "1.2.3.4 1.2.3.4/uid-2 :111",
        ),
        ("T-RPK-29", by_uid, "1.2.3.4 1.2.3.4/uid-1 5.6.7.8 5.6.7.8/uid-1 :111"),
        (
            "T-RPK-30",
            one_ready,
            "!1.2.3.4 !1.2.3.4/uid-1 5.6.7.8 !5.6.7.8/uid-1 :111",
        ),
        ("T-RPK-31", "1.2.3.4 :111; 5.6.7.8 :222", "1.2.3.4 :111; 5.6.7.8 :222"),
        ("T-RPK-32", interleaved, "1.2.3.4 1.2.3.6 :111; 1.2.3.5 :222 333"),
        ("T-RPK-33", not_ready, "1.2.3.4 1.2.3.6 :111; !1.2.3.5 :222 333"),
        (
            "M55: bytes",
            "10.0.0.9 10.0.0.2 10.0.0.10 :1",
            "10.0.0.10 10.0.0.2 10.0.0.9 :1",
        ),
    ]);
}

/// Addresses without a port form a subset of their own (M49), unless the same addresses have a port elsewhere (M52).
#[test]
fn addresses_without_a_port_are_kept_unless_they_have_one_elsewhere() {
    assert_repacked(&[
        ("no port here", "1.1.1.1 :; 1.1.1.2 :80", "1.1.1.1 :; 1.1.1.2 :80"),
        ("a port elsewhere", "1.1.1.1 :; 1.1.1.1 :80", "1.1.1.1 :80"),
        (
            "another readiness",
            "!1.1.1.1 :; 1.1.1.1 :80",
            "!1.1.1.1 :; 1.1.1.1 :80",
        ),
        (
            "numbers out of range",
            "1.1.1.1 :0; 1.1.1.1 :-1; 1.1.1.1 :65536",
            "1.1.1.1 :",
        ),
        ("the highest number", "1.1.1.1 :65535", "1.1.1.1 :65535"),
    ]);
}

#[test]
fn the_order_of_subsets_does_not_matter() {
    let one = "1.2.3.4 !1.1.1.1 :b/2 a/1; 1.2.3.4 :c/3; fd00::1 :";
    let other = "fd00::1 :; 1.2.3.4 :c/3; 1.2.3.4 !1.1.1.1 :a/1 b/2";
    assert_eq!(repack(one), repack(other));
    assert_eq!(Subsets::read(&endpoints(one)), Subsets::read(&endpoints(other)));
}

/// The default that the API server would set applies to objects that did not pass through it.
#[test]
fn the_default_protocol_is_tcp() {
    assert_repacked(&[
        (
            "absent and explicit",
            "1.1.1.1 :p/80; 1.1.1.2 :p/80/TCP",
            "1.1.1.1 1.1.1.2 :p/80",
        ),
        ("empty", "1.1.1.1 :p/80; 1.1.1.2 :p/80/", "1.1.1.1 1.1.1.2 :p/80"),
        (
            "other",
            "1.1.1.1 :p/80; 1.1.1.2 :p/80/UDP",
            "1.1.1.1 :p/80; 1.1.1.2 :p/80/UDP",
        ),
    ]);
}
