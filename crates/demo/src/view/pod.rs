//! The shown fields of a pod.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::slice::Condition;
use crate::objects::{APP, DUAL_STACK, VERSION};

/// The fields of a pod that the demo uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodView {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) app: String,
    pub(crate) version: String,
    pub(crate) node: String,
    pub(crate) addresses: Vec<String>,
    /// Whether it should have an address of each IP family.
    pub(crate) dual_stack: bool,
    pub(crate) ready: bool,
    /// Whether it has a deletion timestamp.
    pub(crate) terminating: bool,
}

impl PodView {
    pub(crate) fn from_pod(pod: &Pod) -> Self {
        let label = |key: &str| pod.labels().get(key).cloned().unwrap_or_default();
        let status = pod.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let is_ready = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True");
        let addresses = status.and_then(|status| status.pod_ips.as_ref());
        Self {
            name: pod.name_any(),
            uid: pod.uid().unwrap_or_default(),
            app: label(APP),
            version: label(VERSION),
            node: pod
                .spec
                .as_ref()
                .and_then(|spec| spec.node_name.clone())
                .unwrap_or_default(),
            addresses: addresses
                .into_iter()
                .flatten()
                .map(|address| address.ip.clone())
                .collect(),
            dual_stack: label(DUAL_STACK) == "true",
            ready: is_ready,
            terminating: pod.metadata.deletion_timestamp.is_some(),
        }
    }

    /// The condition in which slices should publish the pod; none without an address.
    pub(super) fn desired_condition(&self) -> Option<Condition> {
        if self.addresses.is_empty() {
            return None;
        }
        Some(match (self.ready, self.terminating) {
            (true, false) => Condition::Ready,
            (true, true) => Condition::Terminating,
            (false, _) => Condition::NotReady,
        })
    }
}
