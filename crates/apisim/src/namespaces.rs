//! The life of namespaces: terminating, emptied, finalized.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, NamespaceSpec};

use crate::{
    deletion::{self, Deleted},
    erased::AnyKind,
    garbage::background,
    handlers::now,
    object::{Object, key},
    resources::{self, Table},
    status::ApiError,
    store::Store,
};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Begins to delete a namespace, or ends it if nothing holds it any more.
pub(crate) fn delete(store: &mut Store, existing: &Arc<Object>) -> Result<Deleted, ApiError> {
    let resource = resources::stored_in(Table::Namespaces);
    if IMMORTAL.contains(&&*existing.name) {
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
    let object_is_held = has_finalizers(&*object) || object.metadata().finalizers.is_some();
    let object = store.put_changed(Table::Namespaces, &mut *object, existing)?;
    if object_is_held {
        store.marked.push_back((Table::Namespaces, Arc::from(&*object.name)));
        return Ok(Deleted::Waits(object));
    }
    let removed = store.remove(Table::Namespaces, &object.name)?;
    Ok(Deleted::Gone(removed.unwrap_or(object)))
}

/// Whether a namespace waits for its content to be deleted.
pub(crate) fn has_finalizers(object: &dyn AnyKind) -> bool {
    let namespace = object.as_any().downcast_ref::<Namespace>();
    let spec = namespace.and_then(|namespace| namespace.spec.as_ref());
    spec.and_then(|spec| spec.finalizers.as_ref())
        .is_some_and(|finalizers| !finalizers.is_empty())
}

/// What the `finalize` address changes: nothing but the finalizers in the spec.
pub(crate) fn keep_all_but_finalizers(object: &mut dyn AnyKind, old: &dyn AnyKind) {
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

/// Deletes everything in a namespace that is going away.
pub(crate) fn empty(store: &mut Store, name: &str) -> Result<(), ApiError> {
    let prefix = key(name, "");
    for table in Table::ALL {
        let keys: Vec<Arc<str>> = store.keys_from(table, &prefix).collect();
        for key in keys {
            deletion::delete(store, resources::stored_in(table), &key, &background())?;
        }
    }
    finish_if_empty(store, name)
}

/// Finalizes a namespace that is going away once nothing is left in it.
pub(crate) fn finish_if_empty(store: &mut Store, name: &str) -> Result<(), ApiError> {
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
