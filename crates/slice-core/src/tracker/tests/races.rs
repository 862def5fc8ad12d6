//! Races and relabelled slices, which block a Service for good in upstream's tracker (W1, W3, W4, D2, D2b).

use super::version;
use crate::tracker::{observations::OBSERVATIONS_MAX, *};

const OLD: &str = "default/old";
const NEW: &str = "default/new";

const fn terminating(uid: &str, generation: i64) -> SliceVersion<'_> {
    SliceVersion {
        terminating: true,
        ..version(uid, generation)
    }
}

/// Asserts that the tracker has no slice, no empty set and no observation.
fn assert_no_state(tracker: &SliceTracker<&str>, when: &str) {
    let state = (tracker.sets.len(), tracker.set_by_uid.len(), tracker.observations.len());
    assert_eq!(state, (0, 0, 0), "{when}");
}

/// The watch event moves the slice out of the old set, which is then not stale (M46, G-16, T-MIR-N03).
#[test]
fn slice_relabelled_to_another_owner_does_not_block_the_old_one() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));

    assert_eq!(tracker.observe(Some(&NEW), "a"), Some(OLD));
    assert!(!tracker.stale(&OLD, []));
    assert!(tracker.should_sync(&NEW, version("a", 2)));
    assert_no_state(&tracker, "relabelled");
}

/// A later deletion of the slice is not ours to handle (T-MIR-N02).
#[test]
fn slice_without_our_managed_by_label_blocks_no_set() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));

    assert_eq!(tracker.observe(None, "a"), Some(OLD));
    assert!(!tracker.stale(&OLD, []));
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Unknown);
    assert_no_state(&tracker, "deleted");
}

#[test]
fn slice_observed_in_its_own_set_stays_tracked() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    assert_eq!(tracker.observe(Some(&OLD), "a"), None);
    assert!(tracker.has(&OLD, "a"));
}

/// A relist may show the deletion of a slice without its relabelling (D2).
#[test]
fn deletion_returns_the_set_the_slice_is_tracked_in() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Unexpected(OLD));
}

#[test]
fn slice_updated_in_a_new_set_leaves_the_old_set() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    tracker.update(&NEW, version("a", 2));
    assert!(!tracker.stale(&OLD, []));
    assert!(tracker.stale(&NEW, []));
    assert_eq!(tracker.len(), 1);
}

/// A terminating slice counts as present, whatever its generation (R126, G-18).
#[test]
fn slice_with_a_finalizer_is_not_missing() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("deleted-by-others", 3));
    tracker.update(&OLD, version("deleted-by-us", 1));
    tracker.expect_deletion(&OLD, "deleted-by-us");

    assert!(
        tracker.stale(&OLD, []),
        "W3: the set is stale while the terminating slice is missing"
    );
    assert!(!tracker.stale(
        &OLD,
        [terminating("deleted-by-others", 2), terminating("deleted-by-us", 2)]
    ));
    assert!(tracker.stale(&OLD, [terminating("deleted-by-others", 4), version("deleted-by-us", 1)]));
}

/// The delete event arrives before the response (G-19).
#[test]
fn deletion_observed_before_its_response_is_expected_and_leaves_no_state() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    tracker.expect_deletion(&OLD, "a");
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Expected);
    assert_no_state(&tracker, "observed");

    // The response is an error, such as a timeout, and arrives after the event.
    tracker.cancel_deletion(version("a", 1));
    assert_no_state(&tracker, "response");
}

#[test]
fn cancelled_deletion_expects_the_slice_again() {
    let mut tracker = SliceTracker::new();
    tracker.expect_deletion(&OLD, "a");
    tracker.cancel_deletion(version("a", 4));
    assert!(tracker.stale(&OLD, []));
    assert!(!tracker.stale(&OLD, [version("a", 4)]));

    tracker.update(&OLD, version("a", 5));
    tracker.cancel_deletion(version("a", 4));
    assert!(
        tracker.stale(&OLD, [version("a", 4)]),
        "no deletion was expected any more"
    );
}

