//! Validation of object metadata: name, labels, annotations, owners and finalizers.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{FieldError, immutable, invalid_each, names, path::Path};

const METADATA: Path<'static> = Path::new("metadata");
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Metadata validation rules of a kind.
#[derive(Clone, Copy)]
pub(crate) struct MetaRules {
    pub(crate) namespaced: bool,
    /// Validates the name.
    pub(crate) name: fn(&str) -> Vec<String>,
    /// Whether a finalizer without a domain must be a standard one of Kubernetes.
    pub(crate) finalizers_have_domains: bool,
}

impl MetaRules {
    pub(crate) const fn new(namespaced: bool, name: fn(&str) -> Vec<String>) -> Self {
        Self {
            namespaced,
            name,
            finalizers_have_domains: true,
        }
    }

    /// The kind-specific validation of the metadata.
    pub(crate) fn validate(&self, meta: &ObjectMeta) -> Vec<FieldError> {
        let prefix = |prefix: &str| (self.name)(&names::without_trailing_dash(prefix));
        let mut errors = validate(meta, self.namespaced, self.name, prefix);
        if self.finalizers_have_domains {
            errors.extend(finalizers_without_domain(meta));
        }
        errors
    }

    /// The kind-specific validation of a metadata update, for kinds that have one.
    pub(crate) fn validate_update(&self, new: &ObjectMeta, old: &ObjectMeta) -> Vec<FieldError> {
        let mut errors = validate_change(new, old);
        if self.finalizers_have_domains {
            errors.extend(finalizers_without_domain(new));
        }
        errors
    }

    /// All errors of a new object. The shared validation runs only if the kind-specific errors `own` are empty.
    pub(crate) fn created(&self, meta: &ObjectMeta, own: Vec<FieldError>) -> Vec<FieldError> {
        if own.is_empty() {
            self.validate_shared(meta)
        } else {
            own
        }
    }

    /// All errors of an update. The shared errors come first and can repeat the kind-specific ones.
    pub(crate) fn updated(&self, new: &ObjectMeta, old: &ObjectMeta, own: Vec<FieldError>) -> Vec<FieldError> {
        let mut errors = self.validate_shared(new);
        errors.extend(validate_change(new, old));
        errors.extend(own);
        errors
    }

    fn validate_shared(&self, meta: &ObjectMeta) -> Vec<FieldError> {
        validate(meta, self.namespaced, names::path_segment, names::path_segment_prefix)
    }
}

/// Restores the generation of the stored object, for updates that do not change it.
pub(crate) fn keep_generation(new: &mut ObjectMeta, old: &ObjectMeta) {
    new.generation = old.generation;
}

/// Drops empty fields, which equal absent ones.
pub(crate) fn drop_empty(meta: &mut ObjectMeta) {
    meta.labels.take_if(|labels| labels.is_empty());
    meta.annotations.take_if(|annotations| annotations.is_empty());
    meta.finalizers.take_if(|finalizers| finalizers.is_empty());
    meta.owner_references.take_if(|owners| owners.is_empty());
    meta.generate_name.take_if(|prefix| prefix.is_empty());
    meta.generation.take_if(|generation| *generation == 0);
}

/// Validates the keys and values of labels or of a label selector.
pub(crate) fn validate_labels(path: &Path<'_>, labels: Option<&BTreeMap<String, String>>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.into_iter().flatten() {
        errors.extend(invalid_each(path, key, names::qualified_name(key)));
        errors.extend(invalid_each(path, value, names::label_value(value)));
    }
    errors
}

/// Validates a finalizer of a namespace spec or of metadata.
pub(crate) fn validate_finalizer(path: &Path<'_>, finalizer: &str) -> Vec<FieldError> {
    invalid_each(path, finalizer, names::qualified_name(finalizer))
}

/// An error for a finalizer that has no domain and is not a standard one.
pub(crate) fn finalizer_without_domain(path: &Path<'_>, finalizer: &str) -> Option<FieldError> {
    (!finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer))
        .then(|| FieldError::invalid(path, finalizer, "is not one of Kubernetes' own and has no domain"))
}

fn validate(
    meta: &ObjectMeta,
    namespaced: bool,
    name: impl Fn(&str) -> Vec<String>,
    prefix: impl Fn(&str) -> Vec<String>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(generate) = meta.generate_name.as_deref().filter(|generate| !generate.is_empty()) {
        errors.extend(invalid_each(
            &METADATA.child("generateName"),
            generate,
            prefix(generate),
        ));
    }
    match meta.name.as_deref().unwrap_or_default() {
        "" => errors.push(FieldError {
            detail: "a name or the beginning of one is needed".to_owned(),
            ..FieldError::required(&METADATA.child("name"))
        }),
        given => errors.extend(invalid_each(&METADATA.child("name"), given, name(given))),
    }
    errors.extend(validate_namespace(
        meta.namespace.as_deref().unwrap_or_default(),
        namespaced,
    ));
    if let Some(generation) = meta.generation.filter(|generation| *generation < 0) {
        errors.push(FieldError::invalid(
            &METADATA.child("generation"),
            generation,
            "may not be negative",
        ));
    }
    errors.extend(validate_maps(meta));
    errors.extend(validate_owners(meta.owner_references.as_deref().unwrap_or_default()));
    errors.extend(validate_finalizers(meta.finalizers.as_deref().unwrap_or_default()));
    errors
}

