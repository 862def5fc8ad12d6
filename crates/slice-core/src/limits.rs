//! What the API server accepts in one slice (R143).

/// Endpoints in a slice.
pub const ENDPOINTS_PER_SLICE_MAX: usize = 1000;
/// Addresses of an endpoint; there is at least one, and only the first has a defined meaning.
pub const ADDRESSES_PER_ENDPOINT_MAX: usize = 100;
/// Ports of a slice.
pub const PORTS_PER_SLICE_MAX: usize = 20_000;
/// Zone hints, and likewise node hints, of an endpoint.
pub const HINTS_PER_ENDPOINT_MAX: usize = 8;
/// Characters of a generated name that come from its prefix; five random ones follow (R142).
pub const GENERATED_NAME_PREFIX_MAX: usize = 58;
/// Characters of a DNS label, such as a hostname or the name of a port.
pub const DNS_LABEL_MAX: usize = 63;
/// Characters of a DNS name, such as the name of a node or a slice.
pub const DNS_NAME_MAX: usize = 253;
/// Characters of a label value.
pub const LABEL_VALUE_MAX: usize = 63;
