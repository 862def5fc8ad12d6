//! Index of watched objects by key: the name that a Service, its Endpoints object and their slices share.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use jiff::Timestamp;
use slice_controller::Key;
use slice_core::shrink_if_sparse;

use super::Endpoints;

/// Index of all watched objects.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<Key, Entry>,
    /// Name of the Service of each slice written by the EndpointSlice controller.
    pod_slices: HashMap<Key, Arc<str>>,
}

/// The objects of one key.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The Endpoints object, if it is eligible.
    pub(super) endpoints: Option<Endpoints>,
    /// Selector state of the Service, if the Service exists.
    pub(super) selector: Option<SelectorState>,
    /// Number of slices of the Service written by the EndpointSlice controller.
    pub(super) pod_slices: usize,
}

/// Whether a Service has a selector: the only field that counts (M9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectorState {
    /// No selector: the Endpoints object is mirrored.
    None,
    /// A selector: the EndpointSlice controller publishes the pods.
    Present {
        /// Time of the first sync with this selector, the start of the grace period.
        since: Option<Timestamp>,
    },
}

impl Entry {
    fn has_selector(&self) -> bool {
        matches!(self.selector, Some(SelectorState::Present { .. }))
    }

    fn is_empty(&self) -> bool {
        self.endpoints.is_none() && self.selector.is_none() && self.pod_slices == 0
    }
}

/// `set_*` and `remove_*` return whether the key must be enqueued.
impl Index {
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The number of addresses that are mirrored for a key.
    pub(super) fn mirrored_addresses(&self, key: &Key) -> usize {
        let entry = self.entries.get(key).filter(|entry| !entry.has_selector());
        let endpoints = entry.and_then(|entry| entry.endpoints.as_ref());
        endpoints.map_or(0, |endpoints| endpoints.subsets.addresses.len())
    }

    /// True for a new or changed object (M12, M13), unless its Service has a selector: then the object changes with every pod
    /// and is not mirrored (D6).
    pub(super) fn set_endpoints(&mut self, key: &Key, endpoints: Endpoints) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.endpoints.as_ref() == Some(&endpoints) {
            return false;
        }
        entry.endpoints = Some(endpoints);
        !entry.has_selector()
    }

    /// True for an eligible object that is deleted or no longer eligible (M13, M14).
    pub(super) fn remove_endpoints(&mut self, key: &Key) -> bool {
        self.update_entry(key, |entry| entry.endpoints.take().is_some())
    }

    /// True for a new Service without a selector (M15), and for one that gained or lost its selector (M16).
    pub(super) fn set_service(&mut self, key: &Key, has_selector: bool) -> bool {
        let selector = &mut self.entries.entry(key.clone()).or_default().selector;
        match (&selector, has_selector) {
            (Some(SelectorState::None), false) | (Some(SelectorState::Present { .. }), true) => false,
            (_, false) => {
                *selector = Some(SelectorState::None);
                true
            }
            (before, true) => {
                let existed = before.is_some();
                *selector = Some(SelectorState::Present { since: None });
                existed
            }
        }
    }

    /// True for a deleted Service that had no selector (M17).
    pub(super) fn remove_service(&mut self, key: &Key) -> bool {
        self.update_entry(key, |entry| entry.selector.take() == Some(SelectorState::None))
    }

    /// Records the Service of a slice written by the EndpointSlice controller. Returns the key to enqueue if the deletion of
    /// its mirrored slices may be delayed until this slice exists.
    pub(super) fn set_pod_slice(&mut self, slice: Key, service: Option<Arc<str>>) -> Option<Key> {
        if self.pod_slices.get(&slice) == service.as_ref() {
            return None;
        }
        self.remove_pod_slice(&slice);
        let service = service?;
        let key = Key::new(Arc::clone(&slice.namespace), Arc::clone(&service));
        self.pod_slices.insert(slice, service);
        let entry = self.entries.entry(key.clone()).or_default();
        entry.pod_slices += 1;
        let synced = matches!(entry.selector, Some(SelectorState::Present { since: Some(_) }));
        (synced && entry.pod_slices == 1).then_some(key)
    }

    pub(super) fn remove_pod_slice(&mut self, slice: &Key) {
        if let Some(service) = self.pod_slices.remove(slice) {
            shrink_if_sparse(&mut self.pod_slices);
            let key = Key::new(Arc::clone(&slice.namespace), service);
            self.update_entry(&key, |entry| {
                entry.pod_slices -= 1;
                false
            });
        }
    }

    /// Updates an existing entry, and removes it if it is empty afterwards. Returns the result of `update`, or false if there
    /// is no entry.
    fn update_entry(&mut self, key: &Key, update: impl FnOnce(&mut Entry) -> bool) -> bool {
        let hash_map::Entry::Occupied(mut entry) = self.entries.entry(key.clone()) else {
            return false;
        };
        let enqueue = update(entry.get_mut());
        if entry.get().is_empty() {
            entry.remove();
            shrink_if_sparse(&mut self.entries);
        }
        enqueue
    }
}

#[cfg(test)]
mod tests {
    use slice_core::Interner;

    use super::*;
    use crate::fixtures::endpoints;

    /// Memory is bounded by existing objects, not by deleted ones (I12).
    #[test]
    fn deleted_objects_leave_no_entries() {
        let mut index = Index::default();
        let (key, slice) = (Key::new("ns", "db"), Key::new("ns", "db-1"));
        index.set_endpoints(
            &key,
            Endpoints::from_k8s(&endpoints("10.0.0.1 :80"), &mut Interner::default()),
        );
        index.set_service(&key, false);
        index.set_pod_slice(slice.clone(), Some("db".into()));
        index.set_pod_slice(slice.clone(), Some("other".into()));
        assert_eq!((index.entries.len(), index.pod_slices.len()), (2, 1));

        index.remove_endpoints(&key);
        index.remove_service(&key);
        index.set_pod_slice(slice, None);
        for key in [key, Key::new("ns", "unknown")] {
            assert!(!index.remove_endpoints(&key) && !index.remove_service(&key), "{key}");
        }
        assert!(index.entries.is_empty() && index.pod_slices.is_empty(), "{index:?}");
    }

    /// Memory follows the objects that exist, not their highest number so far (I12).
    #[test]
    fn maps_shrink_with_the_objects() {
        let mut index = Index::default();
        let key = |i: usize| Key::new("ns", i.to_string());
        for i in 0..10_000 {
            index.set_service(&key(i), true);
            index.set_pod_slice(key(i), Some(i.to_string().into()));
        }
        for i in 100..10_000 {
            index.remove_service(&key(i));
            index.remove_pod_slice(&key(i));
        }
        assert_eq!((index.entries.len(), index.pod_slices.len()), (100, 100));
        let capacities = [index.entries.capacity(), index.pod_slices.capacity()];
        assert!(capacities.iter().all(|capacity| *capacity <= 400), "{capacities:?}");
    }
}
