//! Validation of Service updates.

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use serde::Serialize;

use super::{
    FieldError,
    addresses::{parse_lenient, validate_ip},
    invalid_each, names,
    path::Path,
    service::{SPEC, text},
};
use crate::kinds::service::spec_ext::{needs_health_check, texts};

/// Validates the changes of a spec, in addition to the validation of the new spec.
pub(crate) fn validate(new: &ServiceSpec, old: &ServiceSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if [new, old]
        .iter()
        .all(|spec| text(spec.type_.as_ref()) != "ExternalName")
    {
        errors.extend(validate_cluster_ips(new, old));
        errors.extend(validate_families(new, old));
    }
    errors.extend(validate_load_balancer_class(new, old));
    if needs_health_check(old) && needs_health_check(new) && new.health_check_node_port != old.health_check_node_port {
        let path = SPEC.child("healthCheckNodePort");
        errors.push(FieldError::forbidden(&path, "cannot be changed"));
    }
    errors
}

fn validate_cluster_ips(new: &ServiceSpec, old: &ServiceSpec) -> Vec<FieldError> {
    let [was, is] = [old, new].map(|spec| texts(spec.cluster_ips.as_ref()));
    if was == ["None"] && is == ["None"] {
        return Vec::new();
    }
    let path = SPEC.child("clusterIPs");
    let mut errors = Vec::new();
    if was.len() == is.len() {
        let changed = was.iter().zip(&is).enumerate().filter(|(_, (was, is))| was != is);
        errors.extend(changed.map(|(i, _)| immutable_error(&path.index(i), &is)));
        return errors;
    }
    if is.is_empty() {
        let detail = "the first cluster IP cannot be taken away";
        errors.push(FieldError::invalid(&path.index(0), &is, detail));
    }
    if first_changed(&was, &is) {
        errors.push(immutable_error(&path.index(0), &is));
    }
    if was.len() > is.len() && is.len() == 1 {
        errors.extend(needs_single_stack(new));
    }
    errors
}

fn validate_families(new: &ServiceSpec, old: &ServiceSpec) -> Vec<FieldError> {
    let [was_headless, is_headless] = [old, new].map(|spec| texts(spec.cluster_ips.as_ref()) == ["None"]);
    if was_headless || is_headless {
        return Vec::new();
    }
    let [was, is] = [old, new].map(|spec| texts(spec.ip_families.as_ref()));
    let path = SPEC.child("ipFamilies");
    let path = path.index(0);
    let ips = texts(new.cluster_ips.as_ref());
    let mut errors = Vec::new();
    if was.len() == is.len() {
        let changed = was.iter().zip(&is).filter(|(was, is)| was != is);
        errors.extend(changed.map(|_| immutable_error(&path, &is)));
        return errors;
    }
    if was.len() > is.len() && ips.is_empty() {
        errors.push(FieldError::invalid(&path, &is, "the first family cannot be taken away"));
    }
    if first_changed(&was, &is) {
        errors.push(immutable_error(&path, &ips));
    }
    if was.len() > is.len() && is.len() == 1 {
        errors.extend(needs_single_stack(new));
    }
    errors
}

fn first_changed(was: &[&str], is: &[&str]) -> bool {
    was.first().zip(is.first()).is_some_and(|(was, is)| was != is)
}

fn immutable_error(path: &Path<'_>, value: impl Serialize) -> FieldError {
    FieldError::invalid(path, value, "cannot be changed once it is set")
}

fn needs_single_stack(spec: &ServiceSpec) -> Option<FieldError> {
    let policy = &spec.ip_family_policy;
    (policy.as_deref() != Some("SingleStack")).then(|| {
        let path = SPEC.child("ipFamilyPolicy");
        FieldError::invalid(&path, policy, "must be SingleStack to give the second one back")
    })
}

fn validate_load_balancer_class(new: &ServiceSpec, old: &ServiceSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = SPEC.child("loadBalancerClass");
    let class = &new.load_balancer_class;
    let [was, is] = [old, new].map(|spec| text(spec.type_.as_ref()) == "LoadBalancer");
    if was && is && *class != old.load_balancer_class {
        errors.push(immutable_error(&path, class));
    }
    match class {
        Some(class) if is => {
            errors.extend(invalid_each(&path, class, names::qualified_name(class)));
        }
        Some(_) => errors.push(FieldError::forbidden(
            &path,
            "is only for Services of type LoadBalancer",
        )),
        None => {}
    }
    errors
}

/// Validates a status update.
pub(crate) fn validate_status(new: &Service, old: &Service) -> Vec<FieldError> {
    let status = Path::new("status");
    let path = status.child("loadBalancer");
    let path = path.child("ingress");
    let ingress = |service: &Service| {
        let status = service.status.clone().unwrap_or_default();
        status
            .load_balancer
            .and_then(|balancer| balancer.ingress)
            .unwrap_or_default()
    };
    let (new_ingress, old_ingress) = (ingress(new), ingress(old));
    let balanced = new
        .spec
        .as_ref()
        .is_some_and(|spec| text(spec.type_.as_ref()) == "LoadBalancer");
    if !balanced && !new_ingress.is_empty() {
        return vec![FieldError::forbidden(
            &path,
            "is only for Services of type LoadBalancer",
        )];
    }
    let known: Vec<&str> = old_ingress.iter().filter_map(|entry| entry.ip.as_deref()).collect();
    let mut errors = Vec::new();
    for (i, entry) in new_ingress.iter().enumerate() {
        let path = path.index(i);
        let ip = text(entry.ip.as_ref());
        let mode_path = path.child("ipMode");
        if !ip.is_empty() {
            errors.extend(validate_ip(&path.child("ip"), ip, &known));
        }
        match entry.ip_mode.as_deref() {
            None if !ip.is_empty() => errors.push(FieldError::required(&mode_path)),
            Some(_) if ip.is_empty() => {
                errors.push(FieldError::forbidden(&mode_path, "needs an ip"));
            }
            Some(mode) if !["Proxy", "VIP"].contains(&mode) => {
                errors.push(FieldError::not_supported(&mode_path, mode, &["Proxy", "VIP"]));
            }
            _ => {}
        }
        let hostname = text(entry.hostname.as_ref());
        if !hostname.is_empty() {
            let path = path.child("hostname");
            errors.extend(invalid_each(&path, hostname, names::dns1123_subdomain(hostname)));
            if parse_lenient(hostname).is_some() {
                errors.push(FieldError::invalid(&path, hostname, "must be a name, not an address"));
            }
        }
    }
    errors
}
