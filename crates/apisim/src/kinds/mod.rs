//! Create and update strategies, one file per kind. Validation is in the module `validation`.

mod cluster_ips;
mod endpoint_slice;
mod endpoints;
mod event;
pub(crate) mod events_v1;
#[cfg(test)]
pub(crate) mod fixtures;
mod lease;
mod namespace;
mod node;
mod pod;
pub(crate) mod service;

use k8s_openapi::{Metadata, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use self::cluster_ips::ClusterIps;
use crate::validation::FieldError;

/// The create and update strategy of a kind.
///
/// The order on create is `set_defaults`, `allocate`, `prepare_create`, `validate`; on update `set_defaults`, `allocate`,
/// `prepare_update`, `validate_update`; on an update of the status `set_defaults`, `prepare_status_update`,
/// `validate_update`. `update_allocation` follows every successful write. The handlers set names, uids, resource versions and
/// timestamps.
pub(crate) trait Kind:
    Clone + Serialize + DeserializeOwned + Metadata<Ty = ObjectMeta> + Send + Sync + 'static
{
    /// Sets default values of omitted fields.
    fn set_defaults(&mut self) {}

    /// Chooses cluster IPs and node ports and checks the requested ones. Nothing is reserved before `update_allocation`.
    /// Allocation errors precede other validation errors.
    fn allocate(&mut self, _old: Option<&Self>, _cluster_ips: &ClusterIps) -> Vec<FieldError> {
        Vec::new()
    }

    /// Releases the allocation of `old` and reserves that of `new`. `new` is absent after a delete.
    fn update_allocation(_old: Option<&Self>, _new: Option<&Self>, _cluster_ips: &mut ClusterIps) {}

    /// Clears fields that a client cannot set (status).
    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {}

    /// Restores fields that an update cannot change (status), and increments the generation if the kind has one.
    fn prepare_update(&mut self, _old: &Self) {}

    /// Restores everything except the status.
    fn prepare_status_update(&mut self, _old: &Self) {}

    /// Validates a new object.
    fn validate(&self) -> Vec<FieldError>;

    /// Validates an update.
    fn validate_update(&self, old: &Self) -> Vec<FieldError>;

    /// `Warning` headers for a successful write.
    fn warnings(&self, _old: Option<&Self>) -> Vec<String> {
        Vec::new()
    }

    /// Selectable fields, besides `metadata.name` and `metadata.namespace`.
    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The grace period of a deletion, with the requested seconds or the default.
    fn grace_seconds(&self, _requested: Option<i64>) -> i64 {
        0
    }

    /// Whether an update of an object that does not exist creates it.
    fn update_creates() -> bool {
        false
    }

    /// Whether an update may omit the resourceVersion.
    fn update_is_unconditional() -> bool {
        true
    }
}
