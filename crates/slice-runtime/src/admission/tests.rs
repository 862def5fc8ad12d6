use slice_controller::Enqueued;

use super::*;
use crate::queue::SyncStatus;

const SLOTS: usize = 4;

/// Admission with its queue and clock.
struct Harness {
    admission: Admission,
    queue: WorkQueue,
    now: Instant,
}

impl Harness {
    fn new(slots: usize) -> Self {
        Self {
            admission: Admission::new(NonZeroUsize::new(slots).unwrap()),
            queue: WorkQueue::default(),
            now: Instant::now(),
        }
    }

    fn add(&mut self, namespace: &str, names: impl IntoIterator<Item = usize>, removal: bool) {
        for name in names {
            let key = Key::new(namespace, name.to_string());
            let enqueued = Enqueued {
                removal,
                ..Enqueued::after(key, Duration::ZERO)
            };
            self.queue.add(enqueued, self.now);
        }
    }

    /// Adds keys whose last sync failed, and which are due again.
    fn add_failing(&mut self, namespace: &str, names: impl IntoIterator<Item = usize>) {
        self.add(namespace, names, false);
        self.queue.promote_due(self.now);
        while let Some(queued) = self.queue.take(Lane::Change, |_| true) {
            let failure = SyncStatus::Failure { retry_after: None };
            self.queue.done(&queued.key, failure, 0.0, self.now);
        }
        self.now += Duration::from_secs(1);
    }

    /// Admits keys until no more are admitted; each sends this number of writes.
    fn start_all(&mut self, writes: usize) -> Vec<String> {
        let mut started = Vec::new();
        while let Some(queued) = self.admission.next(&mut self.queue, self.now) {
            self.admission.start(&queued.key, queued.attempt > 1, writes, self.now);
            started.push(queued.key.to_string());
        }
        started
    }

    /// Admits the next key; its sync has nothing to write.
    fn sync_next(&mut self) -> Option<String> {
        let queued = self.admission.next(&mut self.queue, self.now)?;
        self.queue.done(&queued.key, SyncStatus::Success, 0.0, self.now);
        Some(queued.key.to_string())
    }

    fn sync_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.sync_next()).collect()
    }

    fn respond(&mut self, key: &str, response: Response) -> bool {
        let (namespace, name) = key.split_once('/').unwrap();
        let key = Key::new(namespace, name);
        self.admission.on_response(&key, response, self.now).is_some()
    }

    fn end(&mut self, key: &str, status: SyncStatus) {
        let (namespace, name) = key.split_once('/').unwrap();
        let key = Key::new(namespace, name);
        self.admission.end(&key);
        self.queue.done(&key, status, 0.0, self.now);
    }
}

#[test]
fn removals_go_first_four_in_a_row_at_most() {
    let mut harness = Harness::new(SLOTS);
    harness.add("change", 0..2, false);
    harness.add("removal", 0..6, true);
    let order: Vec<_> = harness.sync_all().iter().map(|key| key.as_bytes()[0]).collect();
    assert_eq!(String::from_utf8(order).unwrap(), "rrrrcrrc");
}

/// A queued change becomes a removal.
#[test]
fn a_removal_moves_a_queued_key_ahead() {
    let mut harness = Harness::new(SLOTS);
    harness.add("a", 0..3, false);
    harness.add("a", [2], true);
    assert_eq!(harness.queue.depth(), 3);
    assert_eq!(harness.sync_all(), ["a/2", "a/0", "a/1"]);
    assert_eq!(harness.queue.depth(), 0);
}

/// Keys that fail for ever take neither all slots nor all turns (I10), and get some of both (I9).
#[test]
fn failing_keys_get_half_of_the_slots_and_every_other_turn() {
    let mut harness = Harness::new(SLOTS);
    harness.add_failing("failing", 0..10);
    assert_eq!(harness.start_all(1).len(), SLOTS / 2);
    assert_eq!(
        harness.admission.next_deadline(&harness.queue, harness.now),
        Some(harness.now + STALL_AFTER),
        "further retries are admitted when these give their slots up"
    );
    harness.add("healthy", 0..10, false);
    let started = harness.start_all(1);
    assert_eq!(started, ["healthy/0", "healthy/1"]);

    let mut harness = Harness::new(1);
    harness.add_failing("failing", 0..3);
    harness.add("healthy", 0..3, false);
    let order = harness.sync_all();
    let failing: Vec<_> = order.iter().map(|key| key.starts_with("failing")).collect();
    assert_eq!(failing, [true, false, true, false, true, false], "one slot is shared");
}

