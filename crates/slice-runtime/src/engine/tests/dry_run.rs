//! As with `--dry-run`, beside another controller that writes with the same managed-by value.

use std::time::Duration;

use super::{
    fake_api::SLICES,
    fixtures::{node, pod, service},
    harness::Harness,
};

const SECOND: Duration = Duration::from_secs(1);

fn cluster() -> Harness {
    let mut harness = Harness::new(100, Duration::ZERO);
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    harness.api.put("pods", pod("p1", 1, true));
    harness
}

fn dry_run() -> Harness {
    let mut harness = cluster();
    harness.engine.config.dry_run = true;
    harness.run();
    harness
}

fn differences(harness: &mut Harness) -> String {
    harness.engine.update_gauges(harness.now);
    harness.metric("dry_run_differences")
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut harness = dry_run();
    assert_eq!(harness.writes_until_quiescent(), 0);
    assert_eq!(harness.api.slices().count(), 0);
}

#[test]
fn what_is_unwritten_half_a_minute_after_the_last_change_is_a_difference() {
    let mut harness = dry_run();
    harness.advance(29 * SECOND);
    harness.api.put("pods", pod("p2", 2, true));
    harness.run();
    harness.advance(29 * SECOND);
    assert_eq!(differences(&mut harness), "0", "29 s after the last change");
    harness.advance(SECOND);
    assert_eq!(differences(&mut harness), "1", "30 s after the last change");
    harness.api.put("pods", pod("p2", 2, false));
    harness.run();
    assert_eq!(differences(&mut harness), "1", "until 30 s after this change");
}

#[test]
fn slices_of_the_other_controller_end_the_difference_and_are_no_foreign_change() {
    let mut other = cluster();
    other.run_until_quiescent();
    let mut harness = dry_run();
    harness.advance(30 * SECOND);
    assert_eq!(differences(&mut harness), "1");
    for slice in other.api.slices() {
        harness.api.put(SLICES, slice.clone());
    }
    harness.run();
    harness.advance(SECOND);
    assert_eq!(differences(&mut harness), "0");
    assert_eq!(harness.metric("foreign_changes_total"), "0");
}
