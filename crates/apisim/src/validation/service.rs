//! Validation of Services.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};

use super::{
    FieldError,
    addresses::{validate_cidr, validate_endpoint_ip, validate_ip},
    invalid_each,
    metadata::{MetaRules, validate_labels},
    names,
    path::Path,
    ports::validate_number,
    service_addresses::validate_cluster_ips,
    service_ports::{validate_port_numbers, validate_ports},
    service_update,
};
use crate::kinds::service::spec_ext::{is_externally_accessible, needs_health_check, texts, type_of};

pub(super) const SPEC: Path<'static> = Path::new("spec");
const META: MetaRules = MetaRules::new(true, names::dns1123_label);
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONLY_LOAD_BALANCERS: &str = "is only for Services of type LoadBalancer";
const AFFINITY_SECONDS_MAX: i32 = 86_400;

/// Validates a new Service.
pub(crate) fn validate(service: &Service) -> Vec<FieldError> {
    let mut errors = META.validate(&service.metadata);
    errors.extend(validate_service(service, None));
    META.created(&service.metadata, errors)
}

/// Validates an update of a Service. A status update has the old spec.
pub(crate) fn validate_update(new: &Service, old: &Service) -> Vec<FieldError> {
    let mut errors = META.validate_update(&new.metadata, &old.metadata);
    if new.status != old.status {
        errors.extend(service_update::validate_status(new, old));
    }
    if new.status == old.status || new.spec != old.spec {
        errors.extend(service_update::validate(&spec(new), &spec(old)));
        errors.extend(validate_service(new, Some(old)));
    }
    META.updated(&new.metadata, &old.metadata, errors)
}

fn spec(service: &Service) -> ServiceSpec {
    service.spec.clone().unwrap_or_default()
}

pub(super) fn text(field: Option<&String>) -> &str {
    field.map(String::as_str).unwrap_or_default()
}

fn validate_service(service: &Service, old: Option<&Service>) -> Vec<FieldError> {
    let spec = spec(service);
    let old = old.map(self::spec);
    let mut errors: Vec<_> = validate_topology_annotations(service).into_iter().collect();
    errors.extend(validate_type_needs(&spec));
    errors.extend(validate_ports(&spec));
    errors.extend(validate_labels(&SPEC.child("selector"), spec.selector.as_ref()));
    errors.extend(validate_affinity(&spec));
    errors.extend(validate_cluster_ips(&spec, old.as_ref()));
    errors.extend(validate_external_ips(&spec, old.as_ref()));
    let path = SPEC.child("type");
    errors.extend(FieldError::one_of(&path, type_of(&spec), &TYPES));
    errors.extend(validate_port_numbers(&spec));
    errors.extend(validate_source_ranges(service, &spec, old.as_ref()));
    errors.extend(validate_load_balancer(&spec));
    errors.extend(validate_external_traffic(&spec));
    errors.extend(validate_internal_traffic(&spec));
    errors
}

fn validate_topology_annotations(service: &Service) -> Option<FieldError> {
    let annotations = service.metadata.annotations.as_ref()?;
    let (mode, hints) = (annotations.get(TOPOLOGY_MODE)?, annotations.get(TOPOLOGY_HINTS)?);
    let metadata = Path::new("metadata");
    let path = metadata.child("annotations");
    let detail = format!("must be the same as annotation {TOPOLOGY_HINTS} when there are both");
    (mode != hints).then(|| FieldError::invalid(&path.key(TOPOLOGY_MODE), mode, detail))
}

fn validate_type_needs(spec: &ServiceSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = type_of(spec);
    let headless = texts(spec.cluster_ips.as_ref()) == ["None"];
    let portless = spec.ports.as_ref().is_none_or(Vec::is_empty);
    if portless && !headless && kind != "ExternalName" {
        errors.push(FieldError::required(&SPEC.child("ports")));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let path = SPEC.child("clusterIPs");
            let detail = format!("may not be None for a Service of type {kind}");
            errors.push(FieldError::invalid(&path.index(0), "None", detail));
        }
        "ExternalName" => {
            for (field, set) in [
                ("clusterIPs", !texts(spec.cluster_ips.as_ref()).is_empty()),
                ("ipFamilies", !texts(spec.ip_families.as_ref()).is_empty()),
                ("ipFamilyPolicy", spec.ip_family_policy.is_some()),
            ] {
                if set {
                    let path = SPEC.child(field);
                    errors.push(FieldError::forbidden(&path, "an ExternalName Service has none"));
                }
            }
            let path = SPEC.child("externalName");
            let name = text(spec.external_name.as_ref());
            match name.strip_suffix('.').unwrap_or(name) {
                "" => errors.push(FieldError::required(&path)),
                name => errors.extend(invalid_each(&path, name, names::dns1123_subdomain(name))),
            }
        }
        _ => {}
    }
    errors
}

