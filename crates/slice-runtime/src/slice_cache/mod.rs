//! The slice cache: our slices as the watch has shown them, with the responses to our own writes as an overlay.

mod reserved;
mod resource_version;
#[cfg(test)]
mod tests;
mod tombstones;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Key, ObjectRef};
use slice_core::{CompactSlice, Interner, ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome, WriteTicket};

use reserved::ReservedNames;
use resource_version::{is_newer, tracked_version};
use tombstones::Tombstones;

/// All slices with our managed-by label, by key.
///
/// The response to a write is applied at once, and a watch event replaces it only if its resourceVersion is newer. So a sync
/// always reads its own writes, and no key waits or fails because of a stale cache (invariants.md §4).
#[derive(Debug, Default)]
pub(crate) struct SliceCache {
    sets: HashMap<Key, SliceSet>,
    /// The key of each slice in `sets`.
    key_by_uid: HashMap<Arc<str>, Key>,
    tracker: SliceTracker<Key>,
    tombstones: Tombstones,
    pub(crate) reserved: ReservedNames,
    /// The version of the last complete list.
    list_version: Option<String>,
    /// The number of epochs before this one.
    epoch: u64,
    /// Slices in `sets` from an earlier epoch: any version of this one replaces them.
    outdated: HashSet<Arc<str>>,
}

/// The slices of one key.
#[derive(Debug, Default)]
struct SliceSet {
    /// In the order of their names.
    slices: Vec<CompactSlice>,
    /// Whether a plan for the key is being executed.
    in_flight: bool,
    /// Watch events during the execution of the plan: caused by our own writes, or by foreign changes.
    deferred: Vec<Deferred>,
}

/// A watch event that may enqueue the key when its writes are done.
#[derive(Debug)]
enum Deferred {
    Applied { uid: String, generation: i64 },
    Removed,
}

/// Converts a slice to the compact form of the cache.
pub(crate) fn decode(slice: &EndpointSlice, interner: &mut Interner) -> CompactSlice {
    let mut slice = CompactSlice::from_k8s(slice, interner);
    // The server maintains managedFields, whether or not an update contains them.
    slice.metadata.managed_fields = None;
    slice
}

impl SliceCache {
    /// The slices of a key, in the order of their names.
    pub(crate) fn get(&self, key: &Key) -> &[CompactSlice] {
        self.sets.get(key).map_or(&[], |set| &set.slices)
    }

