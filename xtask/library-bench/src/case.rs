//! Benchmark cases: the input of the timed sync.

use std::fmt;

use clap::ValueEnum;
use k8s_openapi::api::{
    core::v1::{Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use serde::Serialize;
use serde_json::{Value, json};
use slice_core::well_known::TOPOLOGY_MODE_ANNOTATION;

use crate::{
    cluster::{Cluster, service},
    ours,
};

/// The change between the existing slices and the timed sync.
#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(crate) enum Case {
    /// No slice exists.
    Scratch,
    /// No change.
    Nothing,
    /// One pod becomes not ready.
    Flip,
    /// Every tenth pod is replaced by a new one.
    Replace10,
    /// Like flip, with a dual-stack Service.
    DualStack,
    /// Like flip, with topology hints (annotation `Auto`).
    Auto,
    /// Like flip, with trafficDistribution `PreferSameZone`.
    SameZone,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.pad(value.get_name()))
    }
}

/// The objects that a sync reads.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncInput {
    pub(crate) service: Service,
    pub(crate) pods: Vec<Pod>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) existing_slices: Vec<EndpointSlice>,
}

impl Case {
    /// Builds the input of a sync with this number of pods.
    pub(crate) fn prepare(self, pods: usize) -> anyhow::Result<SyncInput> {
        let mut cluster = Cluster::new(pods);
        let mut input = SyncInput {
            service: self.service()?,
            pods: cluster.pods(pods)?,
            nodes: cluster.nodes()?,
            existing_slices: Vec::new(),
        };
        if matches!(self, Self::Scratch) {
            return Ok(input);
        }
        input.existing_slices = ours::slices_from_scratch(&input)?;
        match self {
            Self::Scratch | Self::Nothing => {}
            Self::Replace10 => {
                let replaced = input.pods.iter_mut().step_by(10);
                for (pod, other) in replaced.zip(cluster.pods(pods.div_ceil(10))?) {
                    *pod = other;
                }
            }
            Self::Flip | Self::DualStack | Self::Auto | Self::SameZone => {
                if let Some(pod) = input.pods.get_mut(pods / 2) {
                    set_not_ready(pod);
                }
            }
        }
        Ok(input)
    }

    fn service(self) -> anyhow::Result<Service> {
        let families = match self {
            Self::DualStack => json!(["IPv4", "IPv6"]),
            _ => json!(["IPv4"]),
        };
        let annotations = match self {
            Self::Auto => json!({TOPOLOGY_MODE_ANNOTATION: "Auto"}),
            _ => Value::Null,
        };
        let traffic_distribution = match self {
            Self::SameZone => json!("PreferSameZone"),
            _ => Value::Null,
        };
        service(&families, &annotations, &traffic_distribution)
    }
}

fn set_not_ready(pod: &mut Pod) {
    let conditions = pod
        .status
        .iter_mut()
        .flat_map(|status| status.conditions.iter_mut().flatten());
    for condition in conditions.filter(|condition| condition.type_ == "Ready") {
        "False".clone_into(&mut condition.status);
    }
}
