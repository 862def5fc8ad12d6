//! A Service that begins to select pods, or ceases to (S6, S7, invariants.md §5).

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A mirrored Service has just got a selector, and this has been looked at.
fn gained() -> Stage {
    let mut stage = Stage::settled("10.0.0.1 :80");
    assert_eq!(stage.apply(&selecting()), woken(0));
    let SyncResult {
        plan, requeue_after, ..
    } = stage.decide();
    assert_eq!((plan, requeue_after), (Plan::default(), Some(5 * SECOND)));
    stage
}

#[test]
fn s6_mirrored_slices_go_once_a_pod_slice_exists() {
    let mut stage = gained();
    assert_eq!(stage.apply(&pod_slice("other", "another")), []);
    assert_eq!(stage.sync(), "");
    // M25: slices are what the batch period is about.
    assert_eq!(stage.apply(&pod_slice("slice", "test-ep")), woken(10));
    assert_eq!(stage.sync(), "delete");
    assert_eq!(stage.apply(&pod_slice("second", "test-ep")), []);
}

#[test]
fn s6_mirrored_slices_go_at_once_if_there_is_a_pod_slice_already() {
    let mut stage = Stage::settled("10.0.0.1 :80");
    assert_eq!(stage.apply(&pod_slice("slice", "test-ep")), []);
    stage.apply(&selecting());
    assert_eq!(stage.sync(), "delete");
}

#[test]
fn s6_mirrored_slices_go_after_five_seconds_at_the_latest() {
    let mut stage = gained();
    for left in [4, 3, 2, 1] {
        stage.pass(SECOND);
        assert_eq!(stage.decide().requeue_after, Some(left * SECOND));
    }
    stage.pass(SECOND);
    assert_eq!(stage.decide().requeue_after, None);
    assert_eq!(stage.sync(), "delete");
}

/// A clock that jumps can only make the wait shorter than it should be, or start it anew; it never lasts for ever.
#[test]
fn s6_a_clock_that_is_set_back_starts_the_wait_anew() {
    let mut stage = gained();
    stage.now -= Duration::from_hours(1);
    assert_eq!(stage.decide().requeue_after, Some(5 * SECOND));
    stage.pass(4 * SECOND);
    assert_eq!(stage.decide().requeue_after, Some(SECOND));
    stage.pass(SECOND);
    assert_eq!(stage.sync(), "delete");
}

/// The selector came while nobody watched: the wait begins with the first look.
#[test]
fn s6_after_a_restart_the_wait_begins_anew() {
    let before = gained();
    let mut stage = Stage::new();
    stage.slices.clone_from(&before.slices);
    stage.now = before.now + 4 * SECOND;
    stage.apply(&selecting());
    stage.apply(&endpoints("10.0.0.1 :80"));
    assert_eq!(stage.decide().requeue_after, Some(5 * SECOND));
    stage.pass(5 * SECOND);
    assert_eq!(stage.sync(), "delete");
}

/// What waits is left as it is: its Endpoints object is written by another controller by now.
#[test]
fn s6_what_waits_is_not_kept_up() {
    let mut stage = gained();
    assert_eq!(stage.apply(&endpoints("10.0.0.7 :80")), []);
    assert_eq!(stage.sync(), "");
}

/// Only slices that are worth keeping are waited for, and only as long as there is something to keep them for.
#[test]
fn s6_nobody_waits_for_nothing() {
    let mut stage = Stage::settled("");
    stage.apply(&selecting());
    assert_eq!(stage.decide().requeue_after, None, "no slices");

    let mut stage = Stage::settled("10.0.0.1 :80");
    let ending = serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap();
    stage.slices[0].metadata.deletion_timestamp = Some(ending);
    stage.apply(&selecting());
    assert_eq!(stage.decide().requeue_after, None, "none that stay");

    let mut stage = gained();
    assert_eq!(stage.delete(Watch::Endpoints, "test-ep"), woken(0));
    assert_eq!(stage.sync(), "delete", "nothing to mirror");

    let mut stage = gained();
    stage.delete(Watch::Services, "test-ep");
    assert_eq!(stage.sync(), "delete", "no Service");
}

/// Pod slices that were relabelled or have gone are not waited for as if they were there.
#[test]
fn s6_pod_slices_are_counted() {
    let mut stage = Stage::settled("10.0.0.1 :80");
    stage.apply(&pod_slice("a", "test-ep"));
    stage.apply(&pod_slice("a", "test-ep"));
    stage.apply(&pod_slice("a", "another"));
    stage.apply(&pod_slice("b", "test-ep"));
    stage.delete(Watch::PodSlices, "b");
    stage.delete(Watch::PodSlices, "b");
    stage.apply(&selecting());
    assert_eq!(stage.decide().requeue_after, Some(5 * SECOND));
    assert_eq!(stage.apply(&pod_slice("a", "test-ep")), woken(10));
    assert_eq!(stage.sync(), "delete");
}

/// Each time anew.
#[test]
fn s6_a_selector_that_comes_again_is_waited_for_again() {
    let mut stage = gained();
    stage.pass(4 * SECOND);
    assert_eq!(stage.apply(&service(&Value::Null)), woken(0));
    assert_eq!(stage.sync(), "");
    stage.apply(&selecting());
    assert_eq!(stage.decide().requeue_after, Some(5 * SECOND));
}

/// As it is, pods of long ago included; slices of the other controller are its own business.
#[test]
fn s7_without_selector_the_endpoints_are_mirrored_as_they_are() {
    let labels = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    let mut stage = Stage::new();
    stage.apply(&selecting());
    stage.apply(&pod_slice("slice", "test-ep"));
    stage.apply(&with(&endpoints("10.0.0.1 !10.0.0.2 :80"), "/metadata/labels", labels));
    assert_eq!(stage.apply(&service(&Value::Null)), woken(0));
    assert_eq!(stage.sync(), "create IPv4 10.0.0.1 !10.0.0.2 :80");
    let labels = stage.slices[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["endpoints.kubernetes.io/managed-by"], "endpoint-controller");
}
