//! PUT: update an object or a subresource.

use std::sync::Arc;

use super::{Call, WriteResult, WriteTarget, create::create, metadata, options};
use crate::{
    any_kind::AnyKind,
    namespaces,
    object::Object,
    resources::{Resource, Table, stored_in},
    response::Response,
    status::ApiError,
    store::{Store, codec_error},
    validation::{FieldError, FieldErrorKind},
};

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let dry_run = options::dry_run(&call.query, "UpdateOptions")?;
    let mut object = call.decode_body()?;
    check_name(call, &*object)?;
    call.set_namespace(&mut *object)?;
    let mut store = call.store();
    let existing = store.get(call.resource.table, &call.key());
    let Some(existing) = existing else {
        if (call.resource.codec.update_creates)() && call.write_target() == WriteTarget::Object {
            check_uid(call, &*object, "")?;
            // The object to update does not exist, so the resourceVersion does not apply to the new one.
            object.metadata_mut().resource_version = None;
            return call.write_response(&create(&mut store, call.resource, object, dry_run)?);
        }
        return Err(ApiError::not_found(call.resource, call.name()));
    };
    check_uid(call, &*object, &existing.uid)?;
    let result = replace(&mut store, call, object, &existing, dry_run)?;
    call.write_response(&result)
}

/// Checks that the name in the body is the name in the URL path.
pub(super) fn check_name(call: &Call<'_>, object: &dyn AnyKind) -> Result<(), ApiError> {
    let (requested, given) = (call.name(), object.metadata().name.as_deref().unwrap_or_default());
    if given.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the object has no name, the URL has {requested}"
        )));
    }
    if given != requested {
        return Err(ApiError::bad_request(format!(
            "the object is named {given}, the URL has {requested}"
        )));
    }
    Ok(())
}

/// Checks that a uid in the body is the uid of the stored object. `stored` is empty if there is no stored object.
fn check_uid(call: &Call<'_>, object: &dyn AnyKind, stored: &str) -> Result<(), ApiError> {
    match object.metadata().uid.as_deref() {
        Some(uid) if !uid.is_empty() && uid != stored => {
            let reason = format!("the object has uid {stored:?}, not {uid:?}");
            Err(ApiError::conflict(call.resource, call.name(), &reason))
        }
        _ => Ok(()),
    }
}

/// Updates a stored object.
pub(super) fn replace(
    store: &mut Store,
    call: &Call<'_>,
    mut object: Box<dyn AnyKind>,
    existing: &Arc<Object>,
    dry_run: bool,
) -> Result<WriteResult, ApiError> {
    let resource = call.resource;
    check_version(resource, &*object, existing)?;
    let old = Store::decode(existing, resource.table)?;
    metadata::normalize(object.metadata_mut());
    object.set_defaults();
    object.metadata_mut().generation = old.metadata().generation;
    let stored_as = stored_in(resource.table);
    let invalid = |errors: &[FieldError]| ApiError::invalid(stored_as.group, stored_as.kind, &existing.name, errors);
    match call.write_target() {
        WriteTarget::Object => {
            let errors = object.allocate(Some(&*old), &store.cluster_ips);
            if !errors.is_empty() {
                return Err(invalid(&errors));
            }
            object.prepare_update(&*old);
        }
        WriteTarget::Status => object.prepare_status_update(&*old),
        WriteTarget::Finalize => namespaces::prepare_finalize_update(&mut *object, &*old),
    }
    metadata::preserve_immutable(object.metadata_mut(), old.metadata());
    let errors = (resource.codec.validate_update)(&*object, &*old);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let warnings = object.warnings(Some(&*old));
    // Encoded with the old revision, so that an update without changes compares equal.
    let unchanged = Object::new(&mut *object, stored_as, existing.revision).map_err(codec_error)?;
    let object = if unchanged.fields.json_eq(&existing.fields) {
        existing.clone()
    } else if dry_run {
        Arc::new(unchanged)
    } else if completes_deletion(resource.table, &*object, &*old) {
        store.remove(resource.table, &existing.key())?;
        store.process_deletions()?;
        Arc::new(unchanged)
    } else {
        let object = store.put(resource.table, &mut *object)?;
        store.process_deletions()?;
        object
    };
    Ok(WriteResult {
        object,
        warnings,
        created: false,
    })
}

/// Checks that the resourceVersion of the request is the stored one. Some kinds allow an update without it.
fn check_version(resource: &Resource, object: &dyn AnyKind, existing: &Object) -> Result<(), ApiError> {
    match object.metadata().resource_version.as_deref() {
        None | Some("" | "0") if (resource.codec.update_is_unconditional)() => Ok(()),
        None | Some("" | "0") => {
            let missing = FieldError {
                field: "metadata.resourceVersion".into(),
                kind: FieldErrorKind::Invalid("0".into()),
                detail: "must be specified for an update".into(),
            };
            Err(ApiError::invalid(
                resource.group,
                resource.plural,
                &existing.name,
                &[missing],
            ))
        }
        Some(version) => match version.parse::<u64>() {
            Ok(version) if version == existing.revision => Ok(()),
            Ok(_) => Err(ApiError::modified(resource, &existing.name)),
            Err(_) => Err(ApiError::internal(format!(
                "resourceVersion {version:?} is not a number"
            ))),
        },
    }
}

/// Whether the update removes the last finalizer of a terminating object.
fn completes_deletion(table: Table, object: &dyn AnyKind, old: &dyn AnyKind) -> bool {
    if object.metadata().finalizers.iter().flatten().next().is_some() {
        return false;
    }
    if table == Table::Namespaces {
        return old.metadata().deletion_timestamp.is_some() && !namespaces::has_finalizers(object);
    }
    old.metadata().deletion_timestamp.is_some() && old.metadata().deletion_grace_period_seconds == Some(0)
}
