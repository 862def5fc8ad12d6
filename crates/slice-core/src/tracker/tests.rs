//! The upstream catalogue: service-slices.md §23.5, and the same rows of generic-reconciler.md and mirroring.md.

use super::*;

type Given = fn(&mut SliceTracker<Set>);
type Set = (&'static str, &'static str);

const HOME: Set = ("ns1", "svc1");
const OTHER_NAMESPACE: Set = ("ns2", "svc1");
const OTHER_SERVICE: Set = ("ns1", "svc2");

const ORIGINAL: SliceVersion<'_> = version("original", 1);
const NEWER: SliceVersion<'_> = version("original", 2);
const IN_OTHER_NAMESPACE: SliceVersion<'_> = version("diff-ns", 1);
const OF_OTHER_SERVICE: SliceVersion<'_> = version("diff-svc", 1);

const fn version(uid: &str, generation: i64) -> SliceVersion<'_> {
    SliceVersion {
        uid,
        generation,
        terminating: false,
    }
}

fn tracking_original() -> SliceTracker<Set> {
    let mut tracker = SliceTracker::new();
    tracker.update(&HOME, ORIGINAL);
    tracker
}

/// Has, should sync.
fn check(tracker: &SliceTracker<Set>, set: &Set, slice: SliceVersion<'_>) -> (bool, bool) {
    (tracker.has(set, slice.uid), tracker.should_sync(set, slice))
}

/// R117…R119, R121, M38…M40.
#[test]
fn what_was_written_is_known_and_only_newer_generations_are_news() {
    for (id, set, slice, expected) in [
        ("T-TRK-01 T-GTRK-01", HOME, ORIGINAL, (true, false)),
        ("T-TRK-02 T-GTRK-02", OTHER_NAMESPACE, IN_OTHER_NAMESPACE, (false, true)),
        ("T-TRK-03 T-GTRK-03", OTHER_SERVICE, OF_OTHER_SERVICE, (false, true)),
        ("T-TRK-04 T-GTRK-04", HOME, NEWER, (true, true)),
    ] {
        let tracker = tracking_original();
        assert_eq!(check(&tracker, &set, slice), expected, "{id}");
        assert_eq!(
            tracker.expected(&HOME, "original"),
            Some(Expected::Generation(1)),
            "{id}"
        );
    }
}

