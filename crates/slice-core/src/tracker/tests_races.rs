//! What upstream's tracker gets wrong: W1, W3, W4, D2, D2b.

use super::{sightings::SIGHTINGS_MAX, *};

const OLD: &str = "default/old";
const NEW: &str = "default/new";

const fn version(uid: &str, generation: i64) -> SliceVersion<'_> {
    SliceVersion {
        uid,
        generation,
        terminating: false,
    }
}

const fn terminating(uid: &str, generation: i64) -> SliceVersion<'_> {
    SliceVersion {
        terminating: true,
        ..version(uid, generation)
    }
}

/// Nothing is left of anything: no slice, no empty set, no sighting.
fn assert_blank(tracker: &SliceTracker<&str>, when: &str) {
    let left = (tracker.sets.len(), tracker.homes.len(), tracker.sightings.kept());
    assert_eq!(left, (0, 0, 0), "{when}");
}

/// M46, G-16, T-MIR-N03.
#[test]
fn a_slice_relabelled_to_another_owner_no_longer_holds_up_the_old_one() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));

    assert_eq!(tracker.observe(Some(&NEW), "a"), Some(OLD));
    assert!(!tracker.stale(&OLD, []));
    assert!(tracker.should_sync(&NEW, version("a", 2)));
    assert_blank(&tracker, "relabelled");
}

/// T-MIR-N02; the deletion of the slice that was taken away concerns us no more.
#[test]
fn a_slice_that_is_no_longer_ours_holds_up_nobody() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));

    assert_eq!(tracker.observe(None, "a"), Some(OLD));
    assert!(!tracker.stale(&OLD, []));
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Unknown);
    assert_blank(&tracker, "deleted");
}

#[test]
fn a_slice_seen_where_it_belongs_stays_remembered() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    assert_eq!(tracker.observe(Some(&OLD), "a"), None);
    assert!(tracker.has(&OLD, "a"));
}

/// D2: a relist may show the deletion of a slice without its relabelling.
#[test]
fn a_deletion_names_the_set_that_remembers_the_slice() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Unexpected(OLD));
}

#[test]
fn a_slice_written_under_a_new_owner_leaves_the_old_set() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    tracker.update(&NEW, version("a", 2));
    assert!(!tracker.stale(&OLD, []));
    assert!(tracker.stale(&NEW, []));
    assert_eq!(tracker.len(), 1);
}

/// R126, G-18.
#[test]
fn a_slice_held_by_a_finalizer_is_present() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("deleted-by-others", 3));
    tracker.update(&OLD, version("deleted-by-us", 1));
    tracker.expect_deletion(&OLD, "deleted-by-us");

    assert!(
        tracker.stale(&OLD, []),
        "W3: leaving terminating slices out of the list is what held it up"
    );
    assert!(!tracker.stale(
        &OLD,
        [terminating("deleted-by-others", 2), terminating("deleted-by-us", 2)]
    ));
    assert!(tracker.stale(&OLD, [terminating("deleted-by-others", 4), version("deleted-by-us", 1)]));
}

/// G-19.
#[test]
fn a_deletion_seen_before_its_answer_is_expected_and_leaves_nothing() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("a", 1));
    tracker.expect_deletion(&OLD, "a");
    assert_eq!(tracker.handle_deletion("a"), ObservedDeletion::Expected);
    assert_blank(&tracker, "seen");

    // The answer is an error (a timeout, say), and comes after the event.
    tracker.cancel_deletion(version("a", 1));
    assert_blank(&tracker, "answered");
}

#[test]
fn a_cancelled_deletion_expects_the_slice_again() {
    let mut tracker = SliceTracker::new();
    tracker.expect_deletion(&OLD, "a");
    tracker.cancel_deletion(version("a", 4));
    assert!(tracker.stale(&OLD, []));
    assert!(!tracker.stale(&OLD, [version("a", 4)]));

    tracker.update(&OLD, version("a", 5));
    tracker.cancel_deletion(version("a", 4));
    assert!(tracker.stale(&OLD, [version("a", 4)]), "nothing was left to cancel");
}

