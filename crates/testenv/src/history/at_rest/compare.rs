//! Slices and endpoints, compared field by field.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::history::limits::Role;
use crate::history::object::{Name, uid};
use crate::history::state::owner;
use crate::history::violation::{Findings, Invariant::I2};
use crate::history::wanted::Port;

/// What is said about a slice.
pub(super) fn subject(slice: &EndpointSlice) -> (String, u64) {
    let version = slice.metadata.resource_version.as_deref();
    let version = version.map_or(0, |version| {
        version.parse().expect("the versions of an API server are numbers")
    });
    (format!("EndpointSlice {}", Name::of(&slice.metadata)), version)
}

/// Whether a slice belongs to an owner.
pub(super) fn is_owned(slice: &EndpointSlice, role: Role, by: &ObjectMeta) -> bool {
    owner(slice, role).is_some_and(|owner| owner.uid == uid(by))
}

/// Where an endpoint differs from what it should be, as `field value` on both sides.
pub(super) fn differences(wanted: &Endpoint, found: &Endpoint) -> Option<(String, String)> {
    let fields = |endpoint| match serde_json::to_value(endpoint) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (wanted, found) = (fields(wanted), fields(found));
    let names: BTreeSet<_> = wanted.keys().chain(found.keys()).collect();
    let different = names.into_iter().filter(|name| wanted.get(*name) != found.get(*name));
    let show = |fields: &serde_json::Map<String, Value>, name: &String| match fields.get(name) {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    };
    let sides: Vec<_> = different
        .map(|name| (show(&wanted, name), show(&found, name)))
        .collect();
    let (wanted, found): (Vec<_>, Vec<_>) = sides.into_iter().unzip();
    (!wanted.is_empty()).then(|| (wanted.join(", "), found.join(", ")))
}

/// An endpoint for a person: its target or its addresses.
pub(super) fn title(endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    match target.and_then(|target| target.name.as_deref()) {
        Some(name) => format!("{name} ({})", endpoint.addresses.join(", ")),
        None => endpoint.addresses.join(", "),
    }
}

/// Ports for a person.
pub(super) fn list(ports: &BTreeSet<Port>) -> String {
    let ports: Vec<_> = ports.iter().map(Port::to_string).collect();
    format!("the ports [{}]", ports.join(", "))
}

/// Slices bear the labels of their owner, but for the reserved ones (R110, M89).
pub(super) fn check_labels(slice: &EndpointSlice, of: &ObjectMeta, reserved: &[&str], findings: &mut Findings) {
    let free = |metadata: &ObjectMeta| -> BTreeMap<String, String> {
        let labels = metadata.labels.clone().unwrap_or_default().into_iter();
        labels.filter(|(key, _)| !reserved.contains(&key.as_str())).collect()
    };
    let (wanted, found) = (free(of), free(&slice.metadata));
    findings.check(I2, subject(slice), wanted == found, || {
        (format!("the labels of its owner {wanted:?}"), format!("{found:?}"))
    });
}
