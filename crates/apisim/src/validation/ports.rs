//! Validation of ports of Services, Pods, Endpoints and EndpointSlices.

use super::{FieldError, invalid_each, names, path::Path};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates a protocol, which is always set after defaulting.
pub(crate) fn validate_protocol(path: &Path<'_>, protocol: Option<&str>) -> Option<FieldError> {
    match protocol {
        None => Some(FieldError::required(path)),
        Some(protocol) => {
            (!PROTOCOLS.contains(&protocol)).then(|| FieldError::not_supported(path, protocol, &PROTOCOLS))
        }
    }
}

/// Validates a protocol in a field where empty equals absent.
pub(crate) fn validate_protocol_text(path: &Path<'_>, protocol: Option<&str>) -> Option<FieldError> {
    validate_protocol(path, protocol.filter(|protocol| !protocol.is_empty()))
}

/// Validates an `appProtocol`, a qualified name.
pub(crate) fn validate_app_protocol(path: &Path<'_>, protocol: Option<&str>) -> Vec<FieldError> {
    let named = protocol.into_iter();
    named
        .flat_map(|name| invalid_each(path, name, names::qualified_name(name)))
        .collect()
}

/// Validates a port number.
pub(crate) fn validate_number(path: &Path<'_>, port: i32) -> Vec<FieldError> {
    let messages = names::port_number(port).into_iter();
    messages.map(|detail| FieldError::invalid(path, port, detail)).collect()
}