    /// The keys with slices.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let with_slices = self.sets.iter().filter(|(_, set)| !set.slices.is_empty());
        with_slices.map(|(key, _)| key)
    }

    /// Applies a watch event of one of our slices, which belongs to this key. Returns the keys to enqueue.
    pub(crate) fn apply(&mut self, key: Option<Key>, slice: CompactSlice, now: Instant) -> Vec<Key> {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let resource_version = slice.metadata.resource_version.as_deref();
        let mut enqueue = Vec::new();
        let cached_in = self.key_by_uid.get(&*uid);
        if let Some(old_key) = cached_in.filter(|old| Some(*old) != key.as_ref()).cloned() {
            // An event from before the slice moved to its present key.
            if !self.is_newer_than_cached(&uid, resource_version) {
                return enqueue;
            }
            self.evict(&uid);
            enqueue.extend(self.defer_or_enqueue(old_key, Deferred::Removed));
        }
        let version = tracked_version(&slice.metadata, &uid);
        let tombstone_ended = self.tombstones.end(&uid, resource_version, now);
        if let Some(key) = key {
            // An event from before our delete.
            let is_deleted = self.tombstones.contains(&uid);
            let should_sync = !is_deleted && self.tracker.should_sync(&key, version);
            if tombstone_ended {
                self.tracker.cancel_deletion(version);
            }
            let event = Deferred::Applied {
                uid: uid.clone(),
                generation: version.generation,
            };
            self.tracker.observe(Some(&key), &uid);
            if !is_deleted && self.insert_if_newer(&key, slice) && should_sync {
                enqueue.extend(self.defer_or_enqueue(key, event));
            }
        } else {
            self.tracker.observe(None, &uid);
            tracing::warn!(
                slice = slice.metadata.name.as_deref(),
                namespace = slice.metadata.namespace.as_deref(),
                "EndpointSlice has our managed-by label, but its labels name no owner; ignoring it"
            );
        }
        enqueue
    }

    /// Handles a slice that exists at a version that cannot be decoded. It is no base for updates, so that it leaves the cache
    /// and its endpoints are published by another slice (F25). `key` is that of its labels, if they are known. Returns the key
    /// to enqueue.
    pub(crate) fn apply_undecodable(&mut self, key: Option<Key>, object: &ObjectRef, now: Instant) -> Option<Key> {
        let is_cached = self.key_by_uid.contains_key(&*object.uid);
        if is_cached && !self.is_newer_than_cached(&object.uid, Some(&object.resource_version)) {
            return None;
        }
        let cached_in = self.evict(&object.uid);
        self.tracker.observe(None, &object.uid);
        let key = key.or(cached_in)?;
        self.reserved.reserve(&key, &object.name, now);
        self.defer_or_enqueue(key, Deferred::Removed)
    }

    /// Applies a watch event: a slice was deleted, or lost our managed-by label. Returns the key to enqueue.
    pub(crate) fn remove(&mut self, uid: &str) -> Option<Key> {
        self.tombstones.remove(uid);
        let key = self.evict(uid);
        match self.tracker.handle_deletion(uid) {
            ObservedDeletion::Expected => None,
            ObservedDeletion::Unexpected(key) => self.defer_or_enqueue(key, Deferred::Removed),
            // The tracker is empty after a restart, but the slice must be recreated nevertheless (W2).
            ObservedDeletion::Unknown => key.and_then(|key| self.defer_or_enqueue(key, Deferred::Removed)),
        }
    }

    /// A list has begun; [`replace`](Self::replace) completes it.
    pub(crate) fn begin_list(&mut self) {
        self.tombstones.begin_list();
    }

    /// Completes a relist: removes the slices that it lacks, unless they are newer than the list. Returns the keys to enqueue.
    pub(crate) fn replace(&mut self, listed: &HashSet<String>, list_version: &str) -> Vec<Key> {
        self.tombstones.end_list();
        self.list_version = Some(list_version.to_owned());
        let cached = self.sets.values().flat_map(|set| &set.slices);
        let missing: Vec<Arc<str>> = cached
            .filter_map(|slice| {
                Some((
                    slice.metadata.uid.as_deref()?,
                    slice.metadata.resource_version.as_deref(),
                ))
            })
            .filter(|(uid, version)| self.outdated.contains(*uid) || !is_newer(*version, Some(list_version)))
            .map(|(uid, _)| uid.into())
            .chain(self.tombstones.uids().cloned())
            .filter(|uid| !listed.contains(&**uid))
            .collect();
        missing.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    /// Starts an epoch: resourceVersions and generations went back, because etcd was restored (F14). The cached slices stay
    /// until the next event or list, which replaces them whatever their version. Tombstones, expectations and reserved names
    /// are dropped; a write in flight must not be applied (see [`epoch`](Self::epoch)).
    pub(crate) fn start_epoch(&mut self) {
        self.epoch += 1;
        self.outdated = self.key_by_uid.keys().cloned().collect();
        self.tombstones.clear();
        self.tracker.clear();
        self.reserved = ReservedNames::default();
        self.list_version = None;
    }

    /// The number of the epoch. The result of a write that began in another epoch states nothing about this one.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Called before the plan of a key is executed: until [`end_sync`](Self::end_sync), watch events of its slices are
    /// deferred, because they may be caused by our own writes.
    pub(crate) fn begin_sync(&mut self, key: &Key) {
        self.sets.entry(key.clone()).or_default().in_flight = true;
    }

    /// Called when all writes of the plan are done. Returns whether a deferred watch event was a foreign change, so that the
    /// key must be enqueued.
    pub(crate) fn end_sync(&mut self, key: &Key) -> bool {
        let Some(set) = self.sets.get_mut(key) else {
            return false;
        };
        set.in_flight = false;
        let deferred = std::mem::take(&mut set.deferred);
        let is_foreign = deferred.iter().any(|event| match event {
            Deferred::Removed => true,
            Deferred::Applied { uid, generation } => {
                let version = SliceVersion {
                    uid,
                    generation: *generation,
                    terminating: false,
                };
                self.tracker.should_sync(key, version)
            }
        });
        self.prune(key);
        is_foreign
    }

    /// Called before a write is sent.
    pub(crate) fn begin_write(&mut self, key: &Key) -> WriteTicket<Key> {
        self.tracker.begin_write(key.clone())
    }

    /// Applies the response to a create or update. The response is superseded if the watch has already shown that the slice
    /// was deleted or moved to another key, or if a list that is as new does not contain it.
    pub(crate) fn write_succeeded(&mut self, key: &Key, ticket: WriteTicket<Key>, slice: CompactSlice) -> WriteOutcome {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let is_newer_than_list = is_newer(slice.metadata.resource_version.as_deref(), self.list_version.as_deref());
        // A slice that the list contained is cached, or the tracker has observed what became of it.
        if !is_newer_than_list && !self.key_by_uid.contains_key(&*uid) {
            self.tracker.abandon_write(ticket);
            return WriteOutcome::Superseded;
        }
        let outcome = self
            .tracker
            .finish_write(ticket, tracked_version(&slice.metadata, &uid));
        if outcome == WriteOutcome::Recorded {
            self.insert_if_newer(key, slice);
        }
        outcome
    }

    /// Whether the live slice in a response to a write is older than what the watch has shown since: its deletion, or a list
    /// that does not contain it. A cached or deleted slice has a version to compare with.
    pub(crate) fn is_superseded(&self, ticket: &WriteTicket<Key>, live: &CompactSlice) -> bool {
        let uid = live.metadata.uid.as_deref().unwrap_or_default();
        let is_known = self.key_by_uid.contains_key(uid) || self.tombstones.contains(uid);
        let is_newer_than_list = is_newer(live.metadata.resource_version.as_deref(), self.list_version.as_deref());
        !is_known && (!is_newer_than_list || self.tracker.left_since(ticket, uid))
    }

    /// A write failed or was skipped, or its result is unknown: ends its ticket.
    pub(crate) fn write_failed(&mut self, ticket: WriteTicket<Key>) {
        self.tracker.abandon_write(ticket);
    }

    /// Called before a delete is sent, in addition to [`begin_write`](Self::begin_write).
    pub(crate) fn begin_delete(&mut self, key: &Key, uid: &str) {
        self.tracker.expect_deletion(key, uid);
    }

    /// A response shows that the slice is deleted, or that it lost our managed-by label: removes it, and leaves a tombstone.
    pub(crate) fn left(&mut self, key: &Key, uid: &str, now: Instant) {
        let version = self
            .cached(uid)
            .and_then(|slice| slice.metadata.resource_version.clone());
        let is_outdated = self.outdated.contains(uid);
        // No tombstone if the watch has already shown the deletion, or if the version is from another epoch.
        if self.evict(uid).is_some() && !is_outdated {
            self.tracker.expect_deletion(key, uid);
            self.tombstones.insert(uid, version, now);
        }
    }

    /// A delete failed or was skipped, or its result is unknown.
    pub(crate) fn delete_failed(&mut self, uid: &str) {
        let version = self.cached(uid).map(|slice| tracked_version(&slice.metadata, uid));
        if let Some(version) = version {
            self.tracker.cancel_deletion(version);
        }
    }

    /// The cached version of a slice.
    fn cached(&self, uid: &str) -> Option<&CompactSlice> {
        let slices = &self.sets.get(self.key_by_uid.get(uid)?)?.slices;
        slices.iter().find(|slice| slice.metadata.uid.as_deref() == Some(uid))
    }

    fn is_newer_than_cached(&self, uid: &str, version: Option<&str>) -> bool {
        self.outdated.contains(uid)
            || self
                .cached(uid)
                .is_none_or(|cached| is_newer(version, cached.metadata.resource_version.as_deref()))
    }

    /// Inserts or replaces a slice, unless the cached slice of its name is as new. Returns whether the cache changed.
    fn insert_if_newer(&mut self, key: &Key, slice: CompactSlice) -> bool {
        let uid: Arc<str> = slice.metadata.uid.as_deref().unwrap_or_default().into();
        let slices = &mut self.sets.entry(key.clone()).or_default().slices;
        match slices.binary_search_by(|cached| cached.metadata.name.cmp(&slice.metadata.name)) {
            Ok(index) => {
                let cached = &slices[index].metadata;
                let cached_uid = cached.uid.as_deref().unwrap_or_default();
                let version = slice.metadata.resource_version.as_deref();
                // Of another uid too: names are reused, and versions of all slices increase.
                if !self.outdated.contains(cached_uid) && !is_newer(version, cached.resource_version.as_deref()) {
                    return false;
                }
                self.outdated.remove(cached_uid);
                self.key_by_uid.remove(cached_uid);
                slices[index] = slice;
            }
            Err(index) => slices.insert(index, slice),
        }
        self.key_by_uid.insert(uid, key.clone());
        true
    }

    /// Removes a slice from its set. Returns its key.
    fn evict(&mut self, uid: &str) -> Option<Key> {
        let key = self.key_by_uid.remove(uid)?;
        self.outdated.remove(uid);
        if let Some(set) = self.sets.get_mut(&key) {
            set.slices.retain(|slice| slice.metadata.uid.as_deref() != Some(uid));
        }
        self.prune(&key);
        Some(key)
    }

    /// Returns the key to enqueue; defers the event if writes of the key are in flight.
    fn defer_or_enqueue(&mut self, key: Key, event: Deferred) -> Option<Key> {
        match self.sets.get_mut(&key).filter(|set| set.in_flight) {
            Some(set) => {
                set.deferred.push(event);
                None
            }
            None => Some(key),
        }
    }

    /// Drops an empty set.
    fn prune(&mut self, key: &Key) {
        let set = self.sets.get(key);
        if set.is_some_and(|set| set.slices.is_empty() && !set.in_flight) {
            self.sets.remove(key);
        }
    }
}
