//! Gauges while the leadership changes.

use super::{
    super::*,
    fixtures::{node, pod, service},
    harness::{Fault, Harness},
};
use crate::watch::WatchEvent;

const MINUTE: Duration = Duration::from_secs(60);

/// A leader with one Service that it has published, and one whose writes have failed for a minute.
fn with_failing_key() -> Harness {
    let mut harness = Harness::new(100, Duration::ZERO);
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    harness.api.put("pods", pod("p1", 1, true));
    harness.run();
    harness.api.put("services", service("failing", "web"));
    harness.run_with(Fault::Rejected);
    harness.now += MINUTE;
    harness.engine.update_gauges(harness.now);
    harness
}

/// A term begins, and every watch has caught up.
fn start_term(harness: &mut Harness, term: u64) {
    harness.engine.set_term(Some(term), harness.now);
    for watch in 0..harness.engine.watches.len() {
        let event = WatchEvent::CaughtUp { term };
        harness.engine.handle_event(watch, event, harness.now);
    }
    let event = WatchEvent::CaughtUp { term };
    harness.engine.handle_slice_event(event, harness.now);
}

/// Failing keys, the age of the oldest, slices as the controller counts them, and the depth of the work queue.
fn gauges(harness: &mut Harness) -> [String; 4] {
    harness.engine.update_gauges(harness.now);
    let depth = "workqueue_depth{name=\"test\"} ";
    let page = harness.engine.metrics.page();
    let depth = page.lines().find_map(|line| line.strip_prefix(depth)).unwrap();
    [
        harness.metric("keys_failing"),
        harness.metric("oldest_failing_key_seconds"),
        harness.metric("num_endpoint_slices"),
        depth.to_owned(),
    ]
}

#[test]
fn gauges_of_a_leader_that_loses_its_term_are_zero_until_its_next_term() {
    let mut harness = with_failing_key();
    assert_eq!(gauges(&mut harness), ["1", "60", "2", "0"]);
    harness.engine.set_term(None, harness.now);
    harness.api.put("services", service("added", "web"));
    harness.advance(10 * MINUTE);
    assert_eq!(gauges(&mut harness), ["0", "0", "0", "0"]);
    assert_eq!(
        harness.engine.queue.depth(),
        1,
        "the new Service waits for the next term"
    );
    start_term(&mut harness, 1);
    harness.run();
    assert_eq!(gauges(&mut harness), ["0", "0", "3", "0"]);
}

/// The time in which it did not lead does not count, nor what failed before.
#[test]
fn age_of_a_failing_key_restarts_with_the_term() {
    let mut harness = with_failing_key();
    harness.engine.set_term(None, harness.now);
    harness.now += 10 * MINUTE;
    start_term(&mut harness, 1);
    let page = |harness: &Harness| ["keys_failing", "oldest_failing_key_seconds"].map(|name| harness.metric(name));
    assert_eq!(page(&harness), ["0", "0"]);
    harness.run_with(Fault::Rejected);
    harness.now += 2 * MINUTE;
    harness.engine.update_gauges(harness.now);
    assert_eq!(page(&harness), ["1", "120"]);
}

/// Counters go on: only gauges describe the present.
#[test]
fn counters_and_own_gauges_of_a_standby_keep_their_values() {
    let mut harness = with_failing_key();
    let counted = |harness: &Harness| harness.metric("change_to_write_seconds_count");
    let before = counted(&harness);
    harness.engine.set_term(None, harness.now);
    assert_eq!(counted(&harness), before);
    assert_ne!(before, "0");
    assert_eq!(harness.metric("concurrency_limit"), "5");
}
