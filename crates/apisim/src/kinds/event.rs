//! Events of the core group, the storage kind of events.

use k8s_openapi::api::core::v1::Event;

use super::{ClusterIps, Kind};
use crate::validation::{FieldError, event, metadata};

impl Kind for Event {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.source.get_or_insert_default();
        self.reporting_component.get_or_insert_default();
        self.reporting_instance.get_or_insert_default();
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {}

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
    }

    fn validate(&self) -> Vec<FieldError> {
        event::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        event::validate_update(self, old)
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        let text = |field: Option<&String>| field.cloned().unwrap_or_default();
        let object = &self.involved_object;
        let component = self.source.as_ref().and_then(|source| source.component.clone());
        let source = component.filter(|component| !component.is_empty());
        let reporter = text(self.reporting_component.as_ref());
        vec![
            ("involvedObject.kind", text(object.kind.as_ref())),
            ("involvedObject.namespace", text(object.namespace.as_ref())),
            ("involvedObject.name", text(object.name.as_ref())),
            ("involvedObject.uid", text(object.uid.as_ref())),
            ("involvedObject.apiVersion", text(object.api_version.as_ref())),
            ("involvedObject.resourceVersion", text(object.resource_version.as_ref())),
            ("involvedObject.fieldPath", text(object.field_path.as_ref())),
            ("reason", text(self.reason.as_ref())),
            ("source", source.unwrap_or_else(|| reporter.clone())),
            ("reportingComponent", reporter),
            ("type", text(self.type_.as_ref())),
        ]
    }

    fn update_creates() -> bool {
        true
    }
}
