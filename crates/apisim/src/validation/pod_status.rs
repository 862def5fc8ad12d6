//! Which statuses of Pods are accepted.

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

/// What is wrong with a new status.
pub(crate) fn validate(new: &Pod, old: &Pod) -> Vec<FieldError> {
    let [is, was] = [new, old].map(|pod| pod.status.clone().unwrap_or_default());
    let mut errors = Vec::new();
    let path = STATUS.child("conditions");
    for (i, condition) in is.conditions.iter().flatten().enumerate() {
        let name = condition.type_.as_str();
        if !SYSTEM_CONDITIONS.contains(&name) {
            let path = path.index(i);
            errors.extend(invalid_each(&path.child("Type"), name, names::qualified_name(name)));
        }
    }
    errors.extend(validate_nomination(old, &is, &was));
    errors.extend(immutable(&STATUS.child("qosClass"), &is.qos_class, &was.qos_class));
    errors.extend(validate_addresses(&is, &was));
    errors
}

fn validate_nomination(pod: &Pod, is: &PodStatus, was: &PodStatus) -> Vec<FieldError> {
    let node = is.nominated_node_name.as_deref().unwrap_or_default();
    if node.is_empty() || is.nominated_node_name == was.nominated_node_name {
        return Vec::new();
    }
    let path = STATUS.child("nominatedNodeName");
    let mut errors = invalid_each(&path, node, names::dns1123_subdomain(node));
    if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
        errors.push(FieldError::forbidden(&path, "the pod has a node already"));
    }
    errors
}

fn validate_addresses(is: &PodStatus, was: &PodStatus) -> Vec<FieldError> {
    let pods =
        |status: &PodStatus| -> Vec<String> { status.pod_ips.iter().flatten().map(|ip| ip.ip.clone()).collect() };
    let hosts =
        |status: &PodStatus| -> Vec<String> { status.host_ips.iter().flatten().map(|ip| ip.ip.clone()).collect() };
    let path = STATUS.child("podIPs");
    let mut errors = validate_list(&path, &pods(is), &pods(was), &is.pod_ips);
    let path = STATUS.child("hostIPs");
    let host_ips = hosts(is);
    if let Some(first) = host_ips.first()
        && is.host_ip.as_ref() != Some(first)
    {
        let path = path.index(0);
        errors.push(FieldError::invalid(
            &path.child("ip"),
            first,
            "must be the same as hostIP",
        ));
    }
    errors.extend(validate_list(&path, &host_ips, &hosts(was), &is.host_ips));
    errors
}

fn validate_list(path: &Path<'_>, ips: &[String], before: &[String], shown: impl Serialize) -> Vec<FieldError> {
    let known: Vec<&str> = before.iter().map(String::as_str).collect();
    let mut errors = Vec::new();
    for (i, ip) in ips.iter().enumerate() {
        errors.extend(validate_ip(&path.index(i), ip, &known));
    }
    if ips.len() > 1 {
        let parsed: Vec<_> = ips.iter().filter_map(|ip| parse_lenient(ip)).collect();
        if parsed.len() < ips.len() {
            errors.push(FieldError::internal(
                path,
                "the families of these addresses cannot be told",
            ));
        }
        if !is_dual_stack(&parsed) || ips.len() > 2 {
            let detail = "may hold one address of each IP family";
            errors.push(FieldError::invalid(path, shown, detail));
        }
    }
    errors
}
