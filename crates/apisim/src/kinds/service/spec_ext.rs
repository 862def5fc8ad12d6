//! Accessors and predicates of `ServiceSpec`.

use k8s_openapi::api::core::v1::ServiceSpec;

/// The type, which is always set after defaulting.
pub(crate) fn type_of(spec: &ServiceSpec) -> &str {
    spec.type_.as_deref().unwrap_or_default()
}

/// A list of strings; an absent list is empty.
pub(crate) fn texts(list: Option<&Vec<String>>) -> Vec<&str> {
    list.into_iter().flatten().map(String::as_str).collect()
}

pub(crate) fn is_headless(spec: &ServiceSpec) -> bool {
    spec.cluster_ip.as_deref() == Some("None")
}

pub(crate) fn needs_cluster_ip(spec: &ServiceSpec) -> bool {
    type_of(spec) != "ExternalName"
}

/// Whether every port gets a node port, even if not requested.
pub(crate) fn allocates_node_ports(spec: &ServiceSpec) -> bool {
    match type_of(spec) {
        "NodePort" => true,
        "LoadBalancer" => spec.allocate_load_balancer_node_ports.unwrap_or(true),
        _ => false,
    }
}

pub(crate) fn has_node_ports(spec: &ServiceSpec) -> bool {
    matches!(type_of(spec), "NodePort" | "LoadBalancer")
}

pub(crate) fn is_externally_accessible(spec: &ServiceSpec) -> bool {
    has_node_ports(spec) || (type_of(spec) == "ClusterIP" && !texts(spec.external_ips.as_ref()).is_empty())
}

/// Whether the Service has a health check node port for its load balancer.
pub(crate) fn needs_health_check(spec: &ServiceSpec) -> bool {
    type_of(spec) == "LoadBalancer" && spec.external_traffic_policy.as_deref() == Some("Local")
}

/// The node ports of a spec, without zeros.
pub(crate) fn node_ports(spec: &ServiceSpec) -> impl Iterator<Item = i32> {
    spec.ports
        .iter()
        .flatten()
        .filter_map(|port| port.node_port)
        .filter(|port| *port != 0)
}
