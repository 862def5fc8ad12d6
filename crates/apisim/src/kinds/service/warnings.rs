//! `Warning` headers for valid Services.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};

use super::spec_ext::{is_headless, texts, type_of};
use crate::validation::{addresses::ip_warning, path::Path};

const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const SPEC: Path<'static> = Path::new("spec");

pub(super) fn warnings(service: &Service) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = service.metadata.annotations.as_ref();
    if annotations.is_some_and(|annotations| annotations.contains_key(TOPOLOGY_HINTS)) {
        let instead = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {TOPOLOGY_HINTS} is deprecated: use {instead}"));
    }
    if let Some(spec) = &service.spec {
        warnings.extend(address_warnings(spec));
        warnings.extend(ignored(spec).into_iter().map(str::to_owned));
    }
    warnings
}

fn address_warnings(spec: &ServiceSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    let cluster_ips = if is_headless(spec) {
        Vec::new()
    } else {
        texts(spec.cluster_ips.as_ref())
    };
    let external_ips = texts(spec.external_ips.as_ref());
    for (field, ips) in [("clusterIPs", cluster_ips), ("externalIPs", external_ips)] {
        let path = SPEC.child(field);
        let ips = ips.into_iter().enumerate();
        warnings.extend(ips.filter_map(|(i, ip)| ip_warning(&path.index(i), ip)));
    }
    let balancer = spec.load_balancer_ip.as_deref().unwrap_or_default();
    warnings.extend(ip_warning(&SPEC.child("loadBalancerIP"), balancer));
    warnings
}

/// Warnings about ignored or deprecated fields.
fn ignored(spec: &ServiceSpec) -> Vec<&'static str> {
    let kind = type_of(spec);
    let headless = kind == "ClusterIP" && is_headless(spec);
    let named = kind == "ExternalName";
    let external_ips = !texts(spec.external_ips.as_ref()).is_empty();
    let has = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    let balancer_ip = has(spec.load_balancer_ip.as_deref());
    let external_name = has(spec.external_name.as_deref());
    let sticky = spec.session_affinity.as_deref() != Some("None");
    let prefers_close = spec.traffic_distribution.as_deref() == Some("PreferClose");
    [
        (
            headless && balancer_ip,
            "spec.loadBalancerIP means nothing to a headless Service",
        ),
        (
            headless && external_ips,
            "spec.externalIPs means nothing to a headless Service",
        ),
        (
            headless && sticky,
            "spec.SessionAffinity means nothing to a headless Service",
        ),
        (
            external_ips && !headless && !named,
            "spec.externalIPs is deprecated: some clusters ignore it",
        ),
        (
            named && external_ips,
            "spec.externalIPs means nothing to a Service of type ExternalName",
        ),
        (
            !named && external_name,
            "spec.externalName only means something to type ExternalName",
        ),
        (
            prefers_close,
            "spec.trafficDistribution: PreferClose is deprecated: use PreferSameZone",
        ),
    ]
    .into_iter()
    .filter_map(|(applies, warning)| applies.then_some(warning))
    .collect()
}
