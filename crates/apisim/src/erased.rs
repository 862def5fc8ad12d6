//! [`Kind`] without the type, so that one handler serves all resources.

use std::any::Any;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    kinds::{ClusterIps, Kind},
    validation::FieldError,
};

/// An object of some kind. Where another object comes in, it must be of the same kind.
pub(crate) trait AnyKind: Send {
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn fill_defaults(&mut self);
    fn allot(&mut self, old: Option<&dyn AnyKind>, cluster_ips: &ClusterIps) -> Vec<FieldError>;
    fn take_allotted(&self, old: Option<&dyn AnyKind>, cluster_ips: &mut ClusterIps);
    fn give_back(&self, cluster_ips: &mut ClusterIps);
    fn for_create(&mut self, cluster_ips: &mut ClusterIps);
    fn for_update(&mut self, old: &dyn AnyKind);
    fn for_status_update(&mut self, old: &dyn AnyKind);
    fn errors(&self) -> Vec<FieldError>;
    fn update_errors(&self, old: &dyn AnyKind) -> Vec<FieldError>;
    fn all_warnings(&self, old: Option<&dyn AnyKind>) -> Vec<String>;
    fn selectable(&self) -> Vec<(&'static str, String)>;
    fn grace(&self, asked: Option<i64>) -> i64;
    fn encode(&self) -> serde_json::Result<String>;
}

impl<K: Kind> AnyKind for K {
    fn metadata(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        k8s_openapi::Metadata::metadata_mut(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn fill_defaults(&mut self) {
        Kind::default(self);
    }

    fn allot(&mut self, old: Option<&dyn AnyKind>, cluster_ips: &ClusterIps) -> Vec<FieldError> {
        Kind::allot(self, old.and_then(|old| old.as_any().downcast_ref()), cluster_ips)
    }

    fn take_allotted(&self, old: Option<&dyn AnyKind>, cluster_ips: &mut ClusterIps) {
        K::settle(old.and_then(|old| old.as_any().downcast_ref()), Some(self), cluster_ips);
    }

    fn give_back(&self, cluster_ips: &mut ClusterIps) {
        K::settle(Some(self), None, cluster_ips);
    }

    fn for_create(&mut self, cluster_ips: &mut ClusterIps) {
        self.prepare_create(cluster_ips);
    }

    fn for_update(&mut self, old: &dyn AnyKind) {
        if let Some(old) = old.as_any().downcast_ref() {
            self.prepare_update(old);
        }
    }

    fn for_status_update(&mut self, old: &dyn AnyKind) {
        if let Some(old) = old.as_any().downcast_ref() {
            self.prepare_status_update(old);
        }
    }

    fn errors(&self) -> Vec<FieldError> {
        self.validate()
    }

    fn update_errors(&self, old: &dyn AnyKind) -> Vec<FieldError> {
        match old.as_any().downcast_ref() {
            Some(old) => self.validate_update(old),
            None => Vec::new(),
        }
    }

    fn all_warnings(&self, old: Option<&dyn AnyKind>) -> Vec<String> {
        self.warnings(old.and_then(|old| old.as_any().downcast_ref()))
    }

    fn selectable(&self) -> Vec<(&'static str, String)> {
        self.selectable_fields()
    }

    fn grace(&self, asked: Option<i64>) -> i64 {
        self.grace_seconds(asked)
    }

    fn encode(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}
