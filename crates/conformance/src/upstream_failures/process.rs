//! The controller under test as a process: ours, or kube-controller-manager with this controller only.

use anyhow::{Result, bail};
use testenv::{CONTROLLERS, Component, ControlPlane, ControllerProcess, FaultProxy};

use super::{Controller, Implementation};

/// Lines of kube-controller-manager's log about a failed sync.
const FAILED_SYNCS: [&str; 2] = [
    "Error syncing endpoint slices for service",
    "Error mirroring EndpointSlices for Endpoints",
];

/// A running controller.
pub(super) enum Process {
    Ours(Box<ControllerProcess>),
    Upstream(Component),
}

impl Process {
    /// Starts the controller, with its requests through the proxy.
    pub(super) async fn start(
        controller: Controller,
        implementation: Implementation<'_>,
        control_plane: &ControlPlane,
        proxy: &FaultProxy<'_>,
        namespace: &str,
    ) -> Result<Self> {
        let index = controller as usize;
        let kubeconfig = proxy.kubeconfig(control_plane.admin())?;
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.path.display());
        Ok(match implementation {
            Implementation::Ours(programs) => {
                let namespace = format!("--namespace={namespace}");
                let process = ControllerProcess::start(&programs[index], &[&kubeconfig, &namespace]).await?;
                process.wait_ready().await?;
                Self::Ours(Box::new(process))
            }
            Implementation::Upstream => {
                // The second kubeconfig replaces the one without the proxy. The proxy reads JSON only.
                let arguments = [&*kubeconfig, "--kube-api-content-type=application/json"];
                let controllers = [CONTROLLERS[index]];
                Self::Upstream(control_plane.controller_manager(&controllers, &arguments).await?)
            }
        })
    }

    /// Stops the controller.
    pub(super) async fn stop(self) -> Result<()> {
        match self {
            Self::Ours(process) => {
                let output = process.stop().await?;
                if output.contains("panicked") {
                    bail!("the controller panicked:\n{output}");
                }
            }
            Self::Upstream(manager) => manager.stop().await?,
        }
        Ok(())
    }

    /// Number of syncs that have ended.
    pub(super) async fn syncs(&self) -> Result<usize> {
        let metrics = self.metrics().await?;
        let names = [
            "endpoint_slice_controller_syncs",
            "endpoint_slice_mirroring_controller_endpoints_sync_duration_count",
        ];
        Ok(names.iter().map(|name| total(&metrics, name)).sum())
    }

    /// Number of failed syncs of a namespace.
    pub(super) async fn failed_syncs(&self, namespace: &str) -> Result<usize> {
        Ok(match self {
            Self::Ours(_) => {
                let metrics = self.metrics().await?;
                let names = [
                    "endpoint_slice_controller_sync_retries_total",
                    "endpoint_slice_mirroring_controller_sync_retries_total",
                ];
                names.iter().map(|name| total(&metrics, name)).sum()
            }
            Self::Upstream(_) => self.failure_lines(namespace).len(),
        })
    }

    /// The errors of failed syncs of a namespace, from the log.
    pub(super) fn errors(&self, namespace: &str) -> Vec<String> {
        let lines = self.failure_lines(namespace).into_iter();
        let errors = lines.map(|line| {
            let (_, error) = line.split_once("err=").unwrap_or(("", &line));
            // A quoted string, perhaps with further fields behind it.
            let quoted = serde_json::Deserializer::from_str(error).into_iter::<String>().next();
            let error = quoted.and_then(Result::ok).unwrap_or_else(|| error.to_owned());
            error.replace(&format!("{namespace}/"), "")
        });
        errors.collect()
    }

    fn failure_lines(&self, namespace: &str) -> Vec<String> {
        let (log, texts) = match self {
            Self::Ours(process) => (process.process.output(), ["WARN", "ERROR"]),
            Self::Upstream(manager) => {
                let log = std::fs::read(manager.log_path()).unwrap_or_default();
                (String::from_utf8_lossy(&log).into_owned(), FAILED_SYNCS)
            }
        };
        let lines = log.lines().filter(|line| line.contains(namespace));
        let lines = lines.filter(|line| texts.iter().any(|text| line.contains(text)));
        lines.map(str::to_owned).collect()
    }

    async fn metrics(&self) -> Result<String> {
        Ok(match self {
            Self::Ours(process) => process.get("/metrics").await?.1,
            Self::Upstream(manager) => manager.get("/metrics").await?,
        })
    }
}

/// The sum of a counter over all labels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are whole and small"
)]
fn total(page: &str, name: &str) -> usize {
    let values = page.lines().filter_map(|line| {
        let (labels, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
        let is_exact_name = labels.is_empty() || labels.starts_with('{');
        is_exact_name.then(|| value.parse::<f64>().ok())?
    });
    values.map(|value| value as usize).sum()
}
