//! POST: new objects.

use std::sync::Arc;

use super::{Call, Written, metadata, options};
use crate::{
    answer::Response,
    erased::AnyKind,
    object::Object,
    resources::{self, Resource},
    status::ApiError,
    store::{Store, key_of, unreadable},
    validation::FieldError,
};

/// How often another generated name is tried when one is taken.
const NAME_ATTEMPTS: usize = 8;

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let dry_run = options::dry_run(&call.query, "CreateOptions")?;
    let mut object = call.decode_body()?;
    call.place(&mut *object)?;
    let written = add(&mut call.store(), call.resource, object, dry_run)?;
    call.answer_written(&written)
}

/// Adds an object that stands in the right namespace.
pub(super) fn add(
    store: &mut Store,
    resource: &Resource,
    mut object: Box<dyn AnyKind>,
    dry_run: bool,
) -> Result<Written, ApiError> {
    admit(store, resource, &*object)?;
    choose_name(store, resource, &mut *object);
    metadata::tidy(object.metadata_mut());
    metadata::stamp(object.metadata_mut());
    object.fill_defaults();
    let name = object.metadata().name.clone().unwrap_or_default();
    let stored_as = resources::stored_in(resource.table);
    let invalid = |errors: &[FieldError]| ApiError::invalid(stored_as.group, stored_as.kind, &name, errors);
    let refused = object.allot(None, &store.cluster_ips);
    if !refused.is_empty() {
        return Err(invalid(&refused));
    }
    object.for_create(&mut store.cluster_ips);
    let errors = (resource.codec.errors)(&*object);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let warnings = object.all_warnings(None);
    if object
        .metadata()
        .resource_version
        .as_deref()
        .is_some_and(|version| !matches!(version, "" | "0"))
    {
        return Err(ApiError::internal("a new object cannot have a resourceVersion yet"));
    }
    let key = key_of(resource, object.metadata().namespace.as_deref(), &name);
    if let Some(existing) = store.get(resource.table, &key) {
        return Err(ApiError::already_exists(resource, &name, existing.deleting));
    }
    let object = if dry_run {
        Arc::new(Object::new(&mut *object, stored_as, 0).map_err(unreadable)?)
    } else {
        store.put(resource.table, &mut *object)?
    };
    Ok(Written {
        object,
        warnings,
        created: true,
    })
}

/// Stores one of the objects that the server makes for itself, which nobody has to judge.
pub(crate) fn install(store: &mut Store, table: resources::Table, text: &str) -> Result<(), ApiError> {
    let mut object = (resources::stored_in(table).codec.decode)(text.as_bytes()).map_err(unreadable)?;
    metadata::stamp(object.metadata_mut());
    object.fill_defaults();
    object.for_create(&mut store.cluster_ips);
    store.put(table, &mut *object)?;
    Ok(())
}

fn choose_name(store: &Store, resource: &Resource, object: &mut dyn AnyKind) {
    let metadata = object.metadata_mut();
    let has = |name: &Option<String>| name.as_deref().is_some_and(|name| !name.is_empty());
    if has(&metadata.name) || !has(&metadata.generate_name) {
        return;
    }
    let base = metadata.generate_name.clone().unwrap_or_default();
    for _ in 0..NAME_ATTEMPTS {
        let name = metadata::generate_name(&base);
        let key = key_of(resource, metadata.namespace.as_deref(), &name);
        metadata.name = Some(name);
        if store.get(resource.table, &key).is_none() {
            return;
        }
    }
}

/// The namespace must exist and must not be going away.
fn admit(store: &Store, resource: &Resource, object: &dyn AnyKind) -> Result<(), ApiError> {
    let metadata = object.metadata();
    let Some(namespace) = metadata.namespace.as_deref().filter(|_| resource.namespaced) else {
        return Ok(());
    };
    let namespaces = resources::stored_in(resources::Table::Namespaces);
    let found = store.namespace(namespace);
    let found = found.ok_or_else(|| ApiError::not_found(namespaces, namespace))?;
    if found.deleting {
        let name = metadata.name.as_ref().or(metadata.generate_name.as_ref());
        let name = name.map(String::as_str).unwrap_or_default();
        return Err(ApiError::namespace_terminating(resource, name, namespace));
    }
    Ok(())
}