/// A watch event around the response to a write of a slice of `OLD`.
#[derive(Clone, Copy, Debug)]
enum Event {
    Applied(Option<&'static str>),
    Deleted,
}

/// Sequences after which the slice is no longer in `OLD`.
const LEAVING: [&[Event]; 5] = [
    &[Event::Applied(Some(OLD)), Event::Deleted],
    &[Event::Applied(Some(OLD)), Event::Applied(Some(NEW))],
    // A watch may skip states.
    &[Event::Applied(Some(NEW))],
    &[Event::Applied(Some(OLD)), Event::Applied(None)],
    &[
        Event::Applied(Some(OLD)),
        Event::Applied(Some(NEW)),
        Event::Applied(Some(OLD)),
        Event::Deleted,
    ],
];

fn handle(tracker: &mut SliceTracker<&'static str>, events: &[Event]) {
    for event in events {
        match event {
            Event::Applied(set) => drop(tracker.observe(set.as_ref(), "a")),
            Event::Deleted => drop(tracker.handle_deletion("a")),
        }
    }
}

/// Creates (not tracked) and updates (tracked), with the response at any point of the watch events (D2b, W4).
#[test]
fn response_never_restores_a_slice_that_left_the_set() {
    for tracked in [false, true] {
        for events in LEAVING {
            for response_after in 0..=events.len() {
                let mut tracker = SliceTracker::new();
                if tracked {
                    tracker.update(&OLD, version("a", 1));
                }
                let ticket = tracker.begin_write(OLD);
                let (before, after) = events.split_at(response_after);
                handle(&mut tracker, before);
                let outcome = tracker.finish_write(ticket, version("a", 2));
                handle(&mut tracker, after);

                let when = format!("tracked {tracked}, response after {before:?}, then {after:?}");
                if after.is_empty() {
                    assert_eq!(outcome, WriteOutcome::Superseded, "{when}");
                }
                assert!(!tracker.stale(&OLD, []), "{when}");
                assert_no_state(&tracker, &when);
            }
        }
    }
}

#[test]
fn response_is_recorded_while_the_slice_is_in_its_set() {
    let histories: [&[Event]; 3] = [
        &[],
        &[Event::Applied(Some(OLD))],
        &[
            Event::Applied(Some(NEW)),
            Event::Applied(None),
            Event::Applied(Some(OLD)),
        ],
    ];
    for events in histories {
        let mut tracker = SliceTracker::new();
        let ticket = tracker.begin_write(OLD);
        handle(&mut tracker, events);
        assert_eq!(
            tracker.finish_write(ticket, version("a", 2)),
            WriteOutcome::Recorded,
            "{events:?}"
        );
        assert!(tracker.stale(&OLD, [version("a", 1)]), "{events:?}");
        assert_eq!(tracker.observations.len(), 0, "{events:?}");
    }
}

#[test]
fn response_is_superseded_when_another_set_tracks_the_slice() {
    let mut tracker = SliceTracker::new();
    let ticket = tracker.begin_write(OLD);
    tracker.update(&NEW, version("a", 2));
    assert_eq!(tracker.finish_write(ticket, version("a", 1)), WriteOutcome::Superseded);
    assert!(tracker.has(&NEW, "a"));
}

#[test]
fn observation_before_a_write_does_not_supersede_its_response() {
    let mut tracker = SliceTracker::new();
    let earlier = tracker.begin_write(OLD);
    tracker.observe(None, "a");
    let ticket = tracker.begin_write(OLD);
    assert_eq!(tracker.finish_write(ticket, version("a", 2)), WriteOutcome::Recorded);
    tracker.abandon_write(earlier);
}

#[test]
fn response_after_forget_leaves_no_state_once_the_slice_is_deleted() {
    for response_first in [true, false] {
        let mut tracker = SliceTracker::new();
        tracker.update(&OLD, version("a", 1));
        let ticket = tracker.begin_write(OLD);
        tracker.forget(&OLD);
        if response_first {
            tracker.finish_write(ticket, version("a", 2));
            tracker.handle_deletion("a");
        } else {
            tracker.handle_deletion("a");
            tracker.finish_write(ticket, version("a", 2));
        }
        assert_no_state(&tracker, "deletion and response");
    }
}

#[test]
fn abandoned_write_leaves_no_state() {
    let mut tracker = SliceTracker::new();
    let ticket = tracker.begin_write(OLD);
    tracker.handle_deletion("a");
    tracker.abandon_write(ticket);
    assert_no_state(&tracker, "abandoned");
}

/// However many events arrive during a write, and even if its ticket is lost (I12).
#[test]
fn observations_are_bounded_and_eviction_costs_one_more_sync() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("known", 1));
    let (create, update) = (tracker.begin_write(OLD), tracker.begin_write(OLD));
    for n in 0..OBSERVATIONS_MAX {
        tracker.handle_deletion(&n.to_string());
    }
    tracker.handle_deletion("0");
    assert_eq!(
        tracker.observations.len(),
        OBSERVATIONS_MAX,
        "another observation of the same slice evicts nothing"
    );
    tracker.handle_deletion("one more");
    assert_eq!(tracker.observations.len(), 0);
    let later = tracker.begin_write(OLD);

    assert_eq!(tracker.finish_write(create, version("0", 1)), WriteOutcome::Superseded);
    assert_eq!(
        tracker.finish_write(update, version("known", 2)),
        WriteOutcome::Recorded
    );
    assert_eq!(tracker.finish_write(later, version("b", 1)), WriteOutcome::Recorded);
}

/// A busy controller always has a write in flight.
#[test]
fn observations_older_than_every_ticket_are_evicted_first() {
    let mut tracker = SliceTracker::new();
    let mut ticket = tracker.begin_write(OLD);
    for n in 0..3 * OBSERVATIONS_MAX {
        let next = tracker.begin_write(OLD);
        tracker.handle_deletion(&n.to_string());
        let uid = format!("created-{n}");
        assert_eq!(tracker.finish_write(ticket, version(&uid, 1)), WriteOutcome::Recorded);
        ticket = next;
    }
    assert!(tracker.observations.len() <= OBSERVATIONS_MAX);
    tracker.abandon_write(ticket);
}

/// After a restore of etcd, generations start again and a response of a write in flight is from before (F14).
#[test]
fn clear_drops_expectations_and_supersedes_writes_in_flight() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 9));
    let ticket = tracker.begin_write(OLD);
    tracker.clear();
    assert!(tracker.is_empty());
    assert!(tracker.should_sync(&OLD, version("a", 3)));
    assert_eq!(tracker.finish_write(ticket, version("a", 10)), WriteOutcome::Superseded);
    let later = tracker.begin_write(OLD);
    assert_eq!(tracker.finish_write(later, version("a", 4)), WriteOutcome::Recorded);
}