fn validate_namespace(namespace: &str, namespaced: bool) -> Vec<FieldError> {
    let path = METADATA.child("namespace");
    match (namespace, namespaced) {
        ("", true) => vec![FieldError::required(&path)],
        (_, true) => invalid_each(&path, namespace, names::dns1123_label(namespace)),
        ("", false) => Vec::new(),
        (_, false) => vec![FieldError::forbidden(&path, "objects of this kind have no namespace")],
    }
}

fn validate_maps(meta: &ObjectMeta) -> Vec<FieldError> {
    let mut errors = validate_labels(&METADATA.child("labels"), meta.labels.as_ref());
    let path = METADATA.child("annotations");
    let annotations = || meta.annotations.iter().flatten();
    for (key, _) in annotations() {
        errors.extend(invalid_each(&path, key, names::qualified_name(&key.to_lowercase())));
    }
    if annotations().map(|(key, value)| key.len() + value.len()).sum::<usize>() > ANNOTATIONS_BYTES_MAX {
        errors.push(FieldError::too_long(&path, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

fn validate_owners(owners: &[OwnerReference]) -> Vec<FieldError> {
    let path = METADATA.child("ownerReferences");
    let mut errors = Vec::new();
    let mut controllers = 0;
    for owner in owners {
        let version = owner.api_version.rsplit('/').next().unwrap_or_default();
        for (child, checked, value) in [
            ("apiVersion", version, &owner.api_version),
            ("kind", owner.kind.as_str(), &owner.kind),
            ("name", owner.name.as_str(), &owner.name),
            ("uid", owner.uid.as_str(), &owner.uid),
        ] {
            if checked.is_empty() {
                errors.push(FieldError::invalid(&path.child(child), value, "may not be empty"));
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            errors.push(FieldError::invalid(&path, owner, "an Event cannot own anything"));
        }
        controllers += usize::from(owner.controller == Some(true));
        if owner.controller == Some(true) && controllers > 1 {
            errors.push(FieldError::invalid(
                &path,
                owners,
                "only one owner can be the controller",
            ));
        }
    }
    errors
}

fn validate_finalizers(finalizers: &[String]) -> Vec<FieldError> {
    let path = METADATA.child("finalizers");
    let mut errors: Vec<_> = finalizers
        .iter()
        .flat_map(|name| validate_finalizer(&path, name))
        .collect();
    let has = |finalizer: &str| finalizers.iter().any(|name| name == finalizer);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            &path,
            finalizers,
            "dependents are either orphaned or deleted first",
        ));
    }
    errors
}

fn finalizers_without_domain(meta: &ObjectMeta) -> Vec<FieldError> {
    let path = METADATA.child("finalizers");
    let named = meta.finalizers.iter().flatten().enumerate();
    named
        .filter_map(|(i, name)| finalizer_without_domain(&path.index(i), name))
        .collect()
}

/// Validates a metadata update. Omitted system fields are valid; the handlers restore them.
fn validate_change(new: &ObjectMeta, old: &ObjectMeta) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.deletion_timestamp.is_some() {
        let set = |meta: &ObjectMeta| meta.finalizers.iter().flatten().cloned().collect::<BTreeSet<_>>();
        let added: Vec<_> = set(new).difference(&set(old)).cloned().collect();
        if !added.is_empty() {
            let detail = format!("an object being deleted gets no new finalizers: {}", added.join(", "));
            errors.push(FieldError::forbidden(&METADATA.child("finalizers"), detail));
        }
    }
    errors.extend(immutable(&METADATA.child("name"), &new.name, &old.name));
    errors.extend(immutable(&METADATA.child("namespace"), &new.namespace, &old.namespace));
    if new.uid.is_some() {
        errors.extend(immutable(&METADATA.child("uid"), &new.uid, &old.uid));
    }
    if new.deletion_timestamp.is_some() {
        let path = METADATA.child("deletionTimestamp");
        errors.extend(immutable(&path, &new.deletion_timestamp, &old.deletion_timestamp));
    }
    if new.deletion_grace_period_seconds.is_some() {
        let path = METADATA.child("deletionGracePeriodSeconds");
        errors.extend(immutable(
            &path,
            &new.deletion_grace_period_seconds,
            &old.deletion_grace_period_seconds,
        ));
    }
    errors.extend(validate_maps(new));
    errors.extend(validate_owners(new.owner_references.as_deref().unwrap_or_default()));
    errors
}

#[cfg(test)]
mod tests;
