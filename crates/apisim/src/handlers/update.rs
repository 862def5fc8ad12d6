//! PUT: another version of an object, or of a part of it.

use std::sync::Arc;

use super::{Call, Part, Written, create::add, metadata, options};
use crate::{
    answer::Response,
    erased::AnyKind,
    namespaces,
    object::Object,
    resources::{Resource, Table, stored_in},
    status::ApiError,
    store::{Store, unreadable},
    validation::{FieldError, FieldErrorKind},
};

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let dry_run = options::dry_run(&call.query, "UpdateOptions")?;
    let mut object = call.decode_body()?;
    check_name(call, &*object)?;
    call.place(&mut *object)?;
    let mut store = call.store();
    let existing = store.get(call.resource.table, &call.key());
    let Some(existing) = existing else {
        if (call.resource.codec.update_creates)() && call.part() == Part::Whole {
            check_uid(call, &*object, "")?;
            // What the client thought to replace is gone; this is a new object.
            object.metadata_mut().resource_version = None;
            return call.answer_written(&add(&mut store, call.resource, object, dry_run)?);
        }
        return Err(ApiError::not_found(call.resource, call.name()));
    };
    check_uid(call, &*object, &existing.uid)?;
    let written = replace(&mut store, call, object, &existing, dry_run)?;
    call.answer_written(&written)
}

/// The name in the body must be there and must be the one in the address.
pub(super) fn check_name(call: &Call<'_>, object: &dyn AnyKind) -> Result<(), ApiError> {
    let (asked, given) = (call.name(), object.metadata().name.as_deref().unwrap_or_default());
    if given.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the object has no name, the address says {asked}"
        )));
    }
    if given != asked {
        return Err(ApiError::bad_request(format!(
            "the object is named {given}, the address says {asked}"
        )));
    }
    Ok(())
}

/// A uid in the body must be that of the stored object; where an update could create, there is none to agree with.
fn check_uid(call: &Call<'_>, object: &dyn AnyKind, stored: &str) -> Result<(), ApiError> {
    match object.metadata().uid.as_deref() {
        Some(uid) if !uid.is_empty() && uid != stored => {
            let why = format!("the object has uid {stored:?}, not {uid:?}");
            Err(ApiError::conflict(call.resource, call.name(), &why))
        }
        _ => Ok(()),
    }
}

/// Puts another version in the place of a stored object.
pub(super) fn replace(
    store: &mut Store,
    call: &Call<'_>,
    mut object: Box<dyn AnyKind>,
    existing: &Arc<Object>,
    dry_run: bool,
) -> Result<Written, ApiError> {
    let resource = call.resource;
    check_version(resource, &*object, existing)?;
    let old = Store::decode(existing, resource.table)?;
    metadata::tidy(object.metadata_mut());
    object.fill_defaults();
    object.metadata_mut().generation = old.metadata().generation;
    let stored_as = stored_in(resource.table);
    let invalid = |errors: &[FieldError]| ApiError::invalid(stored_as.group, stored_as.kind, &existing.name, errors);
    match call.part() {
        Part::Whole => {
            let refused = object.allot(Some(&*old), &store.cluster_ips);
            if !refused.is_empty() {
                return Err(invalid(&refused));
            }
            object.for_update(&*old);
        }
        Part::Status => object.for_status_update(&*old),
        Part::Finalize => namespaces::keep_all_but_finalizers(&mut *object, &*old),
    }
    metadata::keep(object.metadata_mut(), old.metadata());
    let errors = (resource.codec.update_errors)(&*object, &*old);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let warnings = object.all_warnings(Some(&*old));
    // As it would be stored if nothing changed: the version of the old one.
    let unchanged = Object::new(&mut *object, stored_as, existing.revision).map_err(unreadable)?;
    let object = if unchanged.fields.same_text(&existing.fields) {
        existing.clone()
    } else if dry_run {
        Arc::new(unchanged)
    } else if is_finished(resource.table, &*object, &*old) {
        store.remove(resource.table, &existing.key())?;
        store.settle()?;
        Arc::new(unchanged)
    } else {
        let object = store.put(resource.table, &mut *object)?;
        store.settle()?;
        object
    };
    Ok(Written {
        object,
        warnings,
        created: false,
    })
}

/// The version that the client saw must be the stored one, where it says one or has to.
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

/// Whether the last finalizer of an object that was waiting to be deleted is gone.
fn is_finished(table: Table, object: &dyn AnyKind, old: &dyn AnyKind) -> bool {
    if object.metadata().finalizers.iter().flatten().next().is_some() {
        return false;
    }
    if table == Table::Namespaces {
        return old.metadata().deletion_timestamp.is_some() && !namespaces::has_finalizers(object);
    }
    old.metadata().deletion_timestamp.is_some() && old.metadata().deletion_grace_period_seconds == Some(0)
}
