//! Labels and annotations that the checks read. They are repeated here on purpose: a checker that shares a constant
//! with the checked code shares its mistakes.

pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(crate) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";
pub(crate) const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

pub(crate) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(crate) const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const CONTROL_PLANE_ROLES: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

pub(crate) const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
pub(crate) const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
