//! POST: create an object.

use std::sync::Arc;

use super::{Call, WriteResult, metadata, options};
use crate::{
    any_kind::AnyKind,
    object::Object,
    resources::{self, Resource},
    response::Response,
    status::ApiError,
    store::{Store, codec_error, key_of},
    validation::FieldError,
};

/// Maximum number of generated names to try when a name exists already.
const NAME_ATTEMPTS: usize = 8;

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let dry_run = options::dry_run(&call.query, "CreateOptions")?;
    let mut object = call.decode_body()?;
    call.set_namespace(&mut *object)?;
    let result = create(&mut call.store(), call.resource, object, dry_run)?;
    call.write_response(&result)
}

/// Creates an object whose namespace is already set.
pub(super) fn create(
    store: &mut Store,
    resource: &Resource,
    mut object: Box<dyn AnyKind>,
    dry_run: bool,
) -> Result<WriteResult, ApiError> {
    check_namespace(store, resource, &*object)?;
    choose_name(store, resource, &mut *object);
    metadata::normalize(object.metadata_mut());
    metadata::set_system_fields(object.metadata_mut());
    object.set_defaults();
    let name = object.metadata().name.clone().unwrap_or_default();
    let stored_as = resources::stored_in(resource.table);
    let invalid = |errors: &[FieldError]| ApiError::invalid(stored_as.group, stored_as.kind, &name, errors);
    let errors = object.allocate(None, &store.cluster_ips);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    object.prepare_create(&mut store.cluster_ips);
    let errors = (resource.codec.validate)(&*object);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let warnings = object.warnings(None);
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
        Arc::new(Object::new(&mut *object, stored_as, 0).map_err(codec_error)?)
    } else {
        store.put(resource.table, &mut *object)?
    };
    Ok(WriteResult {
        object,
        warnings,
        created: true,
    })
}

/// Stores a system object of a new server, without validation.
pub(crate) fn seed(store: &mut Store, table: resources::Table, text: &str) -> Result<(), ApiError> {
    let mut object = (resources::stored_in(table).codec.decode)(text.as_bytes()).map_err(codec_error)?;
    metadata::set_system_fields(object.metadata_mut());
    object.set_defaults();
    object.prepare_create(&mut store.cluster_ips);
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

/// Checks that the namespace exists and is not terminating.
fn check_namespace(store: &Store, resource: &Resource, object: &dyn AnyKind) -> Result<(), ApiError> {
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
