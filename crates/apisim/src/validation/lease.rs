//! Validation of Leases.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::{FieldError, metadata::MetaRules, names, path::Path};

const META: MetaRules = MetaRules {
    namespaced: true,
    name: names::dns1123_subdomain,
    finalizers_have_domains: false,
};

/// Validates a new Lease.
pub(crate) fn validate(lease: &Lease) -> Vec<FieldError> {
    let mut errors = META.validate(&lease.metadata);
    errors.extend(lease.spec.as_ref().map(validate_spec).unwrap_or_default());
    META.created(&lease.metadata, errors)
}

/// Validates an update of a Lease.
pub(crate) fn validate_update(new: &Lease, old: &Lease) -> Vec<FieldError> {
    let mut errors = META.validate_update(&new.metadata, &old.metadata);
    errors.extend(new.spec.as_ref().map(validate_spec).unwrap_or_default());
    META.updated(&new.metadata, &old.metadata, errors)
}

fn validate_spec(spec: &LeaseSpec) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    if let Some(seconds) = spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
        let path = path.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be at least one second"));
    }
    if let Some(count) = spec.lease_transitions.filter(|count| *count < 0) {
        let path = path.child("leaseTransitions");
        errors.push(FieldError::invalid(&path, count, "may not be negative"));
    }
    errors
}
