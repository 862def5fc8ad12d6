//! What is known of a pod.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::slice::Condition;
use crate::demo::objects::{APP, DUAL_STACK, VERSION};

/// A pod, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::demo) struct PodView {
    pub(in crate::demo) name: String,
    pub(in crate::demo) uid: String,
    pub(in crate::demo) app: String,
    pub(in crate::demo) version: String,
    pub(in crate::demo) node: String,
    pub(in crate::demo) addresses: Vec<String>,
    /// Whether it should have an address of each family.
    pub(in crate::demo) dual_stack: bool,
    pub(in crate::demo) ready: bool,
    /// It was asked to end.
    pub(in crate::demo) leaving: bool,
}

impl PodView {
    pub(in crate::demo) fn of(pod: &Pod) -> Self {
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
            leaving: pod.metadata.deletion_timestamp.is_some(),
        }
    }

    /// How slices should show it, once it is known to them.
    pub(super) fn wanted(&self) -> Option<Condition> {
        if self.addresses.is_empty() {
            return None;
        }
        Some(match (self.ready, self.leaving) {
            (true, false) => Condition::Ready,
            (true, true) => Condition::Terminating,
            (false, _) => Condition::NotReady,
        })
    }
}
