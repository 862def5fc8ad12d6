//! The fault matrix of docs/spec/invariants.md §3 on the real control plane: the `EndpointSlice` controller behind the fault
//! proxy, over HTTP/1.1 and HTTP/2. Each test is named after its row and asserts the figure of the row from the proxy's record
//! of requests and the oracle.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

#[path = "../accounts/mod.rs"]
mod accounts;
mod connections;
mod crashes;
mod environment;
mod failover;
mod fixtures;
mod harness;
mod isolation;
mod objects;
mod permissions;
mod processes;
mod requests;
mod servers;
mod watches;

/// Runs every row in its own `#[tokio::test]`, over both protocols.
macro_rules! rows {
    ($($(#[$attribute:meta])* $module:ident::$row:ident),* $(,)?) => {
        mod http1 {
            $(#[tokio::test]
            $(#[$attribute])*
            async fn $row() {
                crate::$module::$row(testenv::Protocol::Http1).await;
            })*
        }

        mod http2 {
            $(#[tokio::test]
            $(#[$attribute])*
            async fn $row() {
                crate::$module::$row(testenv::Protocol::Http2).await;
            })*
        }
    };
}

rows! {
    connections::f9_frozen_connections_are_replaced,
    connections::f12_drained_connections_are_replaced,
    isolation::f4_a_denied_service_does_not_stop_others,
    isolation::f4_hanging_writes_of_many_services_do_not_stop_others,
    objects::f23_a_recreated_service_gets_slices_of_its_own,
    objects::f24_a_foreign_change_is_repaired_by_one_write,
    objects::f24_rewritten_labels_cause_no_hot_loop,
    objects::f25_invalid_objects_stop_no_stream,
    objects::f25_invalid_endpoints_stop_no_stream,
    processes::f9_a_stopped_api_server_is_survived,
    processes::f12_a_killed_api_server_is_survived,
    processes::f13_a_stalled_etcd_causes_no_duplicate,
    processes::f13_a_restarted_etcd_causes_no_duplicate,
    processes::f14_an_older_etcd_is_noticed,
    requests::f1_a_conflict_is_resolved_by_two_writes,
    requests::f1_a_conflict_of_mirroring_is_resolved_by_two_writes,
    requests::f2_a_deleted_slice_is_recreated,
    requests::f3_a_deleted_slice_needs_no_deletion,
    requests::f5_a_denied_write_heals_one_step_after_the_repair,
    requests::f6_retry_after_is_honoured_without_a_relist,
    requests::f7_lost_answers_leave_no_duplicate,
    requests::f7_lost_answers_to_mirroring_leave_no_duplicate,
    requests::f22_a_terminating_namespace_causes_no_retries,
    servers::f15_a_stale_api_server_removes_nothing,
    servers::f21_replaced_certificates_are_reloaded,
    watches::f8_a_cut_watch_is_resumed_without_a_list,
    watches::f10_no_write_before_every_cache_is_synced,
    watches::f11_a_relist_of_unchanged_objects_writes_nothing,
    watches::f11_a_compaction_causes_a_relist_without_writes,
    watches::f11_a_relist_of_unchanged_endpoints_writes_nothing,
    watches::f16_a_held_stream_causes_no_flap,
}
