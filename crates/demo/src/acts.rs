//! The story, act by act. What happens is the same on every API server; who makes it happen is up to the [`Stage`].

use anyhow::Result;
use serde_json::json;
use slice_oracle::Window;

use super::{
    objects::{Deployment, bare_service, dual_stack_service, endpoints, service},
    stage::Stage,
};

/// More than one slice holds.
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

/// A part of the story.
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

    /// What it is called.
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

    /// What happens.
    pub(super) fn tells(self) -> &'static str {
        match self {
            Self::Rollout => "Service web has an empty slice, then 9 pods in three zones fill it",
            Self::RollingUpdate => "web moves to v2; old pods serve what they have until they are gone",
            Self::TrafficDistribution => {
                "web prefers the same zone: a hint for each endpoint, one write for each slice"
            }
            Self::ScaleUp => "web grows to 130 pods, but a slice holds 100 endpoints",
            Self::NodeDown => "pods on zone-b-1 turn not ready, then go with the node; others take their place",
            Self::DualStack => "Service api has addresses of both families, and slices of each",
            Self::Mirrored => "Service db has no selector; somebody writes Endpoints for it, and changes them",
            Self::Drained => "web is scaled to zero; one slice stays and says that there is nothing",
        }
    }

    /// How many writes are right.
    pub(super) fn window(self) -> Window {
        match self {
            Self::TrafficDistribution => Window::OneWritePerSlice,
            _ => Window::Any,
        }
    }

    /// Makes it happen, and waits until the slices are as they should be.
    pub(super) async fn play(self, stage: &Stage) -> Result<()> {
        let [few, many, nothing] = [FEW, MANY, 0].map(|replicas| Deployment {
            version: "v2",
            replicas,
            ..WEB
        });
        match self {
            Self::Rollout => {
                stage.create_service(service(WEB.app)).await?;
                stage.rest().await?;
                stage.deploy(WEB).await?;
            }
            Self::RollingUpdate => stage.deploy(few).await?,
            Self::TrafficDistribution => {
                let preference = json!({"spec": {"trafficDistribution": "PreferSameZone"}});
                stage.patch_service(WEB.app, preference).await?;
            }
            Self::ScaleUp => stage.deploy(many).await?,
            Self::NodeDown => {
                stage.node_falls_silent(NODE).await?;
                stage.rest().await?;
                let node = stage.node_leaves(NODE).await?;
                stage.deploy(many).await?;
                stage.rest().await?;
                stage.node_returns(node).await?;
            }
            Self::DualStack => {
                stage.create_service(dual_stack_service(API.app)).await?;
                stage.deploy(API).await?;
            }
            Self::Mirrored => {
                stage.create_service(bare_service("db")).await?;
                let two = endpoints("db", &["192.0.2.1", "192.0.2.2"], &["192.0.2.3"]);
                stage.write_endpoints(two).await?;
                stage.rest().await?;
                let three = endpoints("db", &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &[]);
                stage.write_endpoints(three).await?;
            }
            Self::Drained => stage.deploy(nothing).await?,
        }
        stage.rest().await
    }
}
