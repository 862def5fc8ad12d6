//! Limits of the API server for one slice (R143).

/// Maximum number of endpoints of a slice.
pub const ENDPOINTS_PER_SLICE_MAX: usize = 1000;
/// Maximum number of addresses of an endpoint. There is at least one; only the first has a defined meaning.
pub const ADDRESSES_PER_ENDPOINT_MAX: usize = 100;
/// Maximum number of ports of a slice.
pub const PORTS_PER_SLICE_MAX: usize = 20_000;
/// Maximum number of zone hints of an endpoint, and of node hints.
pub const HINTS_PER_ENDPOINT_MAX: usize = 8;
/// Maximum length of the prefix in a generated name; five random characters follow (R142).
pub const GENERATED_NAME_PREFIX_MAX: usize = 58;
/// Maximum length of a DNS-1123 label, such as a hostname or a port name.
pub const DNS_LABEL_MAX: usize = 63;
/// Maximum length of a DNS-1123 subdomain, such as the name of a node or a slice.
pub const DNS_NAME_MAX: usize = 253;
/// Maximum length of a label value.
pub const LABEL_VALUE_MAX: usize = 63;
