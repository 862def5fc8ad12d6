//! Well-known labels, annotations and event reasons of slices and of the objects behind them (service-slices.md §1 and §20,
//! mirroring.md §1 and §11).

/// Slice label: the Service that the slice belongs to.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";
/// Slice label: the controller that writes the slice. Only one controller may use a value.
pub const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
/// Slice label of a headless Service; the value is empty.
pub const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";
/// Endpoints label: with the value `true`, the object is not mirrored.
pub const SKIP_MIRROR_LABEL: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Node label: the zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Slice annotation: the trigger time, when the oldest change happened that the last write published.
pub const TRIGGER_TIME_ANNOTATION: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Service annotation: the topology mode.
pub const TOPOLOGY_MODE_ANNOTATION: &str = "service.kubernetes.io/topology-mode";
/// Service annotation: the older key of the topology mode, which takes precedence.
pub const TOPOLOGY_HINTS_ANNOTATION: &str = "service.kubernetes.io/topology-aware-hints";
/// Endpoints annotation: the object is a leader-election lock and is not mirrored.
pub const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";
/// Endpoints annotation: the last applied configuration, which is never copied to slices.
pub const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Event reason: slices could not be written.
pub const FAILED_TO_UPDATE_SLICES: &str = "FailedToUpdateEndpointSlices";
/// Event reason: topology hints are assigned now.
pub const HINTS_ENABLED: &str = "TopologyAwareHintsEnabled";
/// Event reason: topology hints are not assigned, or no longer.
pub const HINTS_DISABLED: &str = "TopologyAwareHintsDisabled";
/// Event reason: an Endpoints object has an invalid IP address.
pub const INVALID_IP_ADDRESS: &str = "InvalidIPAddress";
/// Event reason: an Endpoints object has more addresses than are mirrored.
pub const TOO_MANY_ADDRESSES: &str = "TooManyAddressesToMirror";
