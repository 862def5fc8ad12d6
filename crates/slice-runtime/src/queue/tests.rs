use super::*;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A queue with its clock.
struct Harness {
    queue: WorkQueue,
    now: Instant,
}

impl Harness {
    fn new() -> Self {
        Self {
            queue: WorkQueue::default(),
            now: Instant::now(),
        }
    }

    fn add(&mut self, name: &str, delay: Duration) {
        self.queue.add(Enqueued::after(key(name), delay), self.now);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn next(&mut self) -> Option<String> {
        self.take().map(|queued| queued.key.name.to_string())
    }

    fn take(&mut self) -> Option<QueuedKey> {
        self.queue.promote_due(self.now);
        Lane::ALL.into_iter().find_map(|lane| self.queue.take(lane, |_| true))
    }

    /// Takes all due keys in order; each sync succeeds.
    fn drain(&mut self) -> Vec<String> {
        let mut drained = Vec::new();
        while let Some(name) = self.next() {
            self.done(&name);
            drained.push(name);
        }
        drained
    }

    fn done(&mut self, name: &str) {
        self.queue.done(&key(name), SyncStatus::Success, 0.0, self.now);
    }

    fn fail(&mut self, name: &str) {
        let failure = SyncStatus::Failure { retry_after: None };
        self.queue.done(&key(name), failure, 0.0, self.now);
    }

    /// The time until the next deadline.
    fn next_delay(&self) -> Option<Duration> {
        self.queue.next_deadline().map(|due| due - self.now)
    }
}

/// A key is queued once, and depth counts ready keys (R30, R31, R33, T-WQ-03, T-WQ-05).
#[test]
fn a_ready_key_is_not_added_twice() {
    let mut harness = Harness::new();
    let mut depths = Vec::new();
    for name in ["foo", "bar", "foo"] {
        harness.add(name, Duration::ZERO);
        depths.push(harness.queue.depth());
    }
    assert_eq!(depths, [1, 2, 2]);
    assert_eq!(harness.drain(), ["foo", "bar"]);
    assert!(harness.queue.keys.is_empty());
}

/// Adds during processing lead to one further sync (R32, M32, T-WQ-02, T-WQ-04, T-WQ-06).
#[test]
fn a_key_added_during_processing_is_requeued_once_when_done() {
    let mut harness = Harness::new();
    harness.add("foo", Duration::ZERO);
    assert_eq!(harness.next().as_deref(), Some("foo"));
    harness.add("foo", Duration::ZERO);
    harness.add("foo", Duration::ZERO);
    assert_eq!(harness.next(), None);
    harness.done("foo");
    assert_eq!(harness.drain(), ["foo"]);
    assert!(harness.queue.keys.is_empty());
}

/// A key without failures is forgotten (T-WQ-11, I12).
#[test]
fn a_processed_key_leaves_no_state() {
    let mut harness = Harness::new();
    harness.add("foo", ms(5));
    harness.pass(ms(5));
    assert_eq!(harness.drain(), ["foo"]);
    assert!(harness.queue.keys.is_empty() && harness.queue.delayed.is_empty() && harness.queue.depth() == 0);
}

/// A delayed key is not ready before its deadline (T-WQ-12, R34).
#[test]
fn a_delayed_key_becomes_ready_at_its_deadline() {
    let mut harness = Harness::new();
    harness.add("foo", ms(50));
    assert_eq!((harness.next(), harness.next_delay()), (None, Some(ms(50))));
    harness.pass(ms(60));
    assert_eq!(harness.drain(), ["foo"]);
    harness.pass(ms(10_000));
    assert_eq!((harness.next(), harness.next_delay()), (None, None));
}

/// A batch window starts at the first add, not at the last (T-WQ-13, R35, R38, G-02).
#[test]
fn the_earliest_deadline_wins() {
    for (first, second) in [(50, 70), (70, 50), (50, 50)] {
        let mut harness = Harness::new();
        harness.add("foo", ms(first));
        harness.add("foo", ms(second));
        harness.pass(ms(49));
        assert_eq!(harness.next(), None);
        harness.pass(ms(1));
        assert_eq!(harness.drain(), ["foo"], "{first} {second}");
        harness.pass(ms(100));
        assert_eq!(harness.next(), None, "{first} {second}");
    }
}

/// Equal deadlines in the order of their adds (T-WQ-14, T-WQ-15, R37).
#[test]
fn delayed_keys_become_ready_in_the_order_of_their_deadlines() {
    let mut harness = Harness::new();
    for (name, delay) in [("c", 1000), ("b", 500), ("a", 250), ("same as a", 250)] {
        harness.add(name, ms(delay));
    }
    harness.pass(ms(2000));
    assert_eq!(harness.drain(), ["a", "same as a", "b", "c"]);
}

/// The earlier sync covers the delayed add as well (unlike R36).
#[test]
fn an_immediate_add_ends_the_delay() {
    let mut harness = Harness::new();
    harness.add("foo", ms(50));
    harness.add("foo", Duration::ZERO);
    assert_eq!(harness.drain(), ["foo"]);
    harness.pass(ms(100));
    assert_eq!(harness.next(), None);
}

/// Exponential backoff without end, reset by a success (R39, R40, R42, M28, M30, M31, T-WQ-16, T-WQ-17, T-WQ-19). Unlike G-01 and
/// G-36, a key is never dropped (I12).
#[test]
fn a_failing_key_is_requeued_forever_and_a_success_resets_the_backoff() {
    let mut harness = Harness::new();
    harness.add("foo", Duration::ZERO);
    let mut delays = Vec::new();
    for _ in 0..1000 {
        assert_eq!(harness.next().as_deref(), Some("foo"));
        harness.fail("foo");
        let delay = harness.next_delay().unwrap();
        delays.push(delay.as_secs());
        harness.pass(delay);
    }
    assert_eq!(delays[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!((delays[999], harness.queue.failures(&key("foo"))), (60, 1000));
    assert_eq!(harness.drain(), ["foo"]);
    assert_eq!(
        (harness.queue.failures(&key("foo")), harness.queue.keys.is_empty()),
        (0, true)
    );
    harness.add("foo", Duration::ZERO);
    harness.next();
    harness.fail("foo");
    assert_eq!(harness.next_delay(), Some(ms(1000)));
}

/// The backoff of one key does not delay another (T-WQ-16).
#[test]
fn keys_fail_independently() {
    let mut harness = Harness::new();
    for _ in 0..3 {
        harness.add("foo", Duration::ZERO);
        harness.next();
        harness.fail("foo");
    }
    harness.add("bar", Duration::ZERO);
    assert_eq!(harness.drain(), ["bar"]);
    assert_eq!(
        harness.queue.failing().map(|(key, _)| key).collect::<Vec<_>>(),
        [&key("foo")]
    );
}

#[test]
fn an_add_ends_the_backoff_and_keeps_the_failure_count() {
    let mut harness = Harness::new();
    harness.add("foo", Duration::ZERO);
    harness.next();
    harness.fail("foo");
    harness.add("foo", Duration::ZERO);
    assert_eq!(harness.next().as_deref(), Some("foo"));
    harness.fail("foo");
    assert_eq!(harness.next_delay(), Some(ms(2000)), "the second failure in a row");
}

/// The longer of backoff and Retry-After counts, and a success resets both (T-WQ-18).
#[test]
fn t_wq_18_the_longer_of_backoff_and_retry_after_wins() {
    for (retry_after, expected) in [(5000, 5), (1500, 2)] {
        let mut harness = Harness::new();
        for _ in 0..2 {
            harness.add("foo", Duration::ZERO);
            harness.next();
            harness.fail("foo");
            harness.pass(ms(1000));
            harness.next();
            let retry_after = Some(ms(retry_after));
            harness
                .queue
                .done(&key("foo"), SyncStatus::Failure { retry_after }, 0.0, harness.now);
            let delay = harness.next_delay().unwrap();
            assert_eq!(delay.as_secs(), expected, "{retry_after:?}");
            assert_eq!(harness.queue.failures(&key("foo")), 2);
            harness.pass(delay);
            assert_eq!(harness.drain(), ["foo"]);
        }
    }
}

/// Adds do not shorten a Retry-After (F6).
#[test]
fn retry_after_is_honoured_despite_adds() {
    let mut harness = Harness::new();
    harness.add("foo", Duration::ZERO);
    harness.next();
    harness.add("foo", Duration::ZERO);
    let retry_after = Some(ms(5000));
    harness
        .queue
        .done(&key("foo"), SyncStatus::Failure { retry_after }, 0.0, harness.now);
    harness.add("foo", Duration::ZERO);
    assert_eq!((harness.next(), harness.next_delay()), (None, retry_after));
    harness.pass(ms(5000));
    assert_eq!(harness.drain(), ["foo"]);
}

/// The first conflict requeues at once (F1); further ones back off, so that two writers do not fight in a hot loop (F24).
#[test]
fn a_conflict_requeues_at_once_and_then_with_backoff() {
    let mut harness = Harness::new();
    harness.add("foo", Duration::ZERO);
    let mut delays = Vec::new();
    for _ in 0..4 {
        assert_eq!(harness.next().as_deref(), Some("foo"));
        harness.queue.done(&key("foo"), SyncStatus::Conflict, 0.0, harness.now);
        let delay = harness.next_delay().unwrap_or_default();
        delays.push(delay.as_secs());
        harness.pass(delay);
    }
    assert_eq!(delays, [0, 2, 4, 8]);
}

#[test]
fn added_at_is_the_first_add_since_the_last_sync_began() {
    let mut harness = Harness::new();
    let first_add = harness.now;
    harness.add("foo", ms(50));
    harness.pass(ms(20));
    harness.add("foo", Duration::ZERO);
    assert_eq!(harness.take().unwrap().added_at, first_add);
    let second_add = harness.now;
    harness.add("foo", Duration::ZERO);
    harness.pass(ms(20));
    harness.done("foo");
    assert_eq!(harness.take().unwrap().added_at, second_add);
}

/// The time from a change to its writes includes failed attempts (W17).
#[test]
fn changed_at_is_the_first_add_since_a_successful_sync_began() {
    let mut harness = Harness::new();
    let first_add = harness.now;
    harness.add("foo", Duration::ZERO);
    for status in [SyncStatus::Failure { retry_after: None }, SyncStatus::Conflict] {
        assert_eq!(harness.take().unwrap().changed_at, first_add);
        harness.add("foo", ms(10));
        harness.queue.done(&key("foo"), status, 0.0, harness.now);
        harness.pass(Duration::from_secs(10));
    }
    assert_eq!(harness.take().unwrap().changed_at, first_add);
    let second_add = harness.now;
    harness.add("foo", Duration::ZERO);
    harness.pass(ms(20));
    harness.done("foo");
    assert_eq!(harness.take().unwrap().changed_at, second_add);
}

/// Random operations: no key is processed twice at a time, and none is lost (T-WQ-01).
#[test]
fn random_operations_lose_no_key_and_process_none_twice_at_a_time() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let mut harness = Harness::new();
        let mut processing: Vec<String> = Vec::new();
        let mut queued = std::collections::BTreeSet::new();
        for _ in 0..200 {
            match random.u8(0..5) {
                0 | 1 => {
                    let name = random.u8(0..8).to_string();
                    harness.add(&name, ms(random.u64(0..30)));
                    queued.insert(name);
                }
                2 => {
                    if let Some(name) = harness.next() {
                        assert!(!processing.contains(&name), "{name} is being processed already");
                        assert!(queued.remove(&name), "{name} was not added");
                        processing.push(name);
                    }
                }
                3 if !processing.is_empty() => {
                    let name = processing.swap_remove(random.usize(..processing.len()));
                    if random.bool() {
                        harness.done(&name);
                    } else {
                        harness.fail(&name);
                        queued.insert(name);
                    }
                }
                _ => harness.pass(ms(random.u64(0..2000))),
            }
        }
        for name in processing.drain(..) {
            harness.done(&name);
        }
        harness.pass(ms(100_000));
        let mut remaining = harness.drain();
        remaining.sort_unstable();
        assert_eq!(remaining, queued.into_iter().collect::<Vec<_>>());
        assert!(harness.queue.keys.is_empty());
    }
}
