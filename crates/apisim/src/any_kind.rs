//! [`Kind`] as a trait object, so that one handler serves all resources.

use std::any::Any;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    kinds::{ClusterIps, Kind},
    validation::FieldError,
};

/// An object of any kind. A second object in an argument must be of the same kind.
pub(crate) trait AnyKind: Send {
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn set_defaults(&mut self);
    fn allocate(&mut self, old: Option<&dyn AnyKind>, cluster_ips: &ClusterIps) -> Vec<FieldError>;
    fn commit_allocation(&self, old: Option<&dyn AnyKind>, cluster_ips: &mut ClusterIps);
    fn release_allocation(&self, cluster_ips: &mut ClusterIps);
    fn prepare_create(&mut self, cluster_ips: &mut ClusterIps);
    fn prepare_update(&mut self, old: &dyn AnyKind);
    fn prepare_status_update(&mut self, old: &dyn AnyKind);
    fn validate(&self) -> Vec<FieldError>;
    fn validate_update(&self, old: &dyn AnyKind) -> Vec<FieldError>;
    fn warnings(&self, old: Option<&dyn AnyKind>) -> Vec<String>;
    fn selectable_fields(&self) -> Vec<(&'static str, String)>;
    fn grace_seconds(&self, requested: Option<i64>) -> i64;
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

    fn set_defaults(&mut self) {
        Kind::set_defaults(self);
    }

    fn allocate(&mut self, old: Option<&dyn AnyKind>, cluster_ips: &ClusterIps) -> Vec<FieldError> {
        Kind::allocate(self, downcast(old), cluster_ips)
    }

    fn commit_allocation(&self, old: Option<&dyn AnyKind>, cluster_ips: &mut ClusterIps) {
        K::update_allocation(downcast(old), Some(self), cluster_ips);
    }

    fn release_allocation(&self, cluster_ips: &mut ClusterIps) {
        K::update_allocation(Some(self), None, cluster_ips);
    }

    fn prepare_create(&mut self, cluster_ips: &mut ClusterIps) {
        Kind::prepare_create(self, cluster_ips);
    }

    fn prepare_update(&mut self, old: &dyn AnyKind) {
        if let Some(old) = downcast(Some(old)) {
            Kind::prepare_update(self, old);
        }
    }

    fn prepare_status_update(&mut self, old: &dyn AnyKind) {
        if let Some(old) = downcast(Some(old)) {
            Kind::prepare_status_update(self, old);
        }
    }

    fn validate(&self) -> Vec<FieldError> {
        Kind::validate(self)
    }

    fn validate_update(&self, old: &dyn AnyKind) -> Vec<FieldError> {
        match downcast(Some(old)) {
            Some(old) => Kind::validate_update(self, old),
            None => Vec::new(),
        }
    }

    fn warnings(&self, old: Option<&dyn AnyKind>) -> Vec<String> {
        Kind::warnings(self, downcast(old))
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        Kind::selectable_fields(self)
    }

    fn grace_seconds(&self, requested: Option<i64>) -> i64 {
        Kind::grace_seconds(self, requested)
    }

    fn encode(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

fn downcast<K: Kind>(object: Option<&dyn AnyKind>) -> Option<&K> {
    object.and_then(|object| object.as_any().downcast_ref())
}
