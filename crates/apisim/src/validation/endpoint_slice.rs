//! Validation of EndpointSlices (R141, R143–R146).

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointPort, EndpointSlice};

use super::{
    FieldError,
    addresses::{parse_lenient, validate_canonical_ip, validate_endpoint_ip, validate_ip},
    immutable, invalid_each,
    metadata::{MetaRules, validate_labels},
    names,
    path::Path,
    ports::{validate_app_protocol, validate_protocol},
};

const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const TOPOLOGY_KEYS_MAX: usize = 16;
const HINTS_MAX: usize = 8;
const ZONE_KEY: &str = "topology.kubernetes.io/zone";

const META: MetaRules = MetaRules::new(true, names::dns1123_subdomain);

/// Validates a new slice.
pub(crate) fn validate(slice: &EndpointSlice) -> Vec<FieldError> {
    let mut errors = validate_metadata_and_ports(slice);
    errors.extend(validate_endpoints(slice));
    META.created(&slice.metadata, errors)
}

/// Validates an update of a slice. Unchanged endpoints are not validated again: an older server may have accepted them.
pub(crate) fn validate_update(new: &EndpointSlice, old: &EndpointSlice) -> Vec<FieldError> {
    let mut errors = validate_metadata_and_ports(new);
    if new.endpoints != old.endpoints {
        errors.extend(validate_endpoints(new));
    }
    errors.extend(immutable(
        &Path::new("addressType"),
        &new.address_type,
        &old.address_type,
    ));
    META.updated(&new.metadata, &old.metadata, errors)
}

fn validate_metadata_and_ports(slice: &EndpointSlice) -> Vec<FieldError> {
    let mut errors = META.validate(&slice.metadata);
    let path = Path::new("addressType");
    match slice.address_type.as_str() {
        "" => errors.push(FieldError::required(&path)),
        known if ADDRESS_TYPES.contains(&known) => {}
        unknown => errors.push(FieldError::not_supported(&path, unknown, &ADDRESS_TYPES)),
    }
    errors.extend(validate_ports(slice.ports.as_deref().unwrap_or_default()));
    errors
}

fn validate_ports(ports: &[EndpointPort]) -> Vec<FieldError> {
    let path = Path::new("ports");
    if ports.len() > PORTS_MAX {
        return vec![FieldError::too_many(&path, ports.len(), PORTS_MAX)];
    }
    let mut errors = Vec::new();
    let mut seen = std::collections::HashSet::with_capacity(ports.len());
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            errors.extend(invalid_each(&path.child("name"), name, names::dns1123_label(name)));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        errors.extend(validate_protocol(&path.child("protocol"), port.protocol.as_deref()));
        let app_protocol = port.app_protocol.as_deref();
        errors.extend(validate_app_protocol(&path.child("appProtocol"), app_protocol));
    }
    errors
}

fn validate_endpoints(slice: &EndpointSlice) -> Vec<FieldError> {
    let path = Path::new("endpoints");
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    if endpoints.len() > ENDPOINTS_MAX {
        return vec![FieldError::too_many(&path, endpoints.len(), ENDPOINTS_MAX)];
    }
    let mut errors = Vec::new();
    for (i, endpoint) in endpoints.iter().enumerate() {
        validate_endpoint(&path.index(i), endpoint, &slice.address_type, &mut errors);
    }
    errors
}

fn validate_endpoint(path: &Path<'_>, endpoint: &Endpoint, address_type: &str, errors: &mut Vec<FieldError>) {
    let addresses = path.child("addresses");
    if endpoint.addresses.is_empty() {
        errors.push(FieldError::required(&addresses));
    } else if endpoint.addresses.len() > ADDRESSES_MAX {
        errors.push(FieldError::too_many(
            &addresses,
            endpoint.addresses.len(),
            ADDRESSES_MAX,
        ));
    }
    for (i, address) in endpoint.addresses.iter().enumerate() {
        errors.extend(validate_address(&addresses, i, address, address_type));
    }
    if let Some(node) = &endpoint.node_name {
        let messages = names::dns1123_subdomain(node);
        errors.extend(invalid_each(&path.child("nodeName"), node, messages));
    }
    validate_topology(&path.child("deprecatedTopology"), endpoint, errors);
    if let Some(hostname) = &endpoint.hostname {
        let messages = names::dns1123_label(hostname);
        errors.extend(invalid_each(&path.child("hostname"), hostname, messages));
    }
    if let Some(hints) = &endpoint.hints {
        validate_hints(&path.child("hints"), hints, errors);
    }
}

