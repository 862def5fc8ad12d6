//! Comparison of slices and endpoints, field by field.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::config::Role;
use crate::desired::Port;
use crate::object::{Name, uid};
use crate::state::owner_reference;
use crate::violation::{Findings, Invariant::I2};

/// Object and revision of a slice, for a violation.
pub(super) fn subject(slice: &EndpointSlice) -> (String, u64) {
    let version = slice.metadata.resource_version.as_deref();
    let version = version.map_or(0, |version| {
        version.parse().expect("resource versions of an API server are numbers")
    });
    (format!("EndpointSlice {}", Name::of(&slice.metadata)), version)
}

/// Whether a slice belongs to an owner.
pub(super) fn is_owned(slice: &EndpointSlice, role: Role, by: &ObjectMeta) -> bool {
    owner_reference(slice, role).is_some_and(|owner| owner.uid == uid(by))
}

/// The differences between a desired and a found endpoint, as `field value` on both sides.
pub(super) fn differences(desired: &Endpoint, found: &Endpoint) -> Option<(String, String)> {
    let fields = |endpoint| match serde_json::to_value(endpoint) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (desired, found) = (fields(desired), fields(found));
    let names: BTreeSet<_> = desired.keys().chain(found.keys()).collect();
    let different = names.into_iter().filter(|name| desired.get(*name) != found.get(*name));
    let show = |fields: &serde_json::Map<String, Value>, name: &String| match fields.get(name) {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    };
    let sides: Vec<_> = different
        .map(|name| (show(&desired, name), show(&found, name)))
        .collect();
    let (desired, found): (Vec<_>, Vec<_>) = sides.into_iter().unzip();
    (!desired.is_empty()).then(|| (desired.join(", "), found.join(", ")))
}

/// An endpoint for a message: its target and addresses.
pub(super) fn describe_endpoint(endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    match target.and_then(|target| target.name.as_deref()) {
        Some(name) => format!("{name} ({})", endpoint.addresses.join(", ")),
        None => endpoint.addresses.join(", "),
    }
}

/// Ports for a message.
pub(super) fn describe_ports(ports: &BTreeSet<Port>) -> String {
    let ports: Vec<_> = ports.iter().map(Port::to_string).collect();
    format!("the ports [{}]", ports.join(", "))
}

/// Slices have the labels of their owner, except for reserved keys (R110, M89).
pub(super) fn check_labels(slice: &EndpointSlice, of: &ObjectMeta, reserved: &[&str], findings: &mut Findings) {
    let copied = |metadata: &ObjectMeta| -> BTreeMap<String, String> {
        let labels = metadata.labels.clone().unwrap_or_default().into_iter();
        labels.filter(|(key, _)| !reserved.contains(&key.as_str())).collect()
    };
    let (desired, found) = (copied(of), copied(&slice.metadata));
    findings.check(I2, subject(slice), desired == found, || {
        (format!("the labels of its owner {desired:?}"), format!("{found:?}"))
    });
}
