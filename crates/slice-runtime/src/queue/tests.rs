use super::*;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A queue and its clock.
struct Bench {
    queue: WorkQueue,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self {
            queue: WorkQueue::default(),
            now: Instant::now(),
        }
    }

    fn add(&mut self, name: &str, delay: Duration) {
        self.queue.add(key(name), delay, self.now);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn next(&mut self) -> Option<String> {
        self.queue.next(self.now).map(|due| due.key.name.to_string())
    }

    /// All that is due, in order; each is looked at with success.
    fn drain(&mut self) -> Vec<String> {
        let mut drained = Vec::new();
        while let Some(name) = self.next() {
            self.done(&name);
            drained.push(name);
        }
        drained
    }

    fn done(&mut self, name: &str) {
        self.queue.done(&key(name), SyncStatus::Success, self.now);
    }

    fn fail(&mut self, name: &str) {
        let failure = SyncStatus::Failure { retry_after: None };
        self.queue.done(&key(name), failure, self.now);
    }

    fn wait(&self) -> Option<Duration> {
        self.queue.next_deadline().map(|due| due - self.now)
    }
}

/// R31, T-WQ-03, T-WQ-05, R30, R33.
#[test]
fn a_key_is_in_line_once() {
    let mut bench = Bench::new();
    let mut depths = Vec::new();
    for name in ["foo", "bar", "foo"] {
        bench.add(name, Duration::ZERO);
        depths.push(bench.queue.depth());
    }
    assert_eq!(depths, [1, 2, 2]);
    assert_eq!(bench.drain(), ["foo", "bar"]);
    assert!(bench.queue.keys.is_empty());
}

/// M32, T-WQ-02, T-WQ-04, T-WQ-06, R32.
#[test]
fn a_key_asked_for_while_it_is_handed_out_comes_once_more_when_it_is_back() {
    let mut bench = Bench::new();
    bench.add("foo", Duration::ZERO);
    assert_eq!(bench.next().as_deref(), Some("foo"));
    bench.add("foo", Duration::ZERO);
    bench.add("foo", Duration::ZERO);
    assert_eq!(bench.next(), None);
    bench.done("foo");
    assert_eq!(bench.drain(), ["foo"]);
    assert!(bench.queue.keys.is_empty());
}

/// T-WQ-11, I12.
#[test]
fn what_is_done_leaves_nothing_behind() {
    let mut bench = Bench::new();
    bench.add("foo", ms(5));
    bench.pass(ms(5));
    assert_eq!(bench.drain(), ["foo"]);
    assert!(bench.queue.keys.is_empty() && bench.queue.waiting.is_empty() && bench.queue.ready.is_empty());
}

/// T-WQ-12, R34.
#[test]
fn a_delayed_key_comes_when_its_time_has_come() {
    let mut bench = Bench::new();
    bench.add("foo", ms(50));
    assert_eq!((bench.next(), bench.wait()), (None, Some(ms(50))));
    bench.pass(ms(60));
    assert_eq!(bench.drain(), ["foo"]);
    bench.pass(ms(10_000));
    assert_eq!((bench.next(), bench.wait()), (None, None));
}

/// T-WQ-13, R35, R38, G-02: a window from the first request, not from the last.
#[test]
fn the_earliest_deadline_wins() {
    for (first, second) in [(50, 70), (70, 50), (50, 50)] {
        let mut bench = Bench::new();
        bench.add("foo", ms(first));
        bench.add("foo", ms(second));
        bench.pass(ms(49));
        assert_eq!(bench.next(), None);
        bench.pass(ms(1));
        assert_eq!(bench.drain(), ["foo"], "{first} {second}");
        bench.pass(ms(100));
        assert_eq!(bench.next(), None, "{first} {second}");
    }
}

/// T-WQ-14, T-WQ-15, R37.
#[test]
fn deadlines_are_served_in_order() {
    let mut bench = Bench::new();
    for (name, delay) in [("c", 1000), ("b", 500), ("a", 250), ("same as a", 250)] {
        bench.add(name, ms(delay));
    }
    bench.pass(ms(2000));
    assert_eq!(bench.drain(), ["a", "same as a", "b", "c"]);
}

/// Unlike R36: what was asked for later is answered by a look that happens sooner.
#[test]
fn a_request_for_now_brings_a_waiting_key_forward() {
    let mut bench = Bench::new();
    bench.add("foo", ms(50));
    bench.add("foo", Duration::ZERO);
    assert_eq!(bench.drain(), ["foo"]);
    bench.pass(ms(100));
    assert_eq!(bench.next(), None);
}

/// R39, R40, R42, M28, M30, M31, T-WQ-16, T-WQ-17, T-WQ-19; G-01 and G-36 the other way round: a key is never dropped
/// (I12).
#[test]
fn a_failing_key_comes_back_for_ever_and_a_success_resets_it() {
    let mut bench = Bench::new();
    bench.add("foo", Duration::ZERO);
    let mut waits = Vec::new();
    for _ in 0..1000 {
        assert_eq!(bench.next().as_deref(), Some("foo"));
        bench.fail("foo");
        let wait = bench.wait().unwrap();
        waits.push(wait.as_secs());
        bench.pass(wait);
    }
    assert_eq!(waits[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!((waits[999], bench.queue.failures(&key("foo"))), (60, 1000));
    assert_eq!(bench.drain(), ["foo"]);
    assert_eq!(
        (bench.queue.failures(&key("foo")), bench.queue.keys.is_empty()),
        (0, true)
    );
    bench.add("foo", Duration::ZERO);
    bench.next();
    bench.fail("foo");
    assert_eq!(bench.wait(), Some(ms(1000)));
}

/// T-WQ-16: one failing key does not slow another.
#[test]
fn keys_fail_apart() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.add("foo", Duration::ZERO);
        bench.next();
        bench.fail("foo");
    }
    bench.add("bar", Duration::ZERO);
    assert_eq!(bench.drain(), ["bar"]);
    assert_eq!(
        bench.queue.failing().map(|(key, _)| key).collect::<Vec<_>>(),
        [&key("foo")]
    );
}

