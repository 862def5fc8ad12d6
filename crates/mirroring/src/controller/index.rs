//! What is known, by the name that a Service, its Endpoints object and their slices share.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use jiff::Timestamp;
use slice_controller::Key;

use super::Endpoints;
use crate::Warning;

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<Key, Entry>,
    /// For each slice with pods, the Service that it names.
    pod_slices: HashMap<Key, Arc<str>>,
}

/// All that has one name.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Only if it asks to be mirrored.
    pub(super) endpoints: Option<Endpoints>,
    pub(super) service: Option<Service>,
    /// Slices with the pods of the Service.
    pub(super) pod_slices: usize,
    /// What was last told about the Endpoints object.
    pub(super) told: Vec<Warning>,
}

/// A Service: nothing matters of it but this (M9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Its Endpoints object is mirrored.
    Plain,
    /// It selects pods, which another controller publishes.
    Selecting {
        /// The time of the first look at it since it does.
        since: Option<Timestamp>,
    },
}

impl Entry {
    fn selects_pods(&self) -> bool {
        matches!(self.service, Some(Service::Selecting { .. }))
    }

    fn is_empty(&self) -> bool {
        self.endpoints.is_none() && self.service.is_none() && self.pod_slices == 0
    }
}

/// What is put in or taken out answers whether somebody should look at the key.
impl Index {
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// M12, M13; but if the Service selects pods its Endpoints change with them, and nobody cares (D6).
    pub(super) fn put_endpoints(&mut self, key: &Key, endpoints: Endpoints) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        match &entry.endpoints {
            Some(known) if *known == endpoints => return false,
            Some(known) if known.uid == endpoints.uid => {}
            _ => entry.told.clear(),
        }
        entry.endpoints = Some(endpoints);
        !entry.selects_pods()
    }

    /// M13, M14.
    pub(super) fn remove_endpoints(&mut self, key: &Key) -> bool {
        self.change(key, |entry| {
            entry.told.clear();
            entry.endpoints.take().is_some()
        })
    }

    /// M15, M16.
    pub(super) fn put_service(&mut self, key: &Key, selects: bool) -> bool {
        let service = &mut self.entries.entry(key.clone()).or_default().service;
        match (&service, selects) {
            (Some(Service::Plain), false) | (Some(Service::Selecting { .. }), true) => false,
            (_, false) => {
                *service = Some(Service::Plain);
                true
            }
            (before, true) => {
                let wake = before.is_some();
                *service = Some(Service::Selecting { since: None });
                wake
            }
        }
    }

    /// M17.
    pub(super) fn remove_service(&mut self, key: &Key) -> bool {
        self.change(key, |entry| entry.service.take() == Some(Service::Plain))
    }

    /// A slice with pods of this Service is there. Answers the key whose mirrored slices may have waited for it.
    pub(super) fn put_pod_slice(&mut self, slice: Key, service: Option<Arc<str>>) -> Option<Key> {
        if self.pod_slices.get(&slice) == service.as_ref() {
            return None;
        }
        self.remove_pod_slice(&slice);
        let service = service?;
        let key = Key::new(Arc::clone(&slice.namespace), Arc::clone(&service));
        self.pod_slices.insert(slice, service);
        let entry = self.entries.entry(key.clone()).or_default();
        entry.pod_slices += 1;
        let looked_at = matches!(entry.service, Some(Service::Selecting { since: Some(_) }));
        (looked_at && entry.pod_slices == 1).then_some(key)
    }

    pub(super) fn remove_pod_slice(&mut self, slice: &Key) {
        if let Some(service) = self.pod_slices.remove(slice) {
            let key = Key::new(Arc::clone(&slice.namespace), service);
            self.change(&key, |entry| {
                entry.pod_slices -= 1;
                false
            });
        }
    }

    /// Takes something out of an entry, and the entry with it if nothing is left.
    fn change(&mut self, key: &Key, change: impl FnOnce(&mut Entry) -> bool) -> bool {
        let hash_map::Entry::Occupied(mut entry) = self.entries.entry(key.clone()) else {
            return false;
        };
        let answer = change(entry.get_mut());
        if entry.get().is_empty() {
            entry.remove();
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use slice_core::Interner;

    use super::*;
    use crate::testing::endpoints;

    /// I12: memory is for what there is, not for what there was.
    #[test]
    fn nothing_is_left_of_what_is_gone() {
        let mut index = Index::default();
        let (key, slice) = (Key::new("ns", "db"), Key::new("ns", "db-1"));
        index.put_endpoints(
            &key,
            Endpoints::read(&endpoints("10.0.0.1 :80"), &mut Interner::default()),
        );
        index.put_service(&key, false);
        index.put_pod_slice(slice.clone(), Some("db".into()));
        index.put_pod_slice(slice.clone(), Some("other".into()));
        assert_eq!((index.entries.len(), index.pod_slices.len()), (2, 1));

        index.remove_endpoints(&key);
        index.remove_service(&key);
        index.put_pod_slice(slice, None);
        for key in [key, Key::new("ns", "never there")] {
            assert!(!index.remove_endpoints(&key) && !index.remove_service(&key), "{key}");
        }
        assert!(index.entries.is_empty() && index.pod_slices.is_empty(), "{index:?}");
    }
}
