//! Validation of Pod status updates.

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde::Serialize;

use super::{
    FieldError,
    addresses::{is_dual_stack, parse_lenient, validate_ip},
    immutable, invalid_each, names,
    path::Path,
};

const STATUS: Path<'static> = Path::new("status");
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

/// Validates a status update.
pub(crate) fn validate(new: &Pod, old: &Pod) -> Vec<FieldError> {
    let [new_status, old_status] = [new, old].map(|pod| pod.status.clone().unwrap_or_default());
    let mut errors = Vec::new();
    let path = STATUS.child("conditions");
    for (i, condition) in new_status.conditions.iter().flatten().enumerate() {
        let name = condition.type_.as_str();
        if !SYSTEM_CONDITIONS.contains(&name) {
            let path = path.index(i);
            errors.extend(invalid_each(&path.child("Type"), name, names::qualified_name(name)));
        }
    }
    errors.extend(validate_nomination(old, &new_status, &old_status));
    errors.extend(immutable(
        &STATUS.child("qosClass"),
        &new_status.qos_class,
        &old_status.qos_class,
    ));
    errors.extend(validate_addresses(&new_status, &old_status));
    errors
}

fn validate_nomination(pod: &Pod, new_status: &PodStatus, old_status: &PodStatus) -> Vec<FieldError> {
    let node = new_status.nominated_node_name.as_deref().unwrap_or_default();
    if node.is_empty() || new_status.nominated_node_name == old_status.nominated_node_name {
        return Vec::new();
    }
    let path = STATUS.child("nominatedNodeName");
    let mut errors = invalid_each(&path, node, names::dns1123_subdomain(node));
    if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
        errors.push(FieldError::forbidden(&path, "the pod has a node already"));
    }
    errors
}

fn validate_addresses(new_status: &PodStatus, old_status: &PodStatus) -> Vec<FieldError> {
    let pods =
        |status: &PodStatus| -> Vec<String> { status.pod_ips.iter().flatten().map(|ip| ip.ip.clone()).collect() };
    let hosts =
        |status: &PodStatus| -> Vec<String> { status.host_ips.iter().flatten().map(|ip| ip.ip.clone()).collect() };
    let path = STATUS.child("podIPs");
    let mut errors = validate_list(&path, &pods(new_status), &pods(old_status), &new_status.pod_ips);
    let path = STATUS.child("hostIPs");
    let host_ips = hosts(new_status);
    if let Some(first) = host_ips.first()
        && new_status.host_ip.as_ref() != Some(first)
    {
        let path = path.index(0);
        errors.push(FieldError::invalid(
            &path.child("ip"),
            first,
            "must be the same as hostIP",
        ));
    }
    errors.extend(validate_list(
        &path,
        &host_ips,
        &hosts(old_status),
        &new_status.host_ips,
    ));
    errors
}

fn validate_list(path: &Path<'_>, ips: &[String], old_ips: &[String], value: impl Serialize) -> Vec<FieldError> {
    let known: Vec<&str> = old_ips.iter().map(String::as_str).collect();
    let mut errors = Vec::new();
    for (i, ip) in ips.iter().enumerate() {
        errors.extend(validate_ip(&path.index(i), ip, &known));
    }
    if ips.len() > 1 {
        let parsed: Vec<_> = ips.iter().filter_map(|ip| parse_lenient(ip)).collect();
        if parsed.len() < ips.len() {
            errors.push(FieldError::internal(path, "cannot determine the IP families"));
        }
        if !is_dual_stack(&parsed) || ips.len() > 2 {
            let detail = "may hold one address of each IP family";
            errors.push(FieldError::invalid(path, value, detail));
        }
    }
    errors
}
