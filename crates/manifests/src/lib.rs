//! The Kubernetes objects that deploy the controllers, built from typed values.
//!
//! [`objects`] returns them for server-side apply; [`files`] returns what `cargo xtask manifests` writes into `deploy/`: plain
//! YAML, kustomizations and a Helm chart with the same objects. Names, ports and RBAC rules are the constants of the programs.

mod access;
mod chart;
mod controller;
mod deployment;
mod files;
mod flow_control;
mod monitoring;
mod network;
mod yaml;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::Namespace,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use kube::core::DynamicObject;
use serde::Serialize;

pub use access::role_name;
pub use controller::Controller;
pub use deployment::TOLERATED_TAINTS;
pub use files::{GENERATED_DIRECTORIES, files};

/// The namespace of all namespaced objects, except for the Role and `RoleBinding` of the Lease.
pub const NAMESPACE: &str = "endpointslice-system";
/// The namespace of the Leases, and so of the Roles for them: the default of the programs.
pub const LEASE_NAMESPACE: &str = "kube-system";
/// Value of the label `app.kubernetes.io/part-of` of every object.
pub const PART_OF: &str = "endpointslice-rs";
/// Label with the name of the program that an object belongs to. Objects that both programs share have [`PART_OF`] there.
pub const NAME_LABEL: &str = "app.kubernetes.io/name";
/// Label that every object has, with the value [`PART_OF`].
pub const PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
/// Label with the version of the programs.
pub const VERSION_LABEL: &str = "app.kubernetes.io/version";
/// The version of the programs, which is the tag of the default images.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Name of the port of metrics and probes, in containers and Services.
const PORT_NAME: &str = "https-metrics";

/// What differs between two deployments of the same controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Image of every controller given to [`objects`]. `NAME:VERSION` of the program if it is `None`.
    pub image: Option<String>,
    /// Number of replicas; always 1 for a shadow.
    pub replicas: i32,
    /// The controllers report what they would write, and may write nothing. They have no Lease.
    pub shadow: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            image: None,
            replicas: 2,
            shadow: false,
        }
    }
}

/// The objects of these controllers, in the order in which they are to be applied: first what both share, from the Namespace on.
#[must_use]
pub fn objects(controllers: &[Controller], options: &Options) -> Vec<DynamicObject> {
    let own = controllers
        .iter()
        .flat_map(|&controller| controller_objects(controller, options));
    shared_objects().into_iter().chain(own).collect()
}

/// What Prometheus and Grafana need for these controllers; the Prometheus operator must be installed.
#[must_use]
pub fn monitoring_objects(controllers: &[Controller]) -> Vec<DynamicObject> {
    let rules = controllers
        .iter()
        .map(|&controller| monitoring::prometheus_rule(controller));
    monitoring::shared_objects().into_iter().chain(rules).collect()
}

/// What every deployment needs once.
fn shared_objects() -> Vec<DynamicObject> {
    vec![
        namespace(),
        deployment::quota(),
        access::metrics_reader(),
        flow_control::priority_level_configuration(),
    ]
}

/// The objects of one controller; the Deployment is last, so that its pods find everything.
fn controller_objects(controller: Controller, options: &Options) -> Vec<DynamicObject> {
    let mut objects = access::objects(controller, options);
    if !options.shadow {
        objects.push(flow_control::lease_flow_schema(controller));
    }
    objects.extend([
        flow_control::flow_schema(controller),
        network::metrics_service(controller),
        network::network_policy(controller),
        deployment::disruption_budget(controller),
        deployment::deployment(controller, options),
    ]);
    objects
}

fn namespace() -> DynamicObject {
    let mut metadata = ObjectMeta {
        name: Some(NAMESPACE.to_owned()),
        labels: Some(labels(PART_OF)),
        ..ObjectMeta::default()
    };
    // The host network is forbidden by the stricter levels, which may be the default of a cluster.
    for mode in ["enforce", "audit", "warn"] {
        let label = format!("pod-security.kubernetes.io/{mode}");
        metadata
            .labels
            .get_or_insert_default()
            .insert(label, "privileged".to_owned());
    }
    dynamic(&Namespace {
        metadata,
        ..Namespace::default()
    })
}

/// The labels of an object.
fn labels(name: &str) -> BTreeMap<String, String> {
    let labels = [(NAME_LABEL, name), (PART_OF_LABEL, PART_OF), (VERSION_LABEL, VERSION)];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// The labels that select the pods of a controller: without the version, since selectors of Deployments are immutable.
fn selector(controller: Controller) -> LabelSelector {
    let mut labels = labels(controller.name());
    labels.remove(VERSION_LABEL);
    LabelSelector {
        match_labels: Some(labels),
        ..LabelSelector::default()
    }
}

/// Metadata of an object in [`NAMESPACE`] that belongs to a controller.
fn namespaced(controller: Controller, name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(NAMESPACE.to_owned()),
        ..cluster_scoped(controller.name(), name)
    }
}

/// Metadata of an object in [`NAMESPACE`] that both controllers share.
fn shared(name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(NAMESPACE.to_owned()),
        ..cluster_scoped(PART_OF, name)
    }
}

/// Metadata of an object without a namespace; `label` is the value of [`NAME_LABEL`].
fn cluster_scoped(label: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels(label)),
        ..ObjectMeta::default()
    }
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| &types.kind)
}

/// An object in the form that holds every kind.
fn dynamic(object: &impl Serialize) -> DynamicObject {
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .expect("API objects have string keys, a kind and metadata")
}

#[cfg(test)]
mod tests;