/// What the watch may show around the answer to a write of a slice of `OLD`.
#[derive(Clone, Copy, Debug)]
enum Event {
    Shown(Option<&'static str>),
    Deleted,
}

const ENDINGS: [&[Event]; 5] = [
    &[Event::Shown(Some(OLD)), Event::Deleted],
    &[Event::Shown(Some(OLD)), Event::Shown(Some(NEW))],
    // Watches may skip states.
    &[Event::Shown(Some(NEW))],
    &[Event::Shown(Some(OLD)), Event::Shown(None)],
    &[
        Event::Shown(Some(OLD)),
        Event::Shown(Some(NEW)),
        Event::Shown(Some(OLD)),
        Event::Deleted,
    ],
];

fn show(tracker: &mut SliceTracker<&'static str>, events: &[Event]) {
    for event in events {
        match event {
            Event::Shown(set) => drop(tracker.observe(set.as_ref(), "a")),
            Event::Deleted => drop(tracker.handle_deletion("a")),
        }
    }
}

/// D2b, W4: for creates (nothing remembered) and updates, whenever the answer comes.
#[test]
fn an_answer_never_brings_back_a_slice_that_left() {
    for remembered in [false, true] {
        for events in ENDINGS {
            for answered_after in 0..=events.len() {
                let mut tracker = SliceTracker::new();
                if remembered {
                    tracker.update(&OLD, version("a", 1));
                }
                let ticket = tracker.begin_write(OLD);
                let (before, after) = events.split_at(answered_after);
                show(&mut tracker, before);
                let answer = tracker.finish_write(ticket, version("a", 2));
                show(&mut tracker, after);

                let when = format!("remembered {remembered}, answered after {before:?}, then {after:?}");
                if after.is_empty() {
                    assert_eq!(answer, WriteOutcome::Superseded, "{when}");
                }
                assert!(!tracker.stale(&OLD, []), "{when}");
                assert_blank(&tracker, &when);
            }
        }
    }
}

#[test]
fn an_answer_counts_when_the_slice_is_where_it_was_written() {
    let histories: [&[Event]; 3] = [
        &[],
        &[Event::Shown(Some(OLD))],
        &[Event::Shown(Some(NEW)), Event::Shown(None), Event::Shown(Some(OLD))],
    ];
    for events in histories {
        let mut tracker = SliceTracker::new();
        let ticket = tracker.begin_write(OLD);
        show(&mut tracker, events);
        assert_eq!(
            tracker.finish_write(ticket, version("a", 2)),
            WriteOutcome::Recorded,
            "{events:?}"
        );
        assert!(tracker.stale(&OLD, [version("a", 1)]), "{events:?}");
        assert_eq!(tracker.sightings.kept(), 0, "{events:?}");
    }
}

#[test]
fn an_answer_does_not_take_a_slice_back_from_the_set_that_remembers_it_now() {
    let mut tracker = SliceTracker::new();
    let ticket = tracker.begin_write(OLD);
    tracker.update(&NEW, version("a", 2));
    assert_eq!(tracker.finish_write(ticket, version("a", 1)), WriteOutcome::Superseded);
    assert!(tracker.has(&NEW, "a"));
}

#[test]
fn what_was_seen_before_a_write_began_says_nothing_about_its_answer() {
    let mut tracker = SliceTracker::new();
    let earlier = tracker.begin_write(OLD);
    tracker.observe(None, "a");
    let ticket = tracker.begin_write(OLD);
    assert_eq!(tracker.finish_write(ticket, version("a", 2)), WriteOutcome::Recorded);
    tracker.abandon_write(earlier);
}

#[test]
fn an_answer_after_its_set_was_forgotten_does_not_outlive_the_slice() {
    for answered_first in [true, false] {
        let mut tracker = SliceTracker::new();
        tracker.update(&OLD, version("a", 1));
        let ticket = tracker.begin_write(OLD);
        tracker.forget(&OLD);
        if answered_first {
            tracker.finish_write(ticket, version("a", 2));
            tracker.handle_deletion("a");
        } else {
            tracker.handle_deletion("a");
            tracker.finish_write(ticket, version("a", 2));
        }
        assert_blank(&tracker, "deleted and answered");
    }
}

#[test]
fn a_write_without_an_answer_expects_nothing() {
    let mut tracker = SliceTracker::new();
    let ticket = tracker.begin_write(OLD);
    tracker.handle_deletion("a");
    tracker.abandon_write(ticket);
    assert_blank(&tracker, "abandoned");
}

/// I12: however much goes on during a write, and even if its ticket is lost.
#[test]
fn sightings_are_bounded_and_losing_them_only_costs_a_look() {
    let mut tracker = SliceTracker::new();
    tracker.update(&OLD, version("known", 1));
    let (create, update) = (tracker.begin_write(OLD), tracker.begin_write(OLD));
    for n in 0..SIGHTINGS_MAX {
        tracker.handle_deletion(&n.to_string());
    }
    tracker.handle_deletion("0");
    assert_eq!(
        tracker.sightings.kept(),
        SIGHTINGS_MAX,
        "the same slice again needs no room"
    );
    tracker.handle_deletion("one more");
    assert_eq!(tracker.sightings.kept(), 0);
    let later = tracker.begin_write(OLD);

    assert_eq!(tracker.finish_write(create, version("0", 1)), WriteOutcome::Superseded);
    assert_eq!(
        tracker.finish_write(update, version("known", 2)),
        WriteOutcome::Recorded
    );
    assert_eq!(tracker.finish_write(later, version("b", 1)), WriteOutcome::Recorded);
}

/// A busy controller always has some write in flight.
#[test]
fn sightings_older_than_every_write_make_room_for_others() {
    let mut tracker = SliceTracker::new();
    let mut ticket = tracker.begin_write(OLD);
    for n in 0..3 * SIGHTINGS_MAX {
        let next = tracker.begin_write(OLD);
        tracker.handle_deletion(&n.to_string());
        let uid = format!("created-{n}");
        assert_eq!(tracker.finish_write(ticket, version(&uid, 1)), WriteOutcome::Recorded);
        ticket = next;
    }
    assert!(tracker.sightings.kept() <= SIGHTINGS_MAX);
    tracker.abandon_write(ticket);
}