/// R123, M42.
#[test]
fn a_list_is_stale_when_it_does_not_show_our_writes_yet() {
    let nothing = |_: &mut SliceTracker<Set>| {};
    let emptied = |tracker: &mut SliceTracker<Set>| {
        tracker.update(&HOME, ORIGINAL);
        tracker.handle_deletion("original");
    };
    let wrote_original = |tracker: &mut SliceTracker<Set>| tracker.update(&HOME, ORIGINAL);
    let wrote_newer = |tracker: &mut SliceTracker<Set>| tracker.update(&HOME, NEWER);
    let deleted = |tracker: &mut SliceTracker<Set>| tracker.expect_deletion(&HOME, "original");

    let rows: [(&str, Given, &[SliceVersion<'_>], bool); 8] = [
        ("T-TRK-05 T-STL-01", nothing, &[], false),
        ("T-TRK-06 T-STL-02", emptied, &[], false),
        ("T-TRK-07 T-STL-03", wrote_original, &[ORIGINAL], false),
        ("T-TRK-08 T-STL-04", wrote_newer, &[ORIGINAL], true),
        ("T-TRK-09 T-STL-05", wrote_original, &[NEWER], false),
        ("T-TRK-10 T-STL-06", deleted, &[ORIGINAL], true),
        ("T-TRK-11 T-STL-07", wrote_original, &[], true),
        (
            "R123: slices nobody wrote are fine",
            wrote_original,
            &[OF_OTHER_SERVICE, ORIGINAL],
            false,
        ),
    ];
    for (id, given, listed, stale) in rows {
        let mut tracker = SliceTracker::new();
        given(&mut tracker);
        assert_eq!(tracker.stale(&HOME, listed.iter().copied()), stale, "{id}");
    }
}

/// R120, R124, M41.
#[test]
fn a_deletion_is_expected_once_it_was_announced() {
    let namespace = (OTHER_NAMESPACE, IN_OTHER_NAMESPACE);
    let service = (OTHER_SERVICE, OF_OTHER_SERVICE);
    let original = (HOME, ORIGINAL);
    let newer = (HOME, NEWER);
    for (id, announced, checked, expected, deletion) in [
        (
            "T-TRK-12 T-TDL-01",
            original,
            original,
            (true, true),
            ObservedDeletion::Expected,
        ),
        (
            "T-TRK-13 T-TDL-02",
            namespace,
            namespace,
            (true, true),
            ObservedDeletion::Unexpected(HOME),
        ),
        (
            "T-TRK-14 T-TDL-03",
            namespace,
            original,
            (true, false),
            ObservedDeletion::Unexpected(HOME),
        ),
        (
            "T-TRK-15 T-TDL-04",
            service,
            service,
            (true, true),
            ObservedDeletion::Unexpected(HOME),
        ),
        (
            "T-TRK-16 T-TDL-05",
            service,
            original,
            (true, false),
            ObservedDeletion::Unexpected(HOME),
        ),
        (
            "T-TRK-17 T-TDL-06",
            newer,
            newer,
            (true, true),
            ObservedDeletion::Expected,
        ),
        (
            "T-TRK-18 T-TDL-07",
            newer,
            original,
            (true, true),
            ObservedDeletion::Expected,
        ),
    ] {
        let mut tracker = tracking_original();
        tracker.expect_deletion(&announced.0, announced.1.uid);
        assert_eq!(check(&tracker, &checked.0, checked.1), expected, "{id}");
        assert_eq!(tracker.handle_deletion("original"), deletion, "{id}");
        assert!(!tracker.has(&HOME, "original"), "{id}");
    }
}

/// R122, M44.
#[test]
fn forgetting_a_set_leaves_the_others() {
    for (id, forgotten, expected) in [
        ("T-TRK-19 T-TDS-01", HOME, (false, true)),
        ("T-TRK-20 T-TDS-02", OTHER_NAMESPACE, (true, false)),
        ("T-TRK-21 T-TDS-03", OTHER_SERVICE, (true, false)),
    ] {
        let mut tracker = tracking_original();
        tracker.forget(&forgotten);
        assert_eq!(check(&tracker, &HOME, ORIGINAL), expected, "{id}");
        assert_eq!(tracker.len(), usize::from(expected.0), "{id}");
    }
}

#[test]
fn t_gx_11_owners_of_one_name_and_two_kinds_are_kept_apart() {
    let service = ("Service", "ns", "foo");
    let selector = ("EndpointSelector", "ns", "foo");
    let mut tracker = SliceTracker::new();
    tracker.update(&service, version("a", 1));
    tracker.update(&selector, version("b", 1));

    assert!(!tracker.stale(&service, [version("a", 1)]));
    assert!(!tracker.stale(&selector, [version("b", 1)]));
    tracker.forget(&selector);
    assert!(tracker.has(&service, "a"));
    assert!(!tracker.has(&selector, "b"));
}

#[test]
fn m43_a_deletion_is_expected_unexpected_or_unknown() {
    let mut tracker = SliceTracker::new();
    tracker.update(&HOME, version("ours", 1));
    tracker.update(&HOME, version("theirs", 1));
    tracker.expect_deletion(&HOME, "ours");

    assert_eq!(tracker.handle_deletion("ours"), ObservedDeletion::Expected);
    assert_eq!(tracker.handle_deletion("theirs"), ObservedDeletion::Unexpected(HOME));
    assert_eq!(tracker.handle_deletion("theirs"), ObservedDeletion::Unknown);
    assert!(tracker.is_empty());
}