fn validate_affinity(spec: &ServiceSpec) -> Vec<FieldError> {
    let affinity = text(spec.session_affinity.as_ref());
    let path = SPEC.child("sessionAffinity");
    let mut errors: Vec<_> = FieldError::one_of(&path, affinity, &["ClientIP", "None"])
        .into_iter()
        .collect();
    let path = SPEC.child("sessionAffinityConfig");
    let config = spec.session_affinity_config.as_ref();
    if affinity == "None" && config.is_some() {
        errors.push(FieldError::forbidden(
            &path,
            "is only for sessions that stick to clients",
        ));
    }
    if affinity == "ClientIP" {
        let client = config.and_then(|config| config.client_ip.as_ref());
        let seconds = client.and_then(|client| client.timeout_seconds).unwrap_or_default();
        if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds) {
            let path = path.child("clientIP");
            let path = path.child("timeoutSeconds");
            let detail = format!("must be between 1 and {AFFINITY_SECONDS_MAX}");
            errors.push(FieldError::invalid(&path, seconds, detail));
        }
    }
    errors
}

fn validate_external_ips(spec: &ServiceSpec, old: Option<&ServiceSpec>) -> Vec<FieldError> {
    let path = SPEC.child("externalIPs");
    let known = old.map(|old| texts(old.external_ips.as_ref())).unwrap_or_default();
    let mut errors = Vec::new();
    for (i, ip) in texts(spec.external_ips.as_ref()).into_iter().enumerate() {
        let path = path.index(i);
        let ip_errors = validate_ip(&path, ip, &known);
        if ip_errors.is_empty() {
            errors.extend(validate_endpoint_ip(&path, ip));
        }
        errors.extend(ip_errors);
    }
    errors
}

/// Validates the source ranges, from the field or from the older annotation.
fn validate_source_ranges(service: &Service, spec: &ServiceSpec, old: Option<&ServiceSpec>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let ranges = texts(spec.load_balancer_source_ranges.as_ref());
    let annotation = service
        .metadata
        .annotations
        .iter()
        .find_map(|all| all.get(SOURCE_RANGES));
    let (metadata, field) = (Path::new("metadata"), SPEC.child("LoadBalancerSourceRanges"));
    let annotations = metadata.child("annotations");
    let path = if ranges.is_empty() {
        annotations.key(SOURCE_RANGES)
    } else {
        field
    };
    let has_ranges = !ranges.is_empty() || annotation.is_some();
    if has_ranges && type_of(spec) != "LoadBalancer" {
        errors.push(FieldError::forbidden(&path, ONLY_LOAD_BALANCERS));
    }
    if ranges.is_empty() {
        let listed = annotation.map(|list| list.trim()).filter(|list| !list.is_empty());
        let listed = listed.into_iter().flat_map(|list| list.split(','));
        errors.extend(listed.flat_map(|range| validate_cidr(&path, range.trim(), &[])));
    }
    let known = old
        .map(|old| texts(old.load_balancer_source_ranges.as_ref()))
        .unwrap_or_default();
    let known: Vec<&str> = known.into_iter().map(str::trim).collect();
    for (i, range) in ranges.into_iter().enumerate() {
        errors.extend(validate_cidr(&path.index(i), range.trim(), &known));
    }
    errors
}

fn validate_load_balancer(spec: &ServiceSpec) -> Vec<FieldError> {
    let balanced = type_of(spec) == "LoadBalancer";
    let mut errors = Vec::new();
    if spec.allocate_load_balancer_node_ports.is_some() && !balanced {
        let path = SPEC.child("allocateLoadBalancerNodePorts");
        errors.push(FieldError::forbidden(&path, ONLY_LOAD_BALANCERS));
    }
    let path = SPEC.child("loadBalancerClass");
    match &spec.load_balancer_class {
        Some(_) if !balanced => errors.push(FieldError::forbidden(&path, ONLY_LOAD_BALANCERS)),
        Some(class) => errors.extend(invalid_each(&path, class, names::qualified_name(class))),
        None => {}
    }
    errors
}

fn validate_external_traffic(spec: &ServiceSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = text(spec.external_traffic_policy.as_ref());
    let path = SPEC.child("externalTrafficPolicy");
    if is_externally_accessible(spec) {
        errors.extend(FieldError::one_of(&path, policy, &["Cluster", "Local"]));
    } else if !policy.is_empty() {
        errors.push(FieldError::invalid(
            &path,
            policy,
            "is only for Services reachable from outside",
        ));
    }
    let port = spec.health_check_node_port.unwrap_or_default();
    let path = SPEC.child("healthCheckNodePort");
    match (needs_health_check(spec), port) {
        (true, 0) => errors.push(FieldError::required(&path)),
        (true, port) => errors.extend(validate_number(&path, port)),
        (false, 0) => {}
        (false, port) => {
            let detail = "is only for LoadBalancers with externalTrafficPolicy Local";
            errors.push(FieldError::invalid(&path, port, detail));
        }
    }
    errors
}

fn validate_internal_traffic(spec: &ServiceSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = SPEC.child("internalTrafficPolicy");
    match &spec.internal_traffic_policy {
        None if matches!(type_of(spec), "ClusterIP" | "NodePort" | "LoadBalancer") => {
            errors.push(FieldError::required(&path));
        }
        None => {}
        Some(policy) if ["Cluster", "Local"].contains(&policy.as_str()) => {}
        Some(policy) => errors.push(FieldError::not_supported(&path, policy, &["Cluster", "Local"])),
    }
    let supported = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if let Some(distribution) = &spec.traffic_distribution
        && !supported.contains(&distribution.as_str())
    {
        let path = SPEC.child("trafficDistribution");
        errors.push(FieldError::not_supported(&path, distribution, &supported));
    }
    errors
}
