//! The consequences of deletions: dependents without owners are collected, owners that waited for them go.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;

use crate::{
    deletion::{self, FOREGROUND, ORPHAN},
    namespaces,
    object::Object,
    resources::{self, Table},
    status::ApiError,
    store::Store,
};

impl Store {
    /// Draws the consequences of what was removed or marked for deletion, until there are no more.
    pub(crate) fn settle(&mut self) -> Result<(), ApiError> {
        loop {
            if let Some((table, object)) = self.removed.pop_front() {
                if table == Table::Services {
                    self.remove_endpoints_of(&object)?;
                }
                if self.garbage_collection {
                    self.collect_after(&object)?;
                }
            } else if let Some((table, key)) = self.marked.pop_front() {
                match table {
                    _ if !self.garbage_collection => {}
                    Table::Namespaces => namespaces::empty(self, &key)?,
                    _ => self.release(table, &key)?,
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The Endpoints of a Service go with it. This is the server's own doing, not the garbage collector's.
    fn remove_endpoints_of(&mut self, service: &Object) -> Result<(), ApiError> {
        let key = service.key();
        if self.get(Table::Endpoints, &key).is_some() {
            deletion::delete(self, resources::stored_in(Table::Endpoints), &key, &background())?;
        }
        Ok(())
    }

    fn collect_after(&mut self, removed: &Object) -> Result<(), ApiError> {
        self.collect_dependents(&removed.uid)?;
        for owner in &removed.owners {
            if let Some((table, key)) = self.locate(&owner.uid) {
                self.release(table, &key)?;
            }
        }
        namespaces::finish_if_empty(self, &removed.namespace)
    }

    /// Deletes what named a removed object as its last owner; what has other owners only loses the reference.
    fn collect_dependents(&mut self, uid: &str) -> Result<(), ApiError> {
        for (table, key) in self.dependents_of(uid) {
            let Some(dependent) = self.get(table, &key) else {
                continue;
            };
            let owned = dependent
                .owners
                .iter()
                .any(|owner| self.is_live(&owner.uid) || !is_stored_kind(&owner.kind));
            if owned {
                self.disown(table, &dependent, uid)?;
            } else {
                deletion::delete(self, resources::stored_in(table), &key, &background())?;
            }
        }
        Ok(())
    }

    /// Does what the finalizers of the garbage collector wait for, and removes them.
    fn release(&mut self, table: Table, key: &str) -> Result<(), ApiError> {
        let Some(existing) = self.get(table, key).filter(|object| object.deleting) else {
            return Ok(());
        };
        let finalizers = existing
            .metadata()
            .map_err(crate::store::unreadable)?
            .finalizers
            .unwrap_or_default();
        if finalizers.iter().any(|finalizer| finalizer == ORPHAN) {
            for (table, key) in self.dependents_of(&existing.uid) {
                if let Some(dependent) = self.get(table, &key) {
                    self.disown(table, &dependent, &existing.uid)?;
                }
            }
        } else if finalizers.iter().any(|finalizer| finalizer == FOREGROUND) {
            for (table, key) in self.dependents_of(&existing.uid) {
                if self.get(table, &key).is_some_and(|dependent| !dependent.deleting) {
                    deletion::delete(self, resources::stored_in(table), &key, &background())?;
                }
            }
            if self.is_waited_for(&existing.uid) {
                return Ok(());
            }
        } else {
            return Ok(());
        }
        self.drop_collector_finalizers(table, key)
    }

    /// Whether a dependent that is still there holds up the deletion of its owner.
    fn is_waited_for(&self, uid: &str) -> bool {
        self.dependents_of(uid).into_iter().any(|(table, key)| {
            let dependent = self.get(table, &key);
            let owners = dependent.iter().flat_map(|dependent| &dependent.owners);
            owners
                .into_iter()
                .any(|owner| &*owner.uid == uid && owner.blocks_deletion)
        })
    }

    fn drop_collector_finalizers(&mut self, table: Table, key: &str) -> Result<(), ApiError> {
        let Some(existing) = self.get(table, key) else {
            return Ok(());
        };
        let mut object = Store::decode(&existing, table)?;
        let metadata = object.metadata_mut();
        if let Some(finalizers) = &mut metadata.finalizers {
            finalizers.retain(|finalizer| !matches!(finalizer.as_str(), ORPHAN | FOREGROUND));
        }
        metadata.finalizers.take_if(|finalizers| finalizers.is_empty());
        if metadata.finalizers.is_none() && metadata.deletion_grace_period_seconds == Some(0) {
            self.remove(table, key)?;
        } else {
            self.put_changed(table, &mut *object, &existing)?;
        }
        Ok(())
    }

    /// Takes an owner off an object.
    fn disown(&mut self, table: Table, dependent: &Arc<Object>, uid: &str) -> Result<(), ApiError> {
        let mut object = Store::decode(dependent, table)?;
        let metadata = object.metadata_mut();
        if let Some(owners) = &mut metadata.owner_references {
            owners.retain(|owner| owner.uid != uid);
        }
        metadata.owner_references.take_if(|owners| owners.is_empty());
        self.put_changed(table, &mut *object, dependent)?;
        Ok(())
    }
}

/// Owners of other kinds are never stored here, so their absence says nothing.
fn is_stored_kind(kind: &str) -> bool {
    resources::all().iter().any(|resource| resource.kind == kind)
}

/// Deletion as controllers do it.
pub(crate) fn background() -> DeleteOptions {
    DeleteOptions {
        propagation_policy: Some("Background".into()),
        ..DeleteOptions::default()
    }
}
