//! Allocation of IP families and cluster IPs of a Service, in a dual-stack cluster with primary family IPv4.

use k8s_openapi::api::core::v1::ServiceSpec;

use super::{
    node_ports::allocate_node_ports,
    spec_ext::{allocates_node_ports, is_headless, needs_cluster_ip, needs_health_check, node_ports, texts, type_of},
};
use crate::{
    kinds::ClusterIps,
    validation::{FieldError, addresses::parse_lenient, path::Path, service_addresses::validate_cluster_ips},
};

pub(super) const SPEC: Path<'static> = Path::new("spec");

/// Sets IP families, cluster IPs and node ports.
pub(super) fn allocate(
    spec: &mut ServiceSpec,
    old: Option<&ServiceSpec>,
    ips: &ClusterIps,
) -> Result<(), Vec<FieldError>> {
    if let Some(old) = old {
        carry_over(spec, old);
        follow_changed_cluster_ip(spec, old);
    } else if let (Some(ip), None) = (&spec.cluster_ip, &spec.cluster_ips) {
        spec.cluster_ips = Some(vec![ip.clone()]);
    }
    if !is_unchanged_dual_stack(spec, old) {
        choose_families(spec, old)?;
        choose_ips(spec, old, ips)?;
    }
    allocate_node_ports(spec, old, ips)
}

/// Copies allocated values that the update omits.
fn carry_over(spec: &mut ServiceSpec, old: &ServiceSpec) {
    if needs_cluster_ip(old) && needs_cluster_ip(spec) {
        spec.cluster_ip = spec.cluster_ip.take().or_else(|| old.cluster_ip.clone());
        spec.cluster_ips = spec.cluster_ips.take().or_else(|| old.cluster_ips.clone());
    }
    if allocates_node_ports(old) && allocates_node_ports(spec) {
        let used: Vec<i32> = node_ports(spec)
            .filter(|port| node_ports(old).any(|old| old == *port))
            .collect();
        for port in spec.ports.iter_mut().flatten().filter(|port| port.node_port.is_none()) {
            let old_port = old.ports.iter().flatten().rfind(|old| old.name == port.name);
            port.node_port = old_port
                .and_then(|old| old.node_port)
                .filter(|number| !used.contains(number));
        }
    }
    if needs_health_check(old) && needs_health_check(spec) {
        spec.health_check_node_port = spec.health_check_node_port.or(old.health_check_node_port);
    }
}

/// Copies a changed `clusterIP` to an unchanged `clusterIPs`, for clients that set only the singular field.
fn follow_changed_cluster_ip(spec: &mut ServiceSpec, old: &ServiceSpec) {
    if spec.cluster_ip != old.cluster_ip && spec.cluster_ips == old.cluster_ips {
        spec.cluster_ips = spec.cluster_ip.clone().map(|ip| vec![ip]);
    }
}

/// Whether a Service with `PreferDualStack` is unchanged. It keeps its families and addresses.
fn is_unchanged_dual_stack(spec: &ServiceSpec, old: Option<&ServiceSpec>) -> bool {
    let prefers = |spec: &ServiceSpec| spec.ip_family_policy.as_deref() == Some("PreferDualStack");
    old.is_some_and(|old| {
        needs_cluster_ip(spec)
            && type_of(spec) == type_of(old)
            && prefers(spec)
            && prefers(old)
            && spec.cluster_ips == old.cluster_ips
            && spec.ip_families == old.ip_families
    })
}

fn choose_families(spec: &mut ServiceSpec, old: Option<&ServiceSpec>) -> Result<(), Vec<FieldError>> {
    if !needs_cluster_ip(spec) {
        return Ok(());
    }
    let selectorless_headless = is_headless(spec) && spec.selector.is_none();
    if spec.ip_family_policy.is_none() {
        let default = if selectorless_headless {
            "RequireDualStack"
        } else {
            "SingleStack"
        };
        let old_policy = old.and_then(|old| old.ip_family_policy.clone());
        spec.ip_family_policy = old_policy.or_else(|| Some(default.to_owned()));
    }
    into_result(validate_cluster_ips(spec, old))?;
    into_result(apply_policy(spec, old))?;

    let single = spec.ip_family_policy.as_deref() == Some("SingleStack");
    let families = spec.ip_families.get_or_insert_with(|| vec!["IPv4".to_owned()]);
    if !single && families.len() == 1 {
        let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(other.to_owned());
    }
    Ok(())
}