#[test]
fn news_break_into_the_wait_of_a_failing_key() {
    let mut bench = Bench::new();
    bench.add("foo", Duration::ZERO);
    bench.next();
    bench.fail("foo");
    bench.add("foo", Duration::ZERO);
    assert_eq!(bench.next().as_deref(), Some("foo"));
    bench.fail("foo");
    assert_eq!(bench.wait(), Some(ms(2000)), "it has not been forgotten that it failed");
}

/// T-WQ-18: of the two waits, ours and the server's, the longer one counts, and a success ends both.
#[test]
fn t_wq_18_the_longer_wait_wins() {
    for (retry_after, expected) in [(5000, 5), (1500, 2)] {
        let mut bench = Bench::new();
        for _ in 0..2 {
            bench.add("foo", Duration::ZERO);
            bench.next();
            bench.fail("foo");
            bench.pass(ms(1000));
            bench.next();
            let retry_after = Some(ms(retry_after));
            bench.queue.done(&key("foo"), SyncStatus::Failure { retry_after }, bench.now);
            let wait = bench.wait().unwrap();
            assert_eq!(wait.as_secs(), expected, "{retry_after:?}");
            assert_eq!(bench.queue.failures(&key("foo")), 2);
            bench.pass(wait);
            assert_eq!(bench.drain(), ["foo"]);
        }
    }
}

/// F6.
#[test]
fn a_retry_after_is_honoured_whatever_happens_meanwhile() {
    let mut bench = Bench::new();
    bench.add("foo", Duration::ZERO);
    bench.next();
    bench.add("foo", Duration::ZERO);
    let retry_after = Some(ms(5000));
    bench.queue.done(&key("foo"), SyncStatus::Failure { retry_after }, bench.now);
    bench.add("foo", Duration::ZERO);
    assert_eq!((bench.next(), bench.wait()), (None, retry_after));
    bench.pass(ms(5000));
    assert_eq!(bench.drain(), ["foo"]);
}

/// F1: the first time at once; but two that overtake each other for ever must not run hot (F24).
#[test]
fn a_key_that_was_overtaken_comes_again_at_once_and_then_backs_off() {
    let mut bench = Bench::new();
    bench.add("foo", Duration::ZERO);
    let mut waits = Vec::new();
    for _ in 0..4 {
        assert_eq!(bench.next().as_deref(), Some("foo"));
        bench.queue.done(&key("foo"), SyncStatus::Conflict, bench.now);
        let wait = bench.wait().unwrap_or_default();
        waits.push(wait.as_secs());
        bench.pass(wait);
    }
    assert_eq!(waits, [0, 2, 4, 8]);
}

#[test]
fn a_look_knows_since_when_it_was_asked_for() {
    let mut bench = Bench::new();
    let asked = bench.now;
    bench.add("foo", ms(50));
    bench.pass(ms(20));
    bench.add("foo", Duration::ZERO);
    assert_eq!(bench.queue.next(bench.now).unwrap().since, asked);
    let again = bench.now;
    bench.add("foo", Duration::ZERO);
    bench.pass(ms(20));
    bench.done("foo");
    assert_eq!(bench.queue.next(bench.now).unwrap().since, again);
}

/// T-WQ-01 and the rest of the promises, by chance: at every moment no key is handed out twice, none is lost, and those
/// that are due come in the order in which they became due.
#[test]
fn whatever_happens_no_key_is_lost_or_handed_out_twice() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let mut bench = Bench::new();
        let mut out: Vec<String> = Vec::new();
        let mut wanted = std::collections::BTreeSet::new();
        for _ in 0..200 {
            match random.u8(0..5) {
                0 | 1 => {
                    let name = random.u8(0..8).to_string();
                    bench.add(&name, ms(random.u64(0..30)));
                    wanted.insert(name);
                }
                2 => {
                    if let Some(name) = bench.next() {
                        assert!(!out.contains(&name), "{name} is handed out already");
                        assert!(wanted.remove(&name), "nobody asked for {name}");
                        out.push(name);
                    }
                }
                3 if !out.is_empty() => {
                    let name = out.swap_remove(random.usize(..out.len()));
                    if random.bool() {
                        bench.done(&name);
                    } else {
                        bench.fail(&name);
                        wanted.insert(name);
                    }
                }
                _ => bench.pass(ms(random.u64(0..2000))),
            }
        }
        for name in out.drain(..) {
            bench.done(&name);
        }
        bench.pass(ms(100_000));
        let mut rest = bench.drain();
        rest.sort_unstable();
        assert_eq!(rest, wanted.into_iter().collect::<Vec<_>>());
        assert!(bench.queue.keys.is_empty());
    }
}
