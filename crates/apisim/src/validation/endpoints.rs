//! Validation of Endpoints.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};

use super::{
    FieldError,
    addresses::{validate_endpoint_ip, validate_ip},
    invalid_each,
    metadata::MetaRules,
    names,
    path::Path,
    ports::{validate_app_protocol, validate_number, validate_protocol_text},
};

const META: MetaRules = MetaRules::new(true, names::dns1123_subdomain);

/// Validates new Endpoints.
pub(crate) fn validate(endpoints: &Endpoints) -> Vec<FieldError> {
    let mut errors = META.validate(&endpoints.metadata);
    errors.extend(validate_subsets(endpoints.subsets.as_deref().unwrap_or_default()));
    META.created(&endpoints.metadata, errors)
}

/// Validates an update of Endpoints. Unchanged subsets are not validated again.
pub(crate) fn validate_update(new: &Endpoints, old: &Endpoints) -> Vec<FieldError> {
    let mut errors = META.validate_update(&new.metadata, &old.metadata);
    errors.extend(META.validate(&new.metadata));
    if new.subsets != old.subsets {
        errors.extend(validate_subsets(new.subsets.as_deref().unwrap_or_default()));
    }
    META.updated(&new.metadata, &old.metadata, errors)
}

fn validate_subsets(subsets: &[EndpointSubset]) -> Vec<FieldError> {
    let path = Path::new("subsets");
    let mut errors = Vec::new();
    for (i, subset) in subsets.iter().enumerate() {
        let path = path.index(i);
        let ready = subset.addresses.as_deref().unwrap_or_default();
        let not_ready = subset.not_ready_addresses.as_deref().unwrap_or_default();
        if ready.is_empty() && not_ready.is_empty() {
            errors.push(FieldError {
                detail: "addresses or notReadyAddresses are needed".to_owned(),
                ..FieldError::required(&path)
            });
        }
        for (list, addresses) in [("addresses", ready), ("notReadyAddresses", not_ready)] {
            let path = path.child(list);
            for (i, address) in addresses.iter().enumerate() {
                errors.extend(validate_address(&path.index(i), address));
            }
        }
        let ports = subset.ports.as_deref().unwrap_or_default();
        let path = path.child("ports");
        for (i, port) in ports.iter().enumerate() {
            errors.extend(validate_port(&path.index(i), port, ports.len() > 1));
        }
    }
    errors
}

fn validate_address(path: &Path<'_>, address: &EndpointAddress) -> Vec<FieldError> {
    let ip = path.child("ip");
    let mut errors = validate_ip(&ip, &address.ip, &[]);
    if let Some(hostname) = address.hostname.as_deref().filter(|hostname| !hostname.is_empty()) {
        let messages = names::dns1123_label(hostname);
        errors.extend(invalid_each(&path.child("hostname"), hostname, messages));
    }
    if let Some(node) = &address.node_name {
        let messages = names::dns1123_subdomain(node);
        errors.extend(invalid_each(&path.child("nodeName"), node, messages));
    }
    errors.extend(validate_endpoint_ip(&ip, &address.ip));
    errors
}

fn validate_port(path: &Path<'_>, port: &EndpointPort, needs_name: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match port.name.as_deref().unwrap_or_default() {
        "" if needs_name => errors.push(FieldError::required(&path.child("name"))),
        "" => {}
        name => errors.extend(invalid_each(&path.child("name"), name, names::dns1123_label(name))),
    }
    errors.extend(validate_number(&path.child("port"), port.port));
    errors.extend(validate_protocol_text(
        &path.child("protocol"),
        port.protocol.as_deref(),
    ));
    errors.extend(validate_app_protocol(
        &path.child("appProtocol"),
        port.app_protocol.as_deref(),
    ));
    errors
}
