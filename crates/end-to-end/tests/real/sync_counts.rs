//! Sync counts from metrics: waits until all keys were synced.

use testenv::{Component, until};

use crate::{controllers::OurControllers, harness::Harness};

/// Waits until our controllers have synced all keys since their start.
pub(crate) async fn wait_for_ours(ours: &OurControllers, harness: &Harness) {
    until("sync of all keys by our controllers", async || {
        let services = ours.services.get("/metrics").await.unwrap().1;
        let mirroring = ours.mirroring.get("/metrics").await.unwrap().1;
        all_synced(&services, &mirroring, harness)
    })
    .await
    .unwrap();
}

/// Waits until upstream's controllers have synced all keys since their start.
pub(crate) async fn wait_for_upstream(manager: &Component, harness: &Harness) {
    until("sync of all keys by upstream", async || {
        let page = manager.get("/metrics").await.unwrap();
        all_synced(&page, &page, harness)
    })
    .await
    .unwrap();
}

fn all_synced(services: &str, mirroring: &str, harness: &Harness) -> bool {
    let mirrored = "endpoint_slice_mirroring_controller_endpoints_sync_duration_count";
    total(services, "endpoint_slice_controller_syncs", |_| true) >= harness.services
        && total(mirroring, mirrored, |_| true) >= harness.endpoints
}

/// The sum of a metric over the series whose labels match.
pub(crate) fn total(page: &str, name: &str, matches: impl Fn(&str) -> bool) -> usize {
    let values = page.lines().filter_map(|line| {
        let (labels, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
        let is_exact_name = labels.is_empty() || labels.starts_with('{');
        (is_exact_name && matches(labels)).then_some(value)
    });
    // Large counts are written in exponent notation.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are whole and small"
    )]
    values.map(|value| value.parse::<f64>().unwrap() as usize).sum()
}
