//! A small cluster in which Deployments roll.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use crate::assets::Program;
use crate::component::Component;
use crate::control_plane::{ControlPlane, ControlPlaneBuilder};
use crate::error::Error;
use crate::files::ensure_programs;

/// Controllers that roll Deployments, also in a namespace with a quota, and delete namespaces, without the controllers under test.
const CONTROLLERS: [&str; 6] = [
    "deployment-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
];
const PROGRAMS: [Program; 5] = [
    Program::Etcd,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::KubeScheduler,
    Program::Kwok,
];
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// A control plane with controllers, a scheduler, and nodes in three zones (`zone-a`, `zone-b`, `zone-c`) whose pods
/// are run by a fake kubelet (kwok).
pub struct Cluster {
    control_plane: ControlPlane,
    controller_manager: Component,
    scheduler: Component,
    kwok: Component,
}

impl Cluster {
    /// Starts a cluster with one node per zone.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// A builder for a cluster with other options.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder {
            control_plane: ControlPlane::builder(),
            controllers: CONTROLLERS.map(str::to_owned).to_vec(),
            nodes_per_zone: 1,
        }
    }

    /// The API server and etcd.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// kube-controller-manager.
    #[must_use]
    pub fn controller_manager(&self) -> &Component {
        &self.controller_manager
    }

    /// kube-scheduler.
    #[must_use]
    pub fn scheduler(&self) -> &Component {
        &self.scheduler
    }

    /// kwok, the fake kubelet.
    #[must_use]
    pub fn kwok(&self) -> &Component {
        &self.kwok
    }
}

/// Options of a [`Cluster`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ClusterBuilder {
    control_plane: ControlPlaneBuilder,
    controllers: Vec<String>,
    nodes_per_zone: usize,
}

impl ClusterBuilder {
    /// Replaces the default control plane.
    pub fn control_plane(mut self, control_plane: ControlPlaneBuilder) -> Self {
        self.control_plane = control_plane;
        self
    }

    /// Adds a controller of kube-controller-manager. The default ones are those for Deployments, `ReplicaSets`,
    /// quotas, namespaces, and both kinds of garbage collection; none for `EndpointSlices`.
    pub fn controller(mut self, name: impl Into<String>) -> Self {
        self.controllers.push(name.into());
        self
    }

    /// Number of nodes per zone.
    pub fn nodes_per_zone(mut self, count: usize) -> Self {
        self.nodes_per_zone = count;
        self
    }

    /// Starts everything.
    pub async fn start(self) -> Result<Cluster, Error> {
        // All in one call, so that the log shows the number of pending builds.
        ensure_programs(&PROGRAMS).await?;
        let control_plane = self.control_plane.start().await?;
        create_nodes(&control_plane, self.nodes_per_zone).await?;
        let controllers: Vec<_> = self.controllers.iter().map(String::as_str).collect();
        let (controller_manager, scheduler, kwok) = tokio::try_join!(
            control_plane.controller_manager(&controllers, &[]),
            control_plane.scheduler(),
            control_plane.kwok(),
        )?;
        Ok(Cluster {
            control_plane,
            controller_manager,
            scheduler,
            kwok,
        })
    }
}

async fn create_nodes(control_plane: &ControlPlane, per_zone: usize) -> Result<(), Error> {
    let nodes: Api<Node> = Api::all(control_plane.client()?);
    let params = PostParams::default();
    let created = nodes_of(per_zone).map(|node| {
        let (nodes, params) = (&nodes, &params);
        async move { nodes.create(params, &node).await }
    });
    try_join_all(created)
        .await
        .map_err(Error::request("create the nodes"))?;
    Ok(())
}

fn nodes_of(per_zone: usize) -> impl Iterator<Item = Node> {
    ZONES
        .into_iter()
        .flat_map(move |zone| (1..=per_zone).map(move |number| node(zone, number)))
}

fn node(zone: &str, number: usize) -> Node {
    let name = format!("{zone}-{number}");
    let labels = [
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("topology.kubernetes.io/zone", zone),
    ];
    let capacity: BTreeMap<_, _> = [("cpu", "32"), ("memory", "256Gi"), ("pods", "110")]
        .map(|(resource, amount)| (resource.to_owned(), Quantity(amount.to_owned())))
        .into();
    Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
            ..ObjectMeta::default()
        },
        status: Some(NodeStatus {
            allocatable: Some(capacity.clone()),
            capacity: Some(capacity),
            ..NodeStatus::default()
        }),
        ..Node::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_spread_over_three_zones() {
        let nodes: Vec<_> = nodes_of(2)
            .map(|node| {
                let labels = node.metadata.labels.unwrap();
                (
                    node.metadata.name.unwrap(),
                    labels["topology.kubernetes.io/zone"].clone(),
                )
            })
            .collect();
        let expected = [
            ("zone-a-1", "zone-a"),
            ("zone-a-2", "zone-a"),
            ("zone-b-1", "zone-b"),
            ("zone-b-2", "zone-b"),
            ("zone-c-1", "zone-c"),
            ("zone-c-2", "zone-c"),
        ];
        assert_eq!(nodes, expected.map(|(n, z)| (n.to_owned(), z.to_owned())));
    }
}
