//! Validation of Nodes.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{Node, NodeSpec, Taint};

use super::{
    FieldError,
    addresses::{cidr_address, is_dual_stack, validate_cidr},
    invalid_each,
    metadata::MetaRules,
    names,
    path::Path,
};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const META: MetaRules = MetaRules::new(false, names::dns1123_subdomain);
const SPEC: Path<'static> = Path::new("spec");

/// Validates a new Node.
pub(crate) fn validate(node: &Node) -> Vec<FieldError> {
    META.created(&node.metadata, validate_own(node))
}

/// Validates an update of a Node. A status update has the old spec, which is not validated again.
pub(crate) fn validate_update(new: &Node, old: &Node) -> Vec<FieldError> {
    let mut errors = if new.status == old.status {
        validate_own(new)
    } else {
        Vec::new()
    };
    errors.extend(META.validate_update(&new.metadata, &old.metadata));
    errors.extend(validate_addresses(new));
    errors.extend(validate_spec_change(&spec(new), &spec(old)));
    errors.extend(validate_taints(&spec(new)));
    META.updated(&new.metadata, &old.metadata, errors)
}

fn spec(node: &Node) -> NodeSpec {
    node.spec.clone().unwrap_or_default()
}

fn validate_own(node: &Node) -> Vec<FieldError> {
    let mut errors = META.validate(&node.metadata);
    let spec = spec(node);
    errors.extend(validate_taints(&spec));
    errors.extend(validate_pod_cidrs(&spec));
    errors
}

fn validate_pod_cidrs(spec: &NodeSpec) -> Vec<FieldError> {
    let path = SPEC.child("podCIDRs");
    let cidrs = spec.pod_cidrs.as_deref().unwrap_or_default();
    let mut errors = Vec::new();
    for (i, cidr) in cidrs.iter().enumerate() {
        errors.extend(validate_cidr(&path.index(i), cidr, &[]));
    }
    if cidrs.len() > 1 {
        let families: Vec<_> = cidrs.iter().filter_map(|cidr| cidr_address(cidr)).collect();
        if families.len() < cidrs.len() {
            errors.push(FieldError::internal(&path, "cannot determine the IP families"));
        }
        if !is_dual_stack(&families) || cidrs.len() > 2 {
            errors.push(FieldError::invalid(
                &path,
                cidrs,
                "may hold one range of each IP family",
            ));
        }
    }
    errors
}

fn validate_taints(spec: &NodeSpec) -> Vec<FieldError> {
    // kube-apiserver reports taints under `metadata`.
    let metadata = Path::new("metadata");
    let path = metadata.child("taints");
    let mut seen = HashSet::new();
    let mut errors = Vec::new();
    for (i, taint) in spec.taints.iter().flatten().enumerate() {
        let path = path.index(i);
        errors.extend(validate_taint(&path, taint));
        if !seen.insert((&taint.key, &taint.effect)) {
            errors.push(FieldError {
                detail: "key and effect together must be unique".to_owned(),
                ..FieldError::duplicate(&path, taint)
            });
        }
    }
    errors
}

fn validate_taint(path: &Path<'_>, taint: &Taint) -> Vec<FieldError> {
    let messages = names::qualified_name(&taint.key);
    let mut errors = invalid_each(&path.child("key"), &taint.key, messages);
    let value = taint.value.as_deref().unwrap_or_default();
    let messages = names::label_value(value);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(&path.child("value"), value, messages.join("; ")));
    }
    match taint.effect.as_str() {
        "" => errors.push(FieldError::required(&path.child("effect"))),
        known if EFFECTS.contains(&known) => {}
        unknown => errors.push(FieldError::not_supported(&path.child("effect"), unknown, &EFFECTS)),
    }
    errors
}

fn validate_addresses(node: &Node) -> Vec<FieldError> {
    let status = Path::new("status");
    let path = status.child("addresses");
    let addresses = node.status.iter().flat_map(|status| &status.addresses).flatten();
    let mut seen = HashSet::new();
    let repeated = addresses
        .enumerate()
        .filter(|(_, address)| !seen.insert((&address.type_, &address.address)));
    repeated
        .map(|(i, address)| FieldError::duplicate(&path.index(i), address))
        .collect()
}

fn validate_spec_change(new: &NodeSpec, old: &NodeSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = SPEC.child("podCIDRs");
    let forbidden = || FieldError::forbidden(&path, "can be set once and not changed");
    let [new_cidrs, old_cidrs] = [new, old].map(|spec| spec.pod_cidrs.as_deref().unwrap_or_default());
    if !old_cidrs.is_empty() {
        if old_cidrs.len() == new_cidrs.len() {
            let changed = old_cidrs.iter().zip(new_cidrs).filter(|(old, new)| old != new);
            errors.extend(changed.map(|_| forbidden()));
        } else {
            errors.push(forbidden());
        }
    }
    let [new_id, old_id] = [new, old].map(|spec| spec.provider_id.as_deref().unwrap_or_default());
    if !old_id.is_empty() && old_id != new_id {
        let path = SPEC.child("providerID");
        errors.push(FieldError::forbidden(&path, "can be set once and not changed"));
    }
    errors
}
