//! Test support: builds objects and passes them through the write path of their kind.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ClusterIps, Kind};
use crate::validation::FieldError;

/// Decodes an object from JSON.
pub(crate) fn object<K: DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

/// Field and reason of each error. Both must equal those of kube-apiserver.
pub(crate) fn summary(errors: &[FieldError]) -> Vec<String> {
    errors
        .iter()
        .map(|error| format!("{} {}", error.field, error.cause_reason()))
        .collect()
}

/// Creates an object: defaults, allocation, preparation, validation.
pub(crate) fn create<K: Kind>(json: Value, ips: &mut ClusterIps) -> Result<K, Vec<FieldError>> {
    let mut new: K = object(json);
    Kind::set_defaults(&mut new);
    into_result(new.allocate(None, ips))?;
    new.prepare_create(ips);
    into_result(new.validate())?;
    K::update_allocation(None, Some(&new), ips);
    Ok(new)
}

/// Updates an object: defaults, allocation, preparation, validation.
pub(crate) fn update<K: Kind>(old: &K, mut new: K, ips: &mut ClusterIps) -> Result<K, Vec<FieldError>> {
    Kind::set_defaults(&mut new);
    into_result(new.allocate(Some(old), ips))?;
    new.prepare_update(old);
    into_result(new.validate_update(old))?;
    K::update_allocation(Some(old), Some(&new), ips);
    Ok(new)
}

/// Updates the status of an object.
pub(crate) fn update_status<K: Kind>(old: &K, mut new: K) -> Result<K, Vec<FieldError>> {
    Kind::set_defaults(&mut new);
    new.prepare_status_update(old);
    into_result(new.validate_update(old))?;
    Ok(new)
}

fn into_result(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
