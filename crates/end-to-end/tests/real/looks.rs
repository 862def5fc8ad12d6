//! Whether everything has been looked at, and how often something was counted: what pages of metrics say.

use testenv::{Part, until};

use crate::{programs::Ours, world::World};

/// Waits until our programs have looked at everything since they started.
pub(crate) async fn ours_have(ours: &Ours, world: &World) {
    until("a look of ours at everything", async || {
        let services = ours.services.page("/metrics").await.unwrap().1;
        let mirroring = ours.mirroring.page("/metrics").await.unwrap().1;
        has_looked(&services, &mirroring, world)
    })
    .await
    .unwrap();
}

/// Waits until upstream's controllers have looked at everything since they started.
pub(crate) async fn upstream_has(manager: &Part, world: &World) {
    until("a look of upstream at everything", async || {
        let page = manager.page("/metrics").await.unwrap();
        has_looked(&page, &page, world)
    })
    .await
    .unwrap();
}

fn has_looked(services: &str, mirroring: &str, world: &World) -> bool {
    let mirrored = "endpoint_slice_mirroring_controller_endpoints_sync_duration_count";
    total(services, "endpoint_slice_controller_syncs", |_| true) >= world.services
        && total(mirroring, mirrored, |_| true) >= world.endpoints
}

/// The sum of a metric over those of its labels that are meant, on a page of metrics.
pub(crate) fn total(page: &str, name: &str, is_meant: impl Fn(&str) -> bool) -> usize {
    let values = page.lines().filter_map(|line| {
        let (labels, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
        let whole_name = labels.is_empty() || labels.starts_with('{');
        (whole_name && is_meant(labels)).then_some(value)
    });
    // Counts, though spelled as other numbers are when there are many.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are whole and small"
    )]
    values.map(|value| value.parse::<f64>().unwrap() as usize).sum()
}
