//! What the ports of Services, Pods, Endpoints and EndpointSlices have in common.

use super::{FieldError, invalid_each, names, path::Path};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// After defaulting a port has a protocol, and one that Kubernetes knows.
pub(crate) fn validate_protocol(path: &Path<'_>, protocol: Option<&str>) -> Option<FieldError> {
    match protocol {
        None => Some(FieldError::required(path)),
        Some(protocol) => {
            (!PROTOCOLS.contains(&protocol)).then(|| FieldError::not_supported(path, protocol, &PROTOCOLS))
        }
    }
}

/// The protocol of a field where empty is the same as absent.
pub(crate) fn validate_protocol_text(path: &Path<'_>, protocol: Option<&str>) -> Option<FieldError> {
    validate_protocol(path, protocol.filter(|protocol| !protocol.is_empty()))
}

/// A hint for implementations, spelled like a label's key.
pub(crate) fn validate_app_protocol(path: &Path<'_>, protocol: Option<&str>) -> Vec<FieldError> {
    let named = protocol.into_iter();
    named
        .flat_map(|name| invalid_each(path, name, names::qualified_name(name)))
        .collect()
}

/// A number between 1 and 65535.
pub(crate) fn validate_number(path: &Path<'_>, port: i32) -> Vec<FieldError> {
    let messages = names::port_number(port).into_iter();
    messages.map(|detail| FieldError::invalid(path, port, detail)).collect()
}
