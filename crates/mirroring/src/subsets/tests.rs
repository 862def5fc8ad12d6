use super::*;
use crate::testing::{endpoints, ports};

/// The canonical subsets, each address as it was first seen.
fn repack(written: &str) -> String {
    let endpoints = endpoints(written);
    let subsets = Subsets::read(&endpoints);
    let word = |member: &Member| {
        let source = &subsets.sources[member.source];
        let mark = if member.ready { "" } else { "!" };
        let target = match source
            .target
            .as_ref()
            .map(|target| (&target.identity().uid, &target.identity().name))
        {
            None => String::new(),
            Some((None, Some(name))) => format!("@{name}"),
            Some((uid, None)) => format!("/{}", uid.as_deref().unwrap_or_default()),
            Some((Some(uid), Some(name))) => format!("/{uid}@{name}"),
        };
        format!("{mark}{}{target}", source.address)
    };
    let line = |subset: &Subset| {
        let members: Vec<String> = subset.members.iter().map(word).collect();
        format!("{} :{}", members.join(" "), ports(&subset.ports))
    };
    subsets.canonical.iter().map(line).collect::<Vec<_>>().join("; ")
}

fn assert_repacked(rows: &[(&str, &str, &str)]) {
    for (id, written, expected) in rows {
        assert_eq!(repack(written), *expected, "{id}");
    }
}

#[test]
fn t_rpk_01_to_13_and_15_what_is_canonical_stays() {
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
fn t_rpk_14_to_22_what_is_said_twice_is_kept_once() {
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
            "M50: the first in the object, also for another port",
            "1.2.3.4@foo :111; 1.2.3.4@bar 5.6.7.8 :222",
            "1.2.3.4@foo :111; 1.2.3.4@foo 5.6.7.8 :222",
        ),
        ("M47: no target is an empty uid", "1.2.3.4 1.2.3.4/ :1", "1.2.3.4 :1"),
        ("M47: as written", "1.2.3.4@a 01.2.3.4@b :1", "1.2.3.4@b 1.2.3.4@a :1"),
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
            "M48: presence counts",
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

/// M49, M52: addresses without ports, and ports that none can be.
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
        ("no number", "1.1.1.1 :0; 1.1.1.1 :-1; 1.1.1.1 :65536", "1.1.1.1 :"),
        ("the last number", "1.1.1.1 :65535", "1.1.1.1 :65535"),
    ]);
}

#[test]
fn the_order_of_subsets_does_not_matter() {
    let one = "1.2.3.4 !1.1.1.1 :b/2 a/1; 1.2.3.4 :c/3; fd00::1 :";
    let other = "fd00::1 :; 1.2.3.4 :c/3; 1.2.3.4 !1.1.1.1 :a/1 b/2";
    assert_eq!(repack(one), repack(other));
    assert_eq!(Subsets::read(&endpoints(one)), Subsets::read(&endpoints(other)));
}

/// The API server fills in what is left out; objects that never met it are read as if they had.
#[test]
fn a_protocol_left_out_is_tcp() {
    assert_repacked(&[
        (
            "left out, spelled out",
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
