//! Upstream's test cases: service-slices.md §23.5, and the same rows of generic-reconciler.md and mirroring.md.

use super::version;
use crate::tracker::*;

type Setup = fn(&mut SliceTracker<Set>);
type Set = (&'static str, &'static str);

const SET: Set = ("ns1", "svc1");
const OTHER_NAMESPACE: Set = ("ns2", "svc1");
const OTHER_SERVICE: Set = ("ns1", "svc2");

const ORIGINAL: SliceVersion<'_> = version("original", 1);
const NEWER: SliceVersion<'_> = version("original", 2);
const IN_OTHER_NAMESPACE: SliceVersion<'_> = version("diff-ns", 1);
const OF_OTHER_SERVICE: SliceVersion<'_> = version("diff-svc", 1);

fn tracking_original() -> SliceTracker<Set> {
    let mut tracker = SliceTracker::new();
    tracker.update(&SET, ORIGINAL);
    tracker
}

/// `has` and `should_sync`.
fn query(tracker: &SliceTracker<Set>, set: &Set, slice: SliceVersion<'_>) -> (bool, bool) {
    (tracker.has(set, slice.uid), tracker.should_sync(set, slice))
}

/// A written slice is tracked, and only a newer generation should be synced (R117…R119, R121, M38…M40).
#[test]
fn only_untracked_slices_and_newer_generations_should_sync() {
    for (id, set, slice, expected) in [
        ("T-TRK-01 T-GTRK-01", SET, ORIGINAL, (true, false)),
        ("T-TRK-02 T-GTRK-02", OTHER_NAMESPACE, IN_OTHER_NAMESPACE, (false, true)),
        ("T-TRK-03 T-GTRK-03", OTHER_SERVICE, OF_OTHER_SERVICE, (false, true)),
        ("T-TRK-04 T-GTRK-04", SET, NEWER, (true, true)),
    ] {
        let tracker = tracking_original();
        assert_eq!(query(&tracker, &set, slice), expected, "{id}");
        assert_eq!(
            tracker.expected(&SET, "original"),
            Some(Expected::Generation(1)),
            "{id}"
        );
    }
}

/// Upstream: `StaleSlices` (R123, M42).
#[test]
fn slices_are_stale_while_the_cache_lacks_our_writes() {
    let no_setup = |_: &mut SliceTracker<Set>| {};
    let deleted_by_others = |tracker: &mut SliceTracker<Set>| {
        tracker.update(&SET, ORIGINAL);
        tracker.handle_deletion("original");
    };
    let wrote_original = |tracker: &mut SliceTracker<Set>| tracker.update(&SET, ORIGINAL);
    let wrote_newer = |tracker: &mut SliceTracker<Set>| tracker.update(&SET, NEWER);
    let deleted = |tracker: &mut SliceTracker<Set>| tracker.expect_deletion(&SET, "original");

    let rows: [(&str, Setup, &[SliceVersion<'_>], bool); 8] = [
        ("T-TRK-05 T-STL-01", no_setup, &[], false),
        ("T-TRK-06 T-STL-02", deleted_by_others, &[], false),
        ("T-TRK-07 T-STL-03", wrote_original, &[ORIGINAL], false),
        ("T-TRK-08 T-STL-04", wrote_newer, &[ORIGINAL], true),
        ("T-TRK-09 T-STL-05", wrote_original, &[NEWER], false),
        ("T-TRK-10 T-STL-06", deleted, &[ORIGINAL], true),
        ("T-TRK-11 T-STL-07", wrote_original, &[], true),
        (
            "R123: slices of other writers are not stale",
            wrote_original,
            &[OF_OTHER_SERVICE, ORIGINAL],
            false,
        ),
    ];
    for (id, setup, cached, stale) in rows {
        let mut tracker = SliceTracker::new();
        setup(&mut tracker);
        assert_eq!(tracker.stale(&SET, cached.iter().copied()), stale, "{id}");
    }
}

/// Upstream: `ExpectDeletion` and `HandleDeletion` (R120, R124, M41).
#[test]
fn deletion_is_expected_after_expect_deletion() {
    let namespace = (OTHER_NAMESPACE, IN_OTHER_NAMESPACE);
    let service = (OTHER_SERVICE, OF_OTHER_SERVICE);
    let original = (SET, ORIGINAL);
    let newer = (SET, NEWER);
    for (id, (deleted_from, deleted), (set, slice), expected, deletion) in [
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
            ObservedDeletion::Unexpected(SET),
        ),
        (
            "T-TRK-14 T-TDL-03",
            namespace,
            original,
            (true, false),
            ObservedDeletion::Unexpected(SET),
        ),
        (
            "T-TRK-15 T-TDL-04",
            service,
            service,
            (true, true),
            ObservedDeletion::Unexpected(SET),
        ),
        (
            "T-TRK-16 T-TDL-05",
            service,
            original,
            (true, false),
            ObservedDeletion::Unexpected(SET),
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
        tracker.expect_deletion(&deleted_from, deleted.uid);
        assert_eq!(query(&tracker, &set, slice), expected, "{id}");
        assert_eq!(tracker.handle_deletion("original"), deletion, "{id}");
        assert!(!tracker.has(&SET, "original"), "{id}");
    }
}

/// Upstream: `DeleteService` (R122, M44).
#[test]
fn forget_removes_one_set_only() {
    for (id, forgotten, expected) in [
        ("T-TRK-19 T-TDS-01", SET, (false, true)),
        ("T-TRK-20 T-TDS-02", OTHER_NAMESPACE, (true, false)),
        ("T-TRK-21 T-TDS-03", OTHER_SERVICE, (true, false)),
    ] {
        let mut tracker = tracking_original();
        tracker.forget(&forgotten);
        assert_eq!(query(&tracker, &SET, ORIGINAL), expected, "{id}");
        assert_eq!(tracker.len(), usize::from(expected.0), "{id}");
    }
}

#[test]
fn t_gx_11_owners_with_equal_names_and_different_kinds_are_separate_sets() {
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
    tracker.update(&SET, version("ours", 1));
    tracker.update(&SET, version("theirs", 1));
    tracker.expect_deletion(&SET, "ours");

    assert_eq!(tracker.handle_deletion("ours"), ObservedDeletion::Expected);
    assert_eq!(tracker.handle_deletion("theirs"), ObservedDeletion::Unexpected(SET));
    assert_eq!(tracker.handle_deletion("theirs"), ObservedDeletion::Unknown);
    assert!(tracker.is_empty());
}
