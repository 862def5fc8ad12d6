//! Namespaces: defaults, label and finalizer.

use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};

use super::{ClusterIps, Kind};
use crate::validation::{FieldError, metadata, namespace};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

impl Kind for Namespace {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.metadata.namespace = None;
        if let Some(name) = self.metadata.name.clone().filter(|name| !name.is_empty()) {
            self.metadata
                .labels
                .get_or_insert_default()
                .insert(NAME_LABEL.to_owned(), name);
        }
        let status = self.status.get_or_insert_default();
        status.phase.get_or_insert_with(|| "Active".to_owned());
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        self.status = Some(NamespaceStatus {
            phase: Some("Active".to_owned()),
            ..Default::default()
        });
        let finalizers = self.spec.get_or_insert_default().finalizers.get_or_insert_default();
        if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            finalizers.push(FINALIZER.to_owned());
        }
    }

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.spec.clone_from(&old.spec);
        self.status.clone_from(&old.status);
    }

    fn prepare_status_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self) -> Vec<FieldError> {
        namespace::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        namespace::validate_update(self, old)
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        let phase = self.status.as_ref().and_then(|status| status.phase.clone());
        vec![("status.phase", phase.unwrap_or_default())]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::fixtures::{create, object, summary, update, update_status};

    #[test]
    fn new_namespace_has_phase_label_and_finalizer() {
        let body = json!({ "metadata": { "name": "x" }, "status": { "phase": "Terminating" } });
        let namespace: Namespace = create(body, &mut ClusterIps::default()).unwrap();
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": "x", "labels": { "kubernetes.io/metadata.name": "x" } },
            "spec": { "finalizers": ["kubernetes"] },
            "status": { "phase": "Active" },
        });
        assert_eq!(serde_json::to_value(&namespace).unwrap(), expected);
        assert_eq!(namespace.selectable_fields(), [("status.phase", "Active".to_owned())]);

        let bare = object(json!({ "metadata": { "name": "x" } }));
        let updated = update(&namespace, bare, &mut ClusterIps::default()).unwrap();
        assert_eq!(updated, namespace);
    }

    #[test]
    fn phase_terminating_requires_a_deletion_timestamp() {
        let ips = &mut ClusterIps::default();
        let old: Namespace = create(json!({ "metadata": { "name": "x" } }), ips).unwrap();
        let mut new = old.clone();
        new.status = object(json!({ "phase": "Terminating" }));
        let rejected = update_status(&old, new).map_err(|errors| summary(&errors));
        assert_eq!(rejected.err(), Some(vec!["status.Phase FieldValueInvalid".to_owned()]));
    }
}
