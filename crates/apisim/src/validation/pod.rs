//! Validation of Pods, limited to the fields that tests use.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, PodSpec};

use super::{
    FieldError, invalid_each,
    metadata::{MetaRules, validate_labels},
    names,
    path::Path,
    pod_status, pod_update,
    ports::{validate_number, validate_protocol_text},
};

const SPEC: Path<'static> = Path::new("spec");
const META: MetaRules = MetaRules::new(true, names::dns1123_subdomain);

/// Validates a new Pod.
pub(crate) fn validate(pod: &Pod) -> Vec<FieldError> {
    let spec = spec(pod);
    let mut errors = validate_own(pod, &spec);
    if spec
        .ephemeral_containers
        .is_some_and(|containers| !containers.is_empty())
    {
        let path = SPEC.child("ephemeralContainers");
        errors.push(FieldError::forbidden(&path, "a new pod has none"));
    }
    let gated = spec.scheduling_gates.is_some_and(|gates| !gates.is_empty());
    if spec.node_name.is_some() && gated {
        errors.push(FieldError::forbidden(
            &SPEC.child("nodeName"),
            "comes after all scheduling gates",
        ));
    }
    META.created(&pod.metadata, errors)
}

/// Validates an update of a Pod. A status update has the old spec.
pub(crate) fn validate_update(new: &Pod, old: &Pod) -> Vec<FieldError> {
    let mut errors = META.validate_update(&new.metadata, &old.metadata);
    if new.status == old.status {
        let (new_spec, old_spec) = (spec(new), spec(old));
        errors.extend(validate_own(new, &new_spec));
        errors.extend(pod_update::validate(&new_spec, &old_spec));
    } else {
        errors.extend(pod_status::validate(new, old));
    }
    META.updated(&new.metadata, &old.metadata, errors)
}

fn spec(pod: &Pod) -> PodSpec {
    pod.spec.clone().unwrap_or_default()
}

fn text(field: Option<&String>) -> &str {
    field.map(String::as_str).unwrap_or_default()
}

fn validate_own(pod: &Pod, spec: &PodSpec) -> Vec<FieldError> {
    let mut errors = META.validate(&pod.metadata);
    errors.extend(validate_containers(spec));
    let policies = ["Always", "OnFailure", "Never"];
    errors.extend(FieldError::one_of(
        &SPEC.child("restartPolicy"),
        text(spec.restart_policy.as_ref()),
        &policies,
    ));
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.extend(FieldError::one_of(
        &SPEC.child("dnsPolicy"),
        text(spec.dns_policy.as_ref()),
        &policies,
    ));
    errors.extend(validate_labels(
        &SPEC.child("nodeSelector"),
        spec.node_selector.as_ref(),
    ));
    let path = SPEC.child("readinessGates");
    for (i, gate) in spec.readiness_gates.iter().flatten().enumerate() {
        let path = path.index(i);
        let name = &gate.condition_type;
        errors.extend(invalid_each(
            &path.child("conditionType"),
            name,
            names::qualified_name(name),
        ));
    }
    for (field, name, validate_name) in [
        (
            "serviceAccountName",
            &spec.service_account_name,
            names::dns1123_subdomain as fn(&str) -> _,
        ),
        ("nodeName", &spec.node_name, names::dns1123_subdomain),
        ("hostname", &spec.hostname, names::dns1123_label),
        ("subdomain", &spec.subdomain, names::dns1123_label),
    ] {
        let name = text(name.as_ref());
        if !name.is_empty() {
            errors.extend(invalid_each(&SPEC.child(field), name, validate_name(name)));
        }
    }
    errors.extend(validate_image_whitespace(spec));
    errors
}

