//! The acts of the demo: changes in the cluster, the same on every API server. The [`Stage`] applies them.

use anyhow::Result;
use serde_json::json;
use slice_oracle::Window;

use super::{
    objects::{Deployment, dual_stack_service, endpoints, selectorless_service, service},
    stage::Stage,
};

/// More than one slice can hold.
const MANY: usize = 130;
const FEW: usize = 9;
const NODE: &str = "zone-b-1";

const WEB: Deployment = Deployment {
    app: "web",
    version: "v1",
    replicas: FEW,
    dual_stack: false,
};
const API: Deployment = Deployment {
    app: "api",
    version: "v1",
    replicas: 6,
    dual_stack: true,
};

/// One act: a change in the cluster that shows one behaviour of the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Rollout,
    RollingUpdate,
    TrafficDistribution,
    ScaleUp,
    NodeDown,
    DualStack,
    Mirrored,
    Drained,
}

impl Act {
    pub(super) const ALL: [Self; 8] = [
        Self::Rollout,
        Self::RollingUpdate,
        Self::TrafficDistribution,
        Self::ScaleUp,
        Self::NodeDown,
        Self::DualStack,
        Self::Mirrored,
        Self::Drained,
    ];

    /// Short title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rollout => "a rollout",
            Self::RollingUpdate => "a rolling update",
            Self::TrafficDistribution => "traffic distribution",
            Self::ScaleUp => "past one slice",
            Self::NodeDown => "a node goes down",
            Self::DualStack => "dual-stack",
            Self::Mirrored => "mirrored",
            Self::Drained => "drained",
        }
    }

    /// One sentence about the change and its effect.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Rollout => "Service web has an empty slice, then 9 pods in three zones fill it",
            Self::RollingUpdate => "web moves to v2; old pods are serving and terminating until they are deleted",
            Self::TrafficDistribution => "web sets PreferSameZone: a hint for each endpoint, one write for each slice",
            Self::ScaleUp => "web scales to 130 pods; a slice holds at most 100 endpoints",
            Self::NodeDown => {
                "pods on zone-b-1 become not ready, then are deleted with the node; new pods replace them"
            }
            Self::DualStack => "Service api is dual-stack, with slices of each address type",
            Self::Mirrored => "Service db has no selector; its Endpoints object is created, then changed",
            Self::Drained => "web scales to zero; one slice without endpoints remains",
        }
    }

    /// How many writes the invariants allow in this act.
    pub(super) fn window(self) -> Window {
        match self {
            Self::TrafficDistribution => Window::OneWritePerSlice,
            _ => Window::Any,
        }
    }

    /// Applies the change and waits until the slices have converged.
    pub(super) async fn run(self, stage: &Stage) -> Result<()> {
        let [few, many, nothing] = [FEW, MANY, 0].map(|replicas| Deployment {
            version: "v2",
            replicas,
            ..WEB
        });
        match self {
            Self::Rollout => {
                stage.create_service(service(WEB.app)).await?;
                stage.wait_converged().await?;
                stage.deploy(WEB).await?;
            }
            Self::RollingUpdate => stage.deploy(few).await?,
            Self::TrafficDistribution => {
                let preference = json!({"spec": {"trafficDistribution": "PreferSameZone"}});
                stage.patch_service(WEB.app, preference).await?;
            }
            Self::ScaleUp => stage.deploy(many).await?,
            Self::NodeDown => {
                stage.mark_node_unreachable(NODE).await?;
                stage.wait_converged().await?;
                let node = stage.delete_node(NODE).await?;
                stage.deploy(many).await?;
                stage.wait_converged().await?;
                stage.recreate_node(node).await?;
            }
            Self::DualStack => {
                stage.create_service(dual_stack_service(API.app)).await?;
                stage.deploy(API).await?;
            }
            Self::Mirrored => {
                stage.create_service(selectorless_service("db")).await?;
                let two = endpoints("db", &["192.0.2.1", "192.0.2.2"], &["192.0.2.3"]);
                stage.write_endpoints(two).await?;
                stage.wait_converged().await?;
                let three = endpoints("db", &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &[]);
                stage.write_endpoints(three).await?;
            }
            Self::Drained => stage.deploy(nothing).await?,
        }
        stage.wait_converged().await
    }
}
