//! Validation of cluster IPs and IP families of Services.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::ServiceSpec;

use super::{
    FieldError,
    addresses::{is_dual_stack, parse_lenient, validate_ip},
    path::Path,
    service::{SPEC, text},
};
use crate::kinds::service::spec_ext::texts;

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// Validates cluster IPs, IP families and family policy together.
pub(crate) fn validate_cluster_ips(spec: &ServiceSpec, old: Option<&ServiceSpec>) -> Vec<FieldError> {
    if text(spec.type_.as_ref()) == "ExternalName" {
        return Vec::new();
    }
    let ips = texts(spec.cluster_ips.as_ref());
    let path = SPEC.child("clusterIPs");
    let mut errors = Vec::new();
    match (text(spec.cluster_ip.as_ref()), ips.first()) {
        ("", Some(_)) => errors.push(FieldError::invalid(&path, &ips, "must be empty when clusterIP is")),
        (first, None) if !first.is_empty() => errors.push(FieldError::required(&path)),
        (one, Some(first)) if one != *first => {
            errors.push(FieldError::invalid(&path, &ips, "must begin with clusterIP"));
        }
        _ => {}
    }
    errors.extend(validate_families(spec));
    let known = old.map(|old| texts(old.cluster_ips.as_ref())).unwrap_or_default();
    let ip_errors = validate_ips(&path, &ips, &known);
    let ips_valid = ip_errors.is_empty();
    errors.extend(ip_errors);
    if ips.len() > 2 {
        errors.push(FieldError::invalid(&path, &ips, "may hold at most two"));
    }
    if ips_valid {
        errors.extend(validate_families_of_ips(&path, &ips, &texts(spec.ip_families.as_ref())));
    }
    errors
}

fn validate_families(spec: &ServiceSpec) -> Vec<FieldError> {
    let families = texts(spec.ip_families.as_ref());
    let path = SPEC.child("ipFamilies");
    let mut errors = Vec::new();
    for (i, family) in families.iter().enumerate() {
        if !FAMILIES.contains(family) {
            errors.push(FieldError::not_supported(&path.index(i), family, &FAMILIES));
        }
        if families[..i].contains(family) {
            errors.push(FieldError::duplicate(&path.index(i), family));
        }
    }
    if let Some(policy) = &spec.ip_family_policy
        && !POLICIES.contains(&policy.as_str())
    {
        let path = SPEC.child("ipFamilyPolicy");
        errors.push(FieldError::not_supported(&path, policy, &POLICIES));
    }
    errors
}

fn validate_ips(path: &Path<'_>, ips: &[&str], known: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (i, ip) in ips.iter().enumerate() {
        if i == 0 && *ip == "None" {
            if ips.len() > 1 {
                errors.push(FieldError::invalid(path, ips, "None cannot go with an address"));
            }
            continue;
        }
        errors.extend(validate_ip(&path.index(i), ip, known));
    }
    errors
}

fn validate_families_of_ips(path: &Path<'_>, ips: &[&str], families: &[&str]) -> Vec<FieldError> {
    if ips == ["None"] {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let parsed: Vec<IpAddr> = ips.iter().filter_map(|ip| parse_lenient(ip)).collect();
    if ips.len() > 1 && !is_dual_stack(&parsed) {
        errors.push(FieldError::invalid(path, ips, "may hold one address of each IP family"));
    }
    for (i, (ip, family)) in parsed.iter().zip(families).enumerate() {
        let mismatch = match *family {
            "IPv4" => ip.is_ipv6(),
            "IPv6" => ip.is_ipv4(),
            _ => false,
        };
        if mismatch {
            let detail = format!("must be {family}, as in ipFamilies[{i}]");
            errors.push(FieldError::invalid(&path.index(i), ips[i], detail));
        }
    }
    errors
}