fn validate_image_whitespace(spec: &PodSpec) -> Vec<FieldError> {
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let mut errors = Vec::new();
    for (field, containers) in [("containers", spec.containers.as_slice()), ("initContainers", init)] {
        let path = SPEC.child(field);
        for (i, container) in containers.iter().enumerate() {
            let image = text(container.image.as_ref());
            if image.trim() != image {
                let path = path.index(i);
                let detail = "may not have space at its ends";
                errors.push(FieldError::invalid(&path.child("image"), image, detail));
            }
        }
    }
    errors
}

fn validate_containers(spec: &PodSpec) -> Vec<FieldError> {
    let path = SPEC.child("containers");
    if spec.containers.is_empty() {
        return vec![FieldError::required(&path)];
    }
    let mut errors = Vec::new();
    let mut seen = HashSet::new();
    let init_path = SPEC.child("initContainers");
    let init = spec.init_containers.as_deref().unwrap_or_default();
    for (path, containers) in [(path, spec.containers.as_slice()), (init_path, init)] {
        for (i, container) in containers.iter().enumerate() {
            let path = path.index(i);
            errors.extend(validate_container(&path, container));
            if !seen.insert(container.name.as_str()) {
                errors.push(FieldError::duplicate(&path.child("name"), &container.name));
            }
        }
    }
    errors.extend(validate_host_ports(&path, spec));
    errors
}

fn validate_container(path: &Path<'_>, container: &Container) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match container.name.as_str() {
        "" => errors.push(FieldError::required(&path.child("name"))),
        name => errors.extend(invalid_each(&path.child("name"), name, names::dns1123_label(name))),
    }
    let image = text(container.image.as_ref());
    if image.is_empty() {
        errors.push(FieldError::required(&path.child("image")));
    }
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = text(container.termination_message_policy.as_ref());
    errors.extend(FieldError::one_of(
        &path.child("terminationMessagePolicy"),
        policy,
        &policies,
    ));
    let ports = path.child("ports");
    let mut seen = HashSet::new();
    for (i, port) in container.ports.iter().flatten().enumerate() {
        errors.extend(validate_port(&ports.index(i), port, &mut seen));
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = text(container.image_pull_policy.as_ref());
    errors.extend(FieldError::one_of(&path.child("imagePullPolicy"), policy, &policies));
    errors
}

fn validate_port<'a>(path: &Path<'_>, port: &'a ContainerPort, seen: &mut HashSet<&'a str>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(port.name.as_ref());
    if !name.is_empty() {
        let path = path.child("name");
        let name_errors = invalid_each(&path, name, names::port_name(name));
        if name_errors.is_empty() && !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        errors.extend(name_errors);
    }
    let number = path.child("containerPort");
    if port.container_port == 0 {
        errors.push(FieldError::required(&number));
    } else {
        errors.extend(validate_number(&number, port.container_port));
    }
    if let Some(host) = port.host_port.filter(|host| *host != 0) {
        errors.extend(validate_number(&path.child("hostPort"), host));
    }
    errors.extend(validate_protocol_text(
        &path.child("protocol"),
        port.protocol.as_deref(),
    ));
    errors
}

/// Host ports must be unique in the pod. With host network, a host port must equal the container port.
fn validate_host_ports(path: &Path<'_>, spec: &PodSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut mismatches = Vec::new();
    let mut seen = HashSet::new();
    for (i, container) in spec.containers.iter().enumerate() {
        let path = path.index(i);
        let path = path.child("ports");
        for (i, port) in container.ports.iter().flatten().enumerate() {
            let path = path.index(i);
            let path = path.child("hostPort");
            let host = port.host_port.unwrap_or_default();
            let key = format!(
                "{}/{}/{host}",
                text(port.protocol.as_ref()),
                text(port.host_ip.as_ref())
            );
            if host != 0 && !seen.insert(key.clone()) {
                errors.push(FieldError::duplicate(&path, key));
            }
            if spec.host_network == Some(true) && host != port.container_port {
                let detail = "must be the containerPort on the network of the host";
                mismatches.push(FieldError::invalid(&path, host, detail));
            }
        }
    }
    errors.extend(mismatches);
    errors
}
