//! Namespace lifecycle: mark as terminating, delete the content, finalize.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, NamespaceSpec};

use crate::{
    any_kind::AnyKind,
    deletion::{self, DeleteOutcome},
    gc::background_deletion,
    handlers::now,
    object::{Object, key},
    resources::{self, Table},
    status::ApiError,
    store::Store,
};

/// Namespaces that cannot be deleted.
const UNDELETABLE: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Marks a namespace as terminating, or removes it if it has no finalizers.
pub(crate) fn delete(store: &mut Store, existing: &Arc<Object>) -> Result<DeleteOutcome, ApiError> {
    let resource = resources::stored_in(Table::Namespaces);
    if UNDELETABLE.contains(&&*existing.name) {
        return Err(ApiError::forbidden(
            resource,
            &existing.name,
            "this namespace may not be deleted",
        ));
    }
    let mut object = Store::decode(existing, Table::Namespaces)?;
    if !existing.deleting {
        object.metadata_mut().deletion_timestamp = Some(now());
        if let Some(namespace) = object.as_any_mut().downcast_mut::<Namespace>() {
            namespace.status.get_or_insert_default().phase = Some("Terminating".into());
        }
    }
    let finalizers_remain = has_finalizers(&*object) || object.metadata().finalizers.is_some();
    let object = store.put_changed(Table::Namespaces, &mut *object, existing)?;
    if finalizers_remain {
        store
            .terminating
            .push_back((Table::Namespaces, Arc::from(&*object.name)));
        return Ok(DeleteOutcome::Terminating(object));
    }
    let removed = store.remove(Table::Namespaces, &object.name)?;
    Ok(DeleteOutcome::Removed(removed.unwrap_or(object)))
}

/// Whether the spec of a namespace has finalizers, so that its content must be deleted first.
pub(crate) fn has_finalizers(object: &dyn AnyKind) -> bool {
    let namespace = object.as_any().downcast_ref::<Namespace>();
    let spec = namespace.and_then(|namespace| namespace.spec.as_ref());
    spec.and_then(|spec| spec.finalizers.as_ref())
        .is_some_and(|finalizers| !finalizers.is_empty())
}

/// Prepares an update of the subresource `finalize`: only the finalizers of the spec change.
pub(crate) fn prepare_finalize_update(object: &mut dyn AnyKind, old: &dyn AnyKind) {
    let (Some(namespace), Some(old)) = (
        object.as_any_mut().downcast_mut::<Namespace>(),
        old.as_any().downcast_ref::<Namespace>(),
    ) else {
        return;
    };
    let finalizers = namespace.spec.take().and_then(|spec| spec.finalizers);
    let finalizers = finalizers.filter(|finalizers| !finalizers.is_empty());
    namespace.spec = Some(NamespaceSpec { finalizers });
    namespace.status.clone_from(&old.status);
}

/// Deletes all objects in a terminating namespace.
pub(crate) fn delete_content(store: &mut Store, name: &str) -> Result<(), ApiError> {
    let prefix = key(name, "");
    for table in Table::ALL {
        let keys: Vec<Arc<str>> = store.keys_with_prefix(table, &prefix).collect();
        for key in keys {
            deletion::delete(store, resources::stored_in(table), &key, &background_deletion())?;
        }
    }
    finalize_if_empty(store, name)
}

/// Finalizes a terminating namespace that has no objects left.
pub(crate) fn finalize_if_empty(store: &mut Store, name: &str) -> Result<(), ApiError> {
    let Some(existing) = store.namespace(name).filter(|namespace| namespace.deleting) else {
        return Ok(());
    };
    if !store.is_empty_namespace(name) {
        return Ok(());
    }
    let mut object = Store::decode(&existing, Table::Namespaces)?;
    if object.metadata().finalizers.is_none() {
        store.remove(Table::Namespaces, name)?;
    } else if let Some(namespace) = object.as_any_mut().downcast_mut::<Namespace>() {
        namespace.spec = Some(NamespaceSpec::default());
        store.put_changed(Table::Namespaces, &mut *object, &existing)?;
    }
    Ok(())
}