/// Applies `ipFamilyPolicy`: `SingleStack` drops the second family and address, and families follow from given addresses.
/// Returns errors where the policy contradicts the lists.
fn apply_policy(spec: &mut ServiceSpec, old: Option<&ServiceSpec>) -> Vec<FieldError> {
    let path = SPEC.child("ipFamilyPolicy");
    let policy = spec.ip_family_policy.clone().unwrap_or_default();
    let invalid = |detail: &str| FieldError::invalid(&path, &policy, detail);
    let mut errors = Vec::new();
    let single = policy == "SingleStack";
    if let Some(old) = old {
        for (list, old_list) in [
            (&mut spec.cluster_ips, &old.cluster_ips),
            (&mut spec.ip_families, &old.ip_families),
        ] {
            let count = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
            if single && *list == *old_list {
                if let Some(list) = list {
                    list.truncate(1);
                }
            } else if !single && list.is_some() && count(list) < count(old_list) {
                errors.push(invalid("must be SingleStack to give the second one back"));
            }
        }
    }
    for list in [&spec.cluster_ips, &spec.ip_families] {
        if single && list.as_ref().is_some_and(|list| list.len() == 2) {
            errors.push(invalid("must be RequireDualStack or PreferDualStack for two"));
        }
    }
    let given: Vec<String> = texts(spec.cluster_ips.as_ref())
        .into_iter()
        .take_while(|ip| *ip != "None")
        .map(|ip| family_of(ip).to_owned())
        .collect();
    let known = spec.ip_families.as_ref().map_or(0, Vec::len);
    if given.len() > known {
        spec.ip_families
            .get_or_insert_default()
            .extend_from_slice(&given[known..]);
    }
    errors
}

fn choose_ips(spec: &mut ServiceSpec, old: Option<&ServiceSpec>, ips: &ClusterIps) -> Result<(), Vec<FieldError>> {
    let keeps_old = old.is_some_and(needs_cluster_ip);
    let old_families = old.and_then(|old| old.ip_families.as_ref()).map_or(0, Vec::len);
    let families = spec.ip_families.clone().unwrap_or_default();
    let was_headless = old.is_some_and(is_headless);
    let upgraded = old_families == 1 && families.len() == 2;
    if !needs_cluster_ip(spec) || is_headless(spec) || (keeps_old && (was_headless || !upgraded)) {
        return Ok(());
    }
    let requested = spec.cluster_ips.get_or_insert_default().clone();
    let kept = usize::from(keeps_old);
    let mut chosen: Vec<String> = requested.iter().take(kept).cloned().collect();
    for (i, family) in families.iter().enumerate().skip(kept) {
        let requested_ip = requested.get(i).and_then(|ip| parse_lenient(ip));
        match ips.choose_ip(family == "IPv6", requested_ip) {
            // A requested address stays in the form that the client wrote.
            Ok(ip) => chosen.push(requested.get(i).cloned().unwrap_or_else(|| ip.to_string())),
            Err(error) => {
                let path = SPEC.child("clusterIPs");
                return Err(vec![FieldError::invalid(&path, &requested, error.to_string())]);
            }
        }
    }
    spec.cluster_ip = chosen.first().cloned();
    spec.cluster_ips = Some(chosen);
    Ok(())
}

fn family_of(ip: &str) -> &'static str {
    if parse_lenient(ip).is_some_and(|ip| ip.is_ipv6()) {
        "IPv6"
    } else {
        "IPv4"
    }
}

fn into_result(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
