//! Nodes: defaults.

use k8s_openapi::api::core::v1::Node;

use super::{ClusterIps, Kind};
use crate::validation::{FieldError, metadata, node};

impl Kind for Node {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.metadata.namespace = None;
        let spec = self.spec.get_or_insert_default();
        // The singular field takes precedence if both differ.
        spec.pod_cidr.take_if(|cidr| cidr.is_empty());
        spec.pod_cidrs.take_if(|cidrs| cidrs.is_empty());
        let first = spec.pod_cidrs.as_ref().and_then(|cidrs| cidrs.first());
        match (&spec.pod_cidr, first) {
            (Some(one), first) if Some(one) != first => spec.pod_cidrs = Some(vec![one.clone()]),
            (None, Some(first)) => spec.pod_cidr = Some(first.clone()),
            _ => {}
        }
        spec.unschedulable.take_if(|unschedulable| !*unschedulable);
        let status = self.status.get_or_insert_default();
        status.node_info.get_or_insert_default();
        let endpoints = status.daemon_endpoints.get_or_insert_default();
        endpoints.kubelet_endpoint.get_or_insert_default();
        if status.allocatable.is_none() {
            status.allocatable.clone_from(&status.capacity);
        }
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        if let Some(spec) = &mut self.spec {
            spec.config_source = None;
        }
    }

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.status.clone_from(&old.status);
    }

    fn prepare_status_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self) -> Vec<FieldError> {
        node::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        node::validate_update(self, old)
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        let unschedulable = self.spec.as_ref().and_then(|spec| spec.unschedulable);
        vec![("spec.unschedulable", unschedulable.unwrap_or_default().to_string())]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::fixtures::{create, object, summary, update};

    fn created(spec: &Value) -> Result<Node, Vec<String>> {
        let body = json!({ "metadata": { "name": "n" }, "spec": spec });
        create(body, &mut ClusterIps::default()).map_err(|errors| summary(&errors))
    }

    #[test]
    fn pod_cidrs_follow_pod_cidr_and_are_immutable() {
        let node = created(&json!({ "podCIDRs": ["10.1.0.0/24", "fd00::/64"] })).unwrap();
        assert_eq!(node.spec.as_ref().unwrap().pod_cidr.as_deref(), Some("10.1.0.0/24"));
        let mut other = node.clone();
        other.spec = object(json!({ "podCIDR": "10.2.0.0/24" }));
        let rejected = update(&node, other, &mut ClusterIps::default()).map_err(|errors| summary(&errors));
        assert_eq!(
            rejected.err(),
            Some(vec!["spec.podCIDRs FieldValueForbidden".to_owned()])
        );
        let both = created(&json!({ "podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"] }));
        assert_eq!(both.err(), Some(vec!["spec.podCIDRs FieldValueInvalid".to_owned()]));
    }

    #[test]
    fn duplicate_and_unknown_taints_are_rejected() {
        let taint = json!({ "key": "a", "effect": "NoSchedule" });
        let rejected = created(&json!({ "taints": [taint, taint, { "key": "b", "effect": "X" }] }));
        let expected = [
            "metadata.taints[1] FieldValueDuplicate",
            "metadata.taints[2].effect FieldValueNotSupported",
        ];
        assert_eq!(rejected.err(), Some(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn nodes_are_schedulable_by_default() {
        for (spec, selected) in [(json!({}), "false"), (json!({ "unschedulable": true }), "true")] {
            let node = created(&spec).unwrap();
            assert_eq!(node.selectable_fields(), [("spec.unschedulable", selected.to_owned())]);
        }
    }
}
