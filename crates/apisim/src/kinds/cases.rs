//! What the tests of all kinds need.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ClusterIps, Kind};
use crate::validation::FieldError;

/// An object as a client writes it.
pub(crate) fn object<K: DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

/// Field and reason of each error: the part that must be as the real server has it.
pub(crate) fn summary(errors: &[FieldError]) -> Vec<String> {
    errors
        .iter()
        .map(|error| format!("{} {}", error.field, error.cause_reason()))
        .collect()
}

/// A new object, from the client to the store.
pub(crate) fn create<K: Kind>(json: Value, ips: &mut ClusterIps) -> Result<K, Vec<FieldError>> {
    let mut new: K = object(json);
    Kind::default(&mut new);
    accepted(new.allot(None, ips))?;
    new.prepare_create(ips);
    accepted(new.validate())?;
    K::settle(None, Some(&new), ips);
    Ok(new)
}

/// A changed object, from the client to the store.
pub(crate) fn update<K: Kind>(old: &K, mut new: K, ips: &mut ClusterIps) -> Result<K, Vec<FieldError>> {
    Kind::default(&mut new);
    accepted(new.allot(Some(old), ips))?;
    new.prepare_update(old);
    accepted(new.validate_update(old))?;
    K::settle(Some(old), Some(&new), ips);
    Ok(new)
}

/// A changed status, from the client to the store.
pub(crate) fn update_status<K: Kind>(old: &K, mut new: K) -> Result<K, Vec<FieldError>> {
    Kind::default(&mut new);
    new.prepare_status_update(old);
    accepted(new.validate_update(old))?;
    Ok(new)
}

fn accepted(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
