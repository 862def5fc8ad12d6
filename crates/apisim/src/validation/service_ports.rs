//! Validation of Service ports.

use std::collections::HashSet;

use k8s_openapi::{
    api::core::v1::{ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{
    FieldError, invalid_each, names,
    path::Path,
    ports::{validate_app_protocol, validate_number, validate_protocol_text},
    service::{SPEC, text},
};
use crate::kinds::service::spec_ext::type_of;

/// Validates each port.
pub(super) fn validate_ports(spec: &ServiceSpec) -> Vec<FieldError> {
    let ports = spec.ports.as_deref().unwrap_or_default();
    let path = SPEC.child("ports");
    let mut seen = HashSet::new();
    let mut errors = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        match text(port.name.as_ref()) {
            "" if ports.len() > 1 => errors.push(FieldError::required(&path.child("name"))),
            "" => {}
            name => {
                let path = path.child("name");
                errors.extend(invalid_each(&path, name, names::dns1123_label(name)));
                if !seen.insert(name) {
                    errors.push(FieldError::duplicate(&path, name));
                }
            }
        }
        errors.extend(validate_number(&path.child("port"), port.port));
        errors.extend(validate_protocol_text(
            &path.child("protocol"),
            port.protocol.as_deref(),
        ));
        errors.extend(validate_target_port(&path.child("targetPort"), port));
        let app_protocol = port.app_protocol.as_deref();
        errors.extend(validate_app_protocol(&path.child("appProtocol"), app_protocol));
    }
    errors
}

fn validate_target_port(path: &Path<'_>, port: &ServicePort) -> Vec<FieldError> {
    match &port.target_port {
        Some(IntOrString::Int(number)) => validate_number(path, *number),
        Some(IntOrString::String(name)) => invalid_each(path, name, names::port_name(name)),
        None => validate_number(path, 0),
    }
}

/// Ports and node ports must be unique per protocol. A `ClusterIP` Service has no node ports.
pub(super) fn validate_port_numbers(spec: &ServiceSpec) -> Vec<FieldError> {
    let ports = spec.ports.as_deref().unwrap_or_default();
    let path = SPEC.child("ports");
    let mut errors = Vec::new();
    let node_port = |port: &ServicePort| port.node_port.filter(|number| *number != 0);
    if type_of(spec) == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port).is_some()) {
            let path = path.index(i);
            let path = path.child("nodePort");
            errors.push(FieldError::forbidden(&path, "a ClusterIP Service has none"));
        }
    }
    let mut node_ports = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        if let Some(number) = node_port(port)
            && !node_ports.insert((&port.protocol, number))
        {
            errors.push(FieldError::duplicate(&path.index(i).child("nodePort"), number));
        }
    }
    let mut numbers = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        if !numbers.insert((&port.protocol, port.port)) {
            let repeated = serde_json::json!({ "protocol": port.protocol, "port": port.port });
            errors.push(FieldError::duplicate(&path.index(i), repeated));
        }
    }
    errors
}
