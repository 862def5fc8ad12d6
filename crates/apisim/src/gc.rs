//! Garbage collection after deletions: dependents of removed owners are deleted, and finalizers of the garbage collector and
//! of namespaces are processed.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;

use crate::{
    deletion::{self, FOREGROUND, ORPHAN},
    namespaces,
    object::Object,
    resources::{self, Table},
    status::ApiError,
    store::{Store, codec_error},
};

impl Store {
    /// Processes removed and terminating objects until both queues are empty.
    pub(crate) fn process_deletions(&mut self) -> Result<(), ApiError> {
        loop {
            if let Some((table, object)) = self.removed.pop_front() {
                if table == Table::Services {
                    self.remove_endpoints_of(&object)?;
                }
                if self.garbage_collection {
                    self.handle_removal(&object)?;
                }
            } else if let Some((table, key)) = self.terminating.pop_front() {
                match table {
                    _ if !self.garbage_collection => {}
                    Table::Namespaces => namespaces::delete_content(self, &key)?,
                    _ => self.process_finalizers(table, &key)?,
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Deletes the Endpoints of a removed Service. The API server does this itself, without the garbage collector.
    fn remove_endpoints_of(&mut self, service: &Object) -> Result<(), ApiError> {
        let key = service.key();
        if self.get(Table::Endpoints, &key).is_some() {
            deletion::delete(
                self,
                resources::stored_in(Table::Endpoints),
                &key,
                &background_deletion(),
            )?;
        }
        Ok(())
    }

    fn handle_removal(&mut self, removed: &Object) -> Result<(), ApiError> {
        self.collect_dependents(&removed.uid)?;
        for owner in &removed.owners {
            if let Some((table, key)) = self.find_by_uid(&owner.uid) {
                self.process_finalizers(table, &key)?;
            }
        }
        namespaces::finalize_if_empty(self, &removed.namespace)
    }

    /// Deletes dependents without another owner. Dependents with other owners only lose the ownerReference.
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
                self.remove_owner_reference(table, &dependent, uid)?;
            } else {
                deletion::delete(self, resources::stored_in(table), &key, &background_deletion())?;
            }
        }
        Ok(())
    }

    /// Processes the finalizers `orphan` and `foregroundDeletion` of a terminating object and removes them when done.
    fn process_finalizers(&mut self, table: Table, key: &str) -> Result<(), ApiError> {
        let Some(existing) = self.get(table, key).filter(|object| object.deleting) else {
            return Ok(());
        };
        let finalizers = existing.metadata().map_err(codec_error)?.finalizers.unwrap_or_default();
        if finalizers.iter().any(|finalizer| finalizer == ORPHAN) {
            for (table, key) in self.dependents_of(&existing.uid) {
                if let Some(dependent) = self.get(table, &key) {
                    self.remove_owner_reference(table, &dependent, &existing.uid)?;
                }
            }
        } else if finalizers.iter().any(|finalizer| finalizer == FOREGROUND) {
            for (table, key) in self.dependents_of(&existing.uid) {
                if self.get(table, &key).is_some_and(|dependent| !dependent.deleting) {
                    deletion::delete(self, resources::stored_in(table), &key, &background_deletion())?;
                }
            }
            if self.is_blocked_by_dependents(&existing.uid) {
                return Ok(());
            }
        } else {
            return Ok(());
        }
        self.remove_gc_finalizers(table, key)
    }

    /// Whether an existing dependent has `blockOwnerDeletion` for this owner.
    fn is_blocked_by_dependents(&self, uid: &str) -> bool {
        self.dependents_of(uid).into_iter().any(|(table, key)| {
            let dependent = self.get(table, &key);
            let owners = dependent.iter().flat_map(|dependent| &dependent.owners);
            owners
                .into_iter()
                .any(|owner| &*owner.uid == uid && owner.block_owner_deletion)
        })
    }

    fn remove_gc_finalizers(&mut self, table: Table, key: &str) -> Result<(), ApiError> {
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

    /// Removes the ownerReference with a uid.
    fn remove_owner_reference(&mut self, table: Table, dependent: &Arc<Object>, uid: &str) -> Result<(), ApiError> {
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

/// Whether the server stores this kind. Owners of other kinds count as existing.
fn is_stored_kind(kind: &str) -> bool {
    resources::all().iter().any(|resource| resource.kind == kind)
}

/// Options for deletion with propagation policy Background, as controllers use it.
pub(crate) fn background_deletion() -> DeleteOptions {
    DeleteOptions {
        propagation_policy: Some("Background".into()),
        ..DeleteOptions::default()
    }
}