fn validate_address(path: &Path<'_>, i: usize, address: &str, kind: &str) -> Vec<FieldError> {
    let item_path = path.index(i);
    let (mut errors, is_ipv4) = match kind {
        "IPv4" => (validate_ip(&item_path, address, &[]), true),
        "IPv6" => (validate_canonical_ip(&item_path, address), false),
        "FQDN" => return validate_fqdn(&item_path, address),
        _ => return Vec::new(),
    };
    if errors.is_empty() {
        if parse_lenient(address).is_none_or(|ip| ip.is_ipv4() != is_ipv4) {
            errors.push(FieldError::invalid(path, address, format!("must be an {kind} address")));
        }
        errors.extend(validate_endpoint_ip(&item_path, address));
    }
    errors
}

/// Validates an FQDN: at least two labels, with an optional trailing dot.
fn validate_fqdn(path: &Path<'_>, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path)];
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = names::dns1123_subdomain(name);
    if !messages.is_empty() {
        return vec![FieldError::invalid(path, name, messages.join(", "))];
    }
    if !name.contains('.') {
        return vec![FieldError::invalid(
            path,
            name,
            "must have at least two parts with a dot between",
        )];
    }
    let long = name.split('.').find(|label| !names::dns1123_label(label).is_empty());
    long.map(|label| FieldError::invalid(path, label, "a part may not be longer than 63 bytes"))
        .into_iter()
        .collect()
}

fn validate_topology(path: &Path<'_>, endpoint: &Endpoint, errors: &mut Vec<FieldError>) {
    let Some(topology) = &endpoint.deprecated_topology else {
        return;
    };
    if topology.len() > TOPOLOGY_KEYS_MAX {
        errors.push(FieldError::too_many(path, topology.len(), TOPOLOGY_KEYS_MAX));
    }
    errors.extend(validate_labels(path, Some(topology)));
    if topology.contains_key(ZONE_KEY) {
        errors.push(FieldError::internal(
            &path.key(ZONE_KEY),
            "the zone has a field of its own",
        ));
    }
}

fn validate_hints(path: &Path<'_>, hints: &EndpointHints, errors: &mut Vec<FieldError>) {
    let zones: Vec<&str> = hints
        .for_zones
        .iter()
        .flatten()
        .map(|zone| zone.name.as_str())
        .collect();
    let nodes: Vec<&str> = hints
        .for_nodes
        .iter()
        .flatten()
        .map(|node| node.name.as_str())
        .collect();
    let within_limit = validate_hint_list(&path.child("forZones"), &zones, names::label_value, errors);
    if within_limit {
        validate_hint_list(&path.child("forNodes"), &nodes, names::dns1123_subdomain, errors);
    }
}

/// Validates a list of hints. Returns false if the list exceeds the limit.
fn validate_hint_list(
    path: &Path<'_>,
    hints: &[&str],
    validate_name: fn(&str) -> Vec<String>,
    errors: &mut Vec<FieldError>,
) -> bool {
    if hints.len() > HINTS_MAX {
        errors.push(FieldError::too_many(path, hints.len(), HINTS_MAX));
        return false;
    }
    for (i, hint) in hints.iter().enumerate() {
        let path = path.index(i);
        let path = path.child("name");
        if hints[..i].contains(hint) {
            errors.push(FieldError::duplicate(&path, hint));
        }
        errors.extend(invalid_each(&path, hint, validate_name(hint)));
    }
    true
}
