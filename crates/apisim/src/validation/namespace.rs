//! Validation of Namespaces.

use k8s_openapi::api::core::v1::Namespace;

use super::{
    FieldError,
    metadata::{MetaRules, finalizer_without_domain, validate_finalizer},
    names,
    path::Path,
};

const META: MetaRules = MetaRules::new(false, names::dns1123_label);

/// Validates a new Namespace.
pub(crate) fn validate(namespace: &Namespace) -> Vec<FieldError> {
    META.created(&namespace.metadata, validate_own(namespace))
}

/// Validates an update of a Namespace.
pub(crate) fn validate_update(new: &Namespace, old: &Namespace) -> Vec<FieldError> {
    let mut errors = validate_own(new);
    errors.extend(META.validate_update(&new.metadata, &old.metadata));
    if new.status != old.status {
        errors.extend(validate_phase(new, old.metadata.deletion_timestamp.is_some()));
    }
    META.updated(&new.metadata, &old.metadata, errors)
}

fn validate_own(namespace: &Namespace) -> Vec<FieldError> {
    let mut errors = META.validate(&namespace.metadata);
    let spec = Path::new("spec");
    let path = spec.child("finalizers");
    let finalizers = namespace.spec.iter().flat_map(|spec| &spec.finalizers).flatten();
    for finalizer in finalizers {
        errors.extend(validate_finalizer(&path, finalizer));
        errors.extend(finalizer_without_domain(&path, finalizer));
    }
    errors
}

fn validate_phase(namespace: &Namespace, deleting: bool) -> Option<FieldError> {
    let expected = if deleting { "Terminating" } else { "Active" };
    let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref());
    let phase = phase.unwrap_or_default();
    (phase != expected).then(|| {
        let status = Path::new("status");
        let detail = format!("can only be {expected:?} as long as the namespace is in this state");
        FieldError::invalid(&status.child("Phase"), phase, detail)
    })
}
