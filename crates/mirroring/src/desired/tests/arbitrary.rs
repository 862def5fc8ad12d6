use std::collections::BTreeSet;

use super::*;

const ADDRESSES: [&str; 10] = [
    "10.0.0.1",
    "010.0.0.1",
    "10.0.0.2/u",
    "10.0.0.2/u@p",
    "fd00::1",
    "::ffff:10.0.0.1",
    "127.0.0.1",
    "%",
    "::",
    "1.2.3",
];
const PORTS: [&str; 9] = [
    "80",
    "81",
    "a/80",
    "a/81",
    "b/80/UDP",
    "b/80~",
    "0",
    "-2147483648",
    "2147483647",
];

/// Whatever is written: no panic, the object is as it was, and what is wanted keeps the rules.
#[test]
fn arbitrary_objects_are_read() {
    let mut random = fastrand::Rng::with_seed(4);
    for round in 0..2000 {
        let subsets: Vec<String> = (0..round % 5).map(|_| subset(&mut random)).collect();
        let description = subsets.join(";");
        let written = endpoints(&description);
        let untouched = written.clone();
        let subsets = Subsets::read(&written);
        let cap = 1 + round % 4;
        let desired = subsets.desired(max(cap));
        check_groups(&desired.groups, cap, &description);
        check_counts(&subsets, &desired, cap, &description);
        assert_eq!(written, untouched);
    }
}

fn subset(random: &mut fastrand::Rng) -> String {
    let mut words = |mark: &str, from: &[&str]| -> String {
        let words: Vec<String> = (0..random.usize(..6))
            .map(|_| format!("{mark}{}", from[random.usize(..from.len())]))
            .collect();
        words.join(" ")
    };
    format!(
        "{} {} :{}",
        words("", &ADDRESSES),
        words("!", &ADDRESSES),
        words("", &PORTS)
    )
}

/// M67, M69, I3.
fn check_groups(groups: &[Group<'_>], cap: usize, description: &str) {
    let keys: BTreeSet<_> = groups.iter().map(|group| (&group.ports, group.address_type)).collect();
    assert_eq!(keys.len(), groups.len(), "each group once: {description}");
    for families in groups.chunks(2) {
        assert_eq!(families[0].ports, families[1].ports, "{description}");
        let endpoints: usize = families.iter().map(|group| group.endpoints.len()).sum();
        assert!(endpoints <= cap, "{description}");
        let ports = families[0].ports.ports();
        let names: BTreeSet<_> = ports.iter().map(|port| &port.name).collect();
        assert_eq!(names.len(), ports.len(), "names are unique: {description}");
    }
}

/// M57, M71: each port is in one subset, and every address is either wanted or named.
fn check_counts(subsets: &Subsets, desired: &Desired<'_>, cap: usize, description: &str) {
    let ports: Vec<&Port> = subsets.canonical.iter().flat_map(|subset| &subset.ports).collect();
    let unique: BTreeSet<&Port> = ports.iter().copied().collect();
    assert_eq!(unique.len(), ports.len(), "each port once: {description}");
    let skipped = |subset: &Subset| {
        let publishable = |member: &&Member| subsets.sources[member.source].refused.is_none();
        subset.members.len() - subset.members.iter().filter(publishable).count().min(cap)
    };
    let expected: usize = subsets.canonical.iter().map(skipped).sum();
    assert_eq!(desired.skipped, expected, "{description}");
    let named = desired
        .left_out
        .iter()
        .filter(|left_out| matches!(left_out, LeftOut::Address { .. }));
    assert_eq!(named.count(), expected, "{description}");
    assert!(desired.invalid <= expected, "{description}");
}
