//! A Service that gains or loses its selector (S6, S7, invariants.md §5).

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A mirrored Service that has just gained a selector and was synced: the grace period has started.
fn in_grace_period() -> Harness {
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    assert_eq!(harness.apply(&service_with_selector()), enqueued_after(0));
    let SyncResult {
        plan, requeue_after, ..
    } = harness.sync_result();
    assert_eq!((plan, requeue_after), (Plan::default(), Some(5 * SECOND)));
    harness
}

#[test]
fn s6_mirrored_slices_are_deleted_once_a_pod_slice_exists() {
    let mut harness = in_grace_period();
    assert_eq!(harness.apply(&pod_slice("other", "another")), []);
    assert_eq!(harness.sync(), "");
    // The batch period applies to changes of slices (M25).
    assert_eq!(harness.apply(&pod_slice("slice", "test-ep")), enqueued_after(10));
    assert_eq!(harness.sync(), "delete");
    assert_eq!(harness.apply(&pod_slice("second", "test-ep")), []);
}

#[test]
fn s6_mirrored_slices_are_deleted_at_once_if_a_pod_slice_exists_already() {
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    assert_eq!(harness.apply(&pod_slice("slice", "test-ep")), []);
    harness.apply(&service_with_selector());
    assert_eq!(harness.sync(), "delete");
}

#[test]
fn s6_mirrored_slices_are_deleted_after_five_seconds_at_the_latest() {
    let mut harness = in_grace_period();
    for remaining in [4, 3, 2, 1] {
        harness.advance_clock(SECOND);
        assert_eq!(harness.sync_result().requeue_after, Some(remaining * SECOND));
    }
    harness.advance_clock(SECOND);
    assert_eq!(harness.sync_result().requeue_after, None);
    assert_eq!(harness.sync(), "delete");
}

/// A clock jump can shorten or restart the grace period, but it always ends.
#[test]
fn s6_a_clock_that_is_set_back_restarts_the_grace_period() {
    let mut harness = in_grace_period();
    harness.now -= Duration::from_hours(1);
    assert_eq!(harness.sync_result().requeue_after, Some(5 * SECOND));
    harness.advance_clock(4 * SECOND);
    assert_eq!(harness.sync_result().requeue_after, Some(SECOND));
    harness.advance_clock(SECOND);
    assert_eq!(harness.sync(), "delete");
}

/// The time of the selector change is not known after a restart, so the grace period starts with the first sync.
#[test]
fn s6_a_restart_of_the_controller_restarts_the_grace_period() {
    let before = in_grace_period();
    let mut harness = Harness::new();
    harness.slices.clone_from(&before.slices);
    harness.now = before.now + 4 * SECOND;
    harness.apply(&service_with_selector());
    harness.apply(&endpoints("10.0.0.1 :80"));
    assert_eq!(harness.sync_result().requeue_after, Some(5 * SECOND));
    harness.advance_clock(5 * SECOND);
    assert_eq!(harness.sync(), "delete");
}

/// The Endpoints controller writes the object now, so its changes are not mirrored.
#[test]
fn s6_slices_are_not_updated_during_the_grace_period() {
    let mut harness = in_grace_period();
    assert_eq!(harness.apply(&endpoints("10.0.0.7 :80")), []);
    assert_eq!(harness.sync(), "");
}

/// The grace period needs a live slice, an Endpoints object and a Service.
#[test]
fn s6_no_grace_period_without_slices_endpoints_or_service() {
    let mut harness = Harness::mirrored("");
    harness.apply(&service_with_selector());
    assert_eq!(harness.sync_result().requeue_after, None, "no slices");

    let mut harness = Harness::mirrored("10.0.0.1 :80");
    let timestamp = serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap();
    harness.slices[0].metadata.deletion_timestamp = Some(timestamp);
    harness.apply(&service_with_selector());
    assert_eq!(harness.sync_result().requeue_after, None, "only terminating slices");

    let mut harness = in_grace_period();
    assert_eq!(harness.delete(Watch::Endpoints, "test-ep"), enqueued_after(0));
    assert_eq!(harness.sync(), "delete", "no Endpoints object");

    let mut harness = in_grace_period();
    harness.delete(Watch::Services, "test-ep");
    assert_eq!(harness.sync(), "delete", "no Service");
}

/// Relabelled and deleted pod slices do not count.
#[test]
fn s6_only_current_pod_slices_count() {
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    harness.apply(&pod_slice("a", "test-ep"));
    harness.apply(&pod_slice("a", "test-ep"));
    harness.apply(&pod_slice("a", "another"));
    harness.apply(&pod_slice("b", "test-ep"));
    harness.delete(Watch::PodSlices, "b");
    harness.delete(Watch::PodSlices, "b");
    harness.apply(&service_with_selector());
    assert_eq!(harness.sync_result().requeue_after, Some(5 * SECOND));
    assert_eq!(harness.apply(&pod_slice("a", "test-ep")), enqueued_after(10));
    assert_eq!(harness.sync(), "delete");
}

/// Each new selector starts a new grace period.
#[test]
fn s6_a_selector_that_is_set_again_restarts_the_grace_period() {
    let mut harness = in_grace_period();
    harness.advance_clock(4 * SECOND);
    assert_eq!(harness.apply(&service(&Value::Null)), enqueued_after(0));
    assert_eq!(harness.sync(), "");
    harness.apply(&service_with_selector());
    assert_eq!(harness.sync_result().requeue_after, Some(5 * SECOND));
}

/// All addresses are mirrored, also of deleted pods. Slices of the EndpointSlice controller are not touched.
#[test]
fn s7_endpoints_are_mirrored_unchanged_when_the_selector_is_removed() {
    let labels = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    let mut harness = Harness::new();
    harness.apply(&service_with_selector());
    harness.apply(&pod_slice("slice", "test-ep"));
    harness.apply(&with(&endpoints("10.0.0.1 !10.0.0.2 :80"), "/metadata/labels", labels));
    assert_eq!(harness.apply(&service(&Value::Null)), enqueued_after(0));
    assert_eq!(harness.sync(), "create IPv4 10.0.0.1 !10.0.0.2 :80");
    let labels = harness.slices[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["endpoints.kubernetes.io/managed-by"], "endpoint-controller");
}
