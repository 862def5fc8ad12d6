//! Past failures of upstream, on the real control plane with our controllers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

use std::{collections::BTreeSet, path::PathBuf, sync::LazyLock};

use conformance::upstream_failures::{Environment, Failure, Implementation, Outcome, all};
use testenv::CONTROLLERS;
use tokio::sync::OnceCell;

/// Shared by all tests; killed with the test process.
static ENVIRONMENT: OnceCell<Environment> = OnceCell::const_new();
/// Built once for all tests.
static PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| testenv::build(&CONTROLLERS).unwrap());

async fn passes(name: &str) {
    let programs = tokio::task::spawn_blocking(|| LazyLock::force(&PROGRAMS))
        .await
        .unwrap();
    let environment = ENVIRONMENT
        .get_or_init(async || Environment::start().await.unwrap())
        .await;
    let failure = all().into_iter().find(|failure| failure.name == name).unwrap();
    let outcome = failure.run(environment, Implementation::Ours(programs)).await;
    assert!(matches!(outcome, Outcome::Ok), "{}: {outcome:?}", failure.description);
}

/// A test for each past failure, of the same name.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() {
            passes(stringify!($name)).await;
        })*

        #[test]
        fn every_past_failure_has_a_test() {
            let names: BTreeSet<&str> = all().iter().map(|failure: &Failure| failure.name).collect();
            assert_eq!(names, BTreeSet::from([$(stringify!($name)),*]));
        }
    };
}

tests! {
    upstream_107927_missing_node_blocks_no_other_pod,
    upstream_108267_foreign_metadata_survives_scaling_to_zero,
    upstream_108779_terminating_slice_blocks_no_service,
    upstream_112143_mirrored_slice_is_recreated_after_restart,
    upstream_123401_hints_return_with_the_zone_label,
    upstream_125354_endpoints_recreated_during_restart_are_mirrored,
    upstream_127370_126578_update_without_effect_blocks_nothing,
    upstream_136502_headless_service_without_ports_is_not_rewritten,
    upstream_141592_recreated_service_is_published,
    upstream_90276_deleted_slice_needs_no_deletion,
    upstream_93374_100033_stale_cache_creates_no_second_slice,
    upstream_d10_reserved_labels_cause_no_write,
    upstream_d1_ports_of_both_families_change_without_an_error,
    upstream_d2_relabelled_mirrored_slice_is_replaced,
    upstream_d3_ports_of_one_name_are_mirrored,
    upstream_d4_not_ready_wins_with_application_protocol,
    upstream_d5_deleted_mirrored_slice_needs_no_deletion,
    upstream_d8_terminating_mirrored_slice_blocks_no_endpoints,
    upstream_h35_auto_removes_node_hints,
    upstream_h36_endpoint_that_is_not_ready_keeps_no_hint,
    upstream_h37_missing_zone_causes_no_write,
    upstream_h44_zone_without_nodes_causes_no_write,
    upstream_h53b_unreachable_share_causes_no_write,
    upstream_h54_family_with_hints_is_reported_once,
    upstream_m94_foreign_finalizer_survives_an_update,
    upstream_r110a_lost_response_creates_no_second_slice,
    upstream_w1_relabelled_slice_is_replaced,
    upstream_w2_deleted_slice_is_recreated_after_restart,
    upstream_x2_failed_pod_is_removed,
}
