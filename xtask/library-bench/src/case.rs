//! What happens between the slices that there are and the sync that is timed.

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

/// What happened before the sync.
#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(crate) enum Case {
    /// There are no slices yet.
    Scratch,
    /// Nothing.
    Nothing,
    /// One pod is no longer ready.
    Flip,
    /// Every tenth pod was replaced by another.
    Replace10,
    /// As flip, with endpoints of both families.
    DualStack,
    /// As flip, with hints by the zones' CPUs.
    Auto,
    /// As flip, with hints for the same zone.
    SameZone,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.pad(value.get_name()))
    }
}

/// Everything that a sync looks at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sync {
    pub(crate) service: Service,
    pub(crate) pods: Vec<Pod>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) existing_slices: Vec<EndpointSlice>,
}

impl Case {
    /// The objects of a sync with this many pods.
    pub(crate) fn prepare(self, pods: usize) -> anyhow::Result<Sync> {
        let mut cluster = Cluster::new(pods);
        let mut sync = Sync {
            service: self.service()?,
            pods: cluster.pods(pods)?,
            nodes: cluster.nodes()?,
            existing_slices: Vec::new(),
        };
        if matches!(self, Self::Scratch) {
            return Ok(sync);
        }
        sync.existing_slices = ours::slices_from_scratch(&sync)?;
        match self {
            Self::Scratch | Self::Nothing => {}
            Self::Replace10 => {
                let replaced = sync.pods.iter_mut().step_by(10);
                for (pod, other) in replaced.zip(cluster.pods(pods.div_ceil(10))?) {
                    *pod = other;
                }
            }
            Self::Flip | Self::DualStack | Self::Auto | Self::SameZone => {
                if let Some(pod) = sync.pods.get_mut(pods / 2) {
                    unready(pod);
                }
            }
        }
        Ok(sync)
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

fn unready(pod: &mut Pod) {
    let conditions = pod
        .status
        .iter_mut()
        .flat_map(|status| status.conditions.iter_mut().flatten());
    for condition in conditions.filter(|condition| condition.type_ == "Ready") {
        "False".clone_into(&mut condition.status);
    }
}
