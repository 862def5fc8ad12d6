//! What the server knows of each kind of object it keeps.
//!
//! One file per kind; what is accepted at all is judged in `validation`.

#[cfg(test)]
pub(crate) mod cases;
mod cluster_ips;
mod endpoint_slice;
mod endpoints;
mod event;
pub(crate) mod events;
mod lease;
mod namespace;
mod node;
mod pod;
pub(crate) mod service;

use k8s_openapi::{Metadata, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use self::cluster_ips::ClusterIps;
use crate::validation::FieldError;

/// What happens to objects of one kind between the wire and the store.
///
/// The order on create is `default`, `allot`, `prepare_create`, `validate`; on update `default`, `allot`,
/// `prepare_update`, `validate_update`; on an update of the status `default`, `prepare_status_update`,
/// `validate_update`. `settle` follows every write that was stored. Names, uids, versions and timestamps are the
/// handlers' business.
pub(crate) trait Kind:
    Clone + Serialize + DeserializeOwned + Metadata<Ty = ObjectMeta> + Send + Sync + 'static
{
    /// Fills in what a client may leave out.
    fn default(&mut self) {}

    /// Chooses what the server gives (cluster IPs, node ports) and checks what the client asks for, without taking
    /// it: nothing is taken before `settle`. A refusal comes before any other validation.
    fn allot(&mut self, _old: Option<&Self>, _cluster_ips: &ClusterIps) -> Vec<FieldError> {
        Vec::new()
    }

    /// Takes what `new` was allotted and gives back what only `old` had. `new` is absent after a delete.
    fn settle(_old: Option<&Self>, _new: Option<&Self>, _cluster_ips: &mut ClusterIps) {}

    /// Removes what a client may not set (status).
    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {}

    /// Keeps what an ordinary update may not change (status) and raises the generation where this kind has one.
    fn prepare_update(&mut self, _old: &Self) {}

    /// Keeps everything but the status.
    fn prepare_status_update(&mut self, _old: &Self) {}

    /// What is wrong with a new object.
    fn validate(&self) -> Vec<FieldError>;

    /// What is wrong with a changed object.
    fn validate_update(&self, old: &Self) -> Vec<FieldError>;

    /// What the client should be told although the write succeeds (`Warning` headers).
    fn warnings(&self, _old: Option<&Self>) -> Vec<String> {
        Vec::new()
    }

    /// Fields that selectors may name, besides `metadata.name` and `metadata.namespace`.
    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// For how many seconds an object that is deleted stays, when the client asks for `asked` seconds or says nothing.
    fn grace_seconds(&self, _asked: Option<i64>) -> i64 {
        0
    }

    /// Whether an update of an object that does not exist creates it.
    fn update_creates() -> bool {
        false
    }

    /// Whether an update may leave out the resourceVersion.
    fn update_is_unconditional() -> bool {
        true
    }
}
