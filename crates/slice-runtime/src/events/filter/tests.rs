use k8s_openapi::api::core::v1::ObjectReference;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const RECORD: Decision = Decision::Record;
const SPAM: Decision = Decision::Drop(DropReason::Spam);
const GLOBAL: Decision = Decision::Drop(DropReason::Global);

fn event(object: usize, reason: &'static str, message: &str) -> Event {
    Event {
        regarding: ObjectReference {
            name: Some(object.to_string()),
            ..ObjectReference::default()
        },
        event_type: if reason == "Fine" {
            EventType::Normal
        } else {
            EventType::Warning
        },
        reason: reason.into(),
        message: message.to_owned(),
    }
}

/// The number of events that are recorded.
fn recorded(filter: &mut EventFilter, events: impl IntoIterator<Item = Event>, now: Instant) -> usize {
    let decisions = events.into_iter().map(|event| filter.admit(&event, true, now));
    decisions.filter(|decision| *decision == RECORD).count()
}

#[test]
fn an_object_has_25_events_and_then_one_per_five_minutes() {
    let (mut filter, start) = (EventFilter::new(), Instant::now());
    let changes = || (0..100).map(|n: usize| event(1, "Bad", &n.to_string()));
    assert_eq!(recorded(&mut filter, changes(), start), 25);
    assert_eq!(filter.admit(&event(1, "Other", ""), true, start), SPAM, "all reasons");
    assert_eq!(
        filter.admit(&event(2, "Bad", ""), true, start),
        RECORD,
        "another object"
    );
    assert_eq!(recorded(&mut filter, changes(), start + 4 * MINUTE), 0);
    assert_eq!(recorded(&mut filter, changes(), start + 5 * MINUTE), 1);
    assert_eq!(recorded(&mut filter, changes(), start + 9 * MINUTE), 0);
    assert_eq!(recorded(&mut filter, changes(), start + 20 * MINUTE), 3);
    assert_eq!(
        recorded(&mut filter, changes(), start + 1000 * MINUTE),
        25,
        "never more"
    );
}

#[test]
fn an_equal_event_is_recorded_every_15_minutes_and_a_change_at_once() {
    let (mut filter, start) = (EventFilter::new(), Instant::now());
    let mut admit =
        |minutes: u32, reason, message| filter.admit(&event(1, reason, message), true, start + minutes * MINUTE);
    for (minutes, reason, message, decision) in [
        (0, "Bad", "a", RECORD),
        (0, "Worse", "a", RECORD),
        (14, "Bad", "a", Decision::Repeated),
        (14, "Worse", "b", RECORD),
        (15, "Bad", "a", RECORD),
        (16, "Worse", "a", RECORD),
        (16, "Worse", "a", Decision::Repeated),
        (29, "Bad", "a", Decision::Repeated),
        (30, "Fine", "", RECORD),
        (30, "Fine", "", Decision::Repeated),
        (30, "Worse", "a", RECORD),
        (31, "Fine", "", RECORD),
    ] {
        assert_eq!(
            admit(minutes, reason, message),
            decision,
            "{minutes} {reason} {message}"
        );
    }
}

/// An event that the bounds drop is not taken for recorded, and costs its object nothing.
#[test]
fn all_objects_have_100_events_and_then_ten_per_second() {
    let (mut filter, start) = (EventFilter::new(), Instant::now());
    let one_each = || (0..1000).map(|object| event(object, "Bad", "a"));
    assert_eq!(recorded(&mut filter, one_each(), start), 100);
    assert_eq!(filter.admit(&event(500, "Bad", "a"), true, start), GLOBAL);
    assert_eq!(filter.objects.len(), 100, "dropped events need no memory");
    let second = start + Duration::from_secs(1);
    assert_eq!(filter.admit(&event(500, "Bad", "a"), true, second), RECORD);
    assert_eq!(recorded(&mut filter, one_each(), second), 9);
}

#[test]
fn an_event_that_is_not_sent_is_not_taken_for_recorded() {
    let (mut filter, now) = (EventFilter::new(), Instant::now());
    let bad = event(1, "Bad", "a");
    assert_eq!(filter.admit(&bad, false, now), Decision::Drop(DropReason::Channel));
    assert_eq!(filter.admit(&bad, true, now), RECORD);
    filter.forget(&event(1, "Bad", "b"));
    assert_eq!(filter.admit(&bad, false, now), Decision::Repeated);
    filter.forget(&bad);
    assert_eq!(filter.admit(&bad, true, now), RECORD);
}

#[test]
fn memory_is_bounded_and_the_least_recently_used_object_is_forgotten() {
    let (mut filter, start) = (EventFilter::new(), Instant::now());
    let at = |object: usize| start + Duration::from_millis(100) * u32::try_from(object).unwrap();
    for object in 0..MAX_OBJECTS {
        assert_eq!(filter.admit(&event(object, "Bad", "a"), true, at(object)), RECORD);
    }
    for reason in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"] {
        filter.admit(&event(0, reason, "a"), true, at(MAX_OBJECTS) + MINUTE);
    }
    filter.admit(&event(MAX_OBJECTS, "Bad", "a"), true, at(MAX_OBJECTS) + MINUTE);
    assert_eq!((filter.objects.len(), filter.by_use.len()), (MAX_OBJECTS, MAX_OBJECTS));
    let mut reasons_of = |object| {
        let id = filter.object_id(&event(object, "", ""));
        filter.remove(id).map(|object| object.recorded.len())
    };
    let reasons = [0, 1, 2, MAX_OBJECTS].map(&mut reasons_of);
    assert_eq!(reasons, [Some(MAX_REASONS), None, Some(1), Some(1)]);
}
