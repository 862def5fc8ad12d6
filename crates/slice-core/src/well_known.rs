//! Labels, annotations and event reasons of slices and of what they are made from (service-slices.md §1 and §20,
//! mirroring.md §1 and §11).

/// Slice label: the Service that the slice belongs to.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";
/// Slice label: the controller that writes the slice. Its value is the lock: one writer per value.
pub const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
/// Slice label of a headless Service; the value is empty.
pub const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";
/// Endpoints label: `true` keeps the object from being mirrored.
pub const SKIP_MIRROR_LABEL: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Node label: the zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Slice annotation: when the change happened that led to this state.
pub const TRIGGER_TIME_ANNOTATION: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Service annotation: topology hints.
pub const TOPOLOGY_MODE_ANNOTATION: &str = "service.kubernetes.io/topology-mode";
/// Service annotation: topology hints by its older key, which wins when present.
pub const TOPOLOGY_HINTS_ANNOTATION: &str = "service.kubernetes.io/topology-aware-hints";
/// Endpoints annotation: the object is a leader-election lock and is not mirrored.
pub const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";
/// Annotation that is never copied from an Endpoints object to its slices.
pub const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Event reason: the pods of a Service could not be listed.
pub const FAILED_TO_LIST_PODS: &str = "FailedToListPods";
/// Event reason: the slices of a Service could not be listed.
pub const FAILED_TO_LIST_SLICES: &str = "FailedToListEndpointSlices";
/// Event reason: slices could not be written.
pub const FAILED_TO_UPDATE_SLICES: &str = "FailedToUpdateEndpointSlices";
/// Event reason: topology hints are given now.
pub const HINTS_ENABLED: &str = "TopologyAwareHintsEnabled";
/// Event reason: topology hints are not given, or no longer.
pub const HINTS_DISABLED: &str = "TopologyAwareHintsDisabled";
/// Event reason: an Endpoints object holds what is not an IP address.
pub const INVALID_IP_ADDRESS: &str = "InvalidIPAddress";
/// Event reason: an Endpoints object holds more addresses than are mirrored.
pub const TOO_MANY_ADDRESSES: &str = "TooManyAddressesToMirror";