/// Writes of many keys hang: they give up their slots (F4, I10).
#[test]
fn a_key_without_a_response_gives_its_slot_up() {
    let mut harness = Harness::new(SLOTS);
    harness.add("hanging", 0..60, false);
    harness.add("other", [0], false);
    let mut started = harness.start_all(1);
    assert_eq!(started.len(), SLOTS);
    assert!(started.contains(&"other/0".to_owned()), "namespaces take turns");
    harness.add("late", [0], false);
    assert_eq!(
        harness.admission.next_deadline(&harness.queue, harness.now),
        Some(harness.now + STALL_AFTER)
    );
    harness.now += STALL_AFTER;
    started.extend(harness.start_all(1));
    assert!(started.contains(&"late/0".to_owned()));
    for _ in 0..10 {
        harness.now += STALL_AFTER;
        started.extend(harness.start_all(1));
    }
    let hanging = started.iter().filter(|key| key.starts_with("hanging")).count();
    assert!(
        (STALLED_WRITES_PER_NAMESPACE..STALLED_WRITES_PER_NAMESPACE + SLOTS).contains(&hanging),
        "the namespace waits: {hanging}"
    );
    // A response at last: the namespace goes on.
    harness.end("hanging/0", SyncStatus::Success);
    assert!(harness.sync_next().is_none_or(|key| key.starts_with("hanging")));
}

/// The number of hanging writes is bounded over all namespaces.
#[test]
fn at_the_bound_stalled_keys_keep_their_slots() {
    let mut harness = Harness::new(SLOTS);
    for namespace in 0..100 {
        harness.add(&namespace.to_string(), 0..1, false);
    }
    let mut started = 0;
    for _ in 0..100 {
        started += harness.start_all(MAX_IN_FLIGHT.get()).len();
        harness.now += STALL_AFTER;
    }
    assert_eq!(started, STALLED_WRITES / MAX_IN_FLIGHT + SLOTS);
    assert_eq!(harness.admission.next_deadline(&harness.queue, harness.now), None);
}

/// A namespace whose failing keys hang admits a key that does not fail.
#[test]
fn hanging_retries_leave_room_for_other_keys_of_their_namespace() {
    let mut harness = Harness::new(SLOTS);
    harness.add_failing("ns", 0..60);
    for _ in 0..20 {
        harness.start_all(1);
        harness.now += STALL_AFTER;
    }
    harness.add("ns", [100], false);
    assert_eq!(harness.start_all(1), ["ns/100"]);
}

/// Rejected by priority and fairness: all keys wait for the `Retry-After`, and fewer are admitted afterwards (F6).
#[test]
fn overload_closes_the_gate_and_halves_the_concurrency_limit() {
    let mut harness = Harness::new(SLOTS);
    harness.add("a", 0..100, false);
    assert_eq!(harness.start_all(1).len(), SLOTS);
    let second = Duration::from_secs(1);
    assert!(harness.respond("a/0", Response::Overloaded(Some(second))));
    assert!(
        !harness.respond("a/1", Response::Overloaded(Some(second))),
        "it is closed already"
    );
    for name in 0..SLOTS {
        harness.end(&format!("a/{name}"), SyncStatus::Failure { retry_after: None });
    }
    assert!(harness.start_all(1).is_empty());
    let opens_at = harness.now + second;
    assert_eq!(
        harness.admission.next_deadline(&harness.queue, harness.now),
        Some(opens_at)
    );
    harness.now = opens_at;
    assert_eq!(harness.start_all(1).len(), SLOTS / 2);
    // Successful writes raise the limit again, one slot per round.
    for _ in 0..20 {
        harness.respond("a/4", Response::Accepted);
    }
    assert_eq!(harness.admission.state(harness.now).limit, SLOTS);
}

/// A webhook that refuses the writes of one key delays that key; the same refusal of different keys concerns the server.
#[test]
fn refusals_close_the_gate_when_three_different_keys_are_refused_in_a_row() {
    let refused = Response::Refused(Some(Duration::from_secs(30)));
    let mut harness = Harness::new(SLOTS);
    for _ in 0..10 {
        assert!(!harness.respond("a/0", refused), "one key");
        assert!(!harness.respond("a/1", refused), "two keys");
        harness.respond("b/0", Response::Accepted);
    }
    let closes: Vec<bool> = (0..3)
        .map(|name| harness.respond(&format!("a/{name}"), refused))
        .collect();
    assert_eq!(closes, [false, false, true]);
    // The next refusal closes the gate again, until a write is accepted.
    harness.now += Duration::from_secs(30);
    assert!(harness.respond("a/7", Response::Refused(None)));
    assert!(!harness.respond("a/8", Response::Missing));
}
