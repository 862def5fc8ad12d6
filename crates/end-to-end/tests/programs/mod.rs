//! Both of our programs, running together.

use std::{path::PathBuf, sync::LazyLock};

use testenv::{Program, until};

const PACKAGES: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// Where they are; built once for all tests.
static BUILT: LazyLock<Vec<PathBuf>> = LazyLock::new(|| testenv::build(&PACKAGES).unwrap());

/// Both of our programs, running.
pub(crate) struct Ours {
    pub(crate) services: Program,
    pub(crate) mirroring: Program,
}

impl Ours {
    /// Starts both, each with these arguments, and waits until they know the cluster.
    pub(crate) async fn start(both: &[&str], services: &[&str], mirroring: &[&str]) -> Self {
        let programs = tokio::task::spawn_blocking(|| LazyLock::force(&BUILT)).await.unwrap();
        let ours = Self {
            services: Program::start(&programs[0], &[both, services].concat()).await.unwrap(),
            mirroring: Program::start(&programs[1], &[both, mirroring].concat()).await.unwrap(),
        };
        ours.services.ready().await.unwrap();
        ours.mirroring.ready().await.unwrap();
        ours
    }

    /// Waits until they have looked at so many Services and Endpoints objects since they started.
    pub(crate) async fn have_looked_at(&self, services: usize, endpoints: usize) {
        until("both look at everything", async || {
            let page = self.services.page("/metrics").await.unwrap().1;
            let done = total(&page, "endpoint_slice_controller_syncs", |_| true) >= services;
            let page = self.mirroring.page("/metrics").await.unwrap().1;
            done && total(
                &page,
                "endpoint_slice_mirroring_controller_endpoints_sync_duration_count",
                |_| true,
            ) >= endpoints
        })
        .await
        .unwrap();
    }

    /// Stops both.
    pub(crate) async fn stop(self) {
        self.services.stop().await.unwrap();
        self.mirroring.stop().await.unwrap();
    }
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
