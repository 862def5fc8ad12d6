//! The slice cache: our slices as the watch has shown them, with the responses to our own writes as an overlay.

mod resource_version;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::Key;
use slice_core::{CompactSlice, Interner, ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome, WriteTicket};

use resource_version::{is_newer, tracked_version};

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
    /// Tombstones: uids of slices that we deleted, until the watch shows the deletion.
    tombstones: HashSet<Arc<str>>,
}

/// The slices of one key.
#[derive(Debug, Default)]
struct SliceSet {
    /// In the order of their names.
    slices: Vec<CompactSlice>,
    /// Names that foreign slices have.
    reserved_names: Vec<String>,
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

    /// Names in the namespace of a key that foreign slices have.
    pub(crate) fn reserved_names(&self, key: &Key) -> &[String] {
        self.sets.get(key).map_or(&[], |set| &set.reserved_names)
    }

    /// The keys with slices.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let with_slices = self.sets.iter().filter(|(_, set)| !set.slices.is_empty());
        with_slices.map(|(key, _)| key)
    }

    /// Applies a watch event of one of our slices, which belongs to this key. Returns the keys to enqueue.
    pub(crate) fn apply(&mut self, key: Option<Key>, slice: CompactSlice) -> Vec<Key> {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let mut enqueue = Vec::new();
        if let Some(old_key) = self
            .key_by_uid
            .get(&*uid)
            .filter(|old_key| Some(*old_key) != key.as_ref())
            .cloned()
        {
            self.evict(&uid);
            enqueue.extend(self.defer_or_enqueue(old_key, Deferred::Removed));
        }
        let version = tracked_version(&slice.metadata, &uid);
        if let Some(key) = key {
            // An event from before our delete.
            let is_deleted = self.tombstones.contains(&*uid);
            let should_sync = !is_deleted && self.tracker.should_sync(&key, version);
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

    /// Completes a relist: removes the slices that it lacks, unless they are newer than the list. Returns the keys to enqueue.
    pub(crate) fn replace(&mut self, listed: &HashSet<String>, list_version: &str) -> Vec<Key> {
        let cached = self.sets.values().flat_map(|set| &set.slices);
        let missing: Vec<Arc<str>> = cached
            .filter(|slice| !is_newer(slice.metadata.resource_version.as_deref(), Some(list_version)))
            .filter_map(|slice| slice.metadata.uid.as_deref().map(Arc::from))
            .chain(self.tombstones.iter().cloned())
            .filter(|uid| !listed.contains(&**uid))
            .collect();
        missing.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    /// resourceVersions went back: versions of cached slices are not comparable with later ones.
    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "replaced by the merge"
    )]
    pub(crate) fn start_epoch(&mut self) {}

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

    /// Called before a create or update is sent.
    pub(crate) fn begin_write(&mut self, key: &Key) -> WriteTicket<Key> {
        self.tracker.begin_write(key.clone())
    }

    /// Applies the response to a create or update. The response is superseded if the watch has already shown that the slice
    /// was deleted or moved to another key.
    pub(crate) fn write_succeeded(&mut self, key: &Key, ticket: WriteTicket<Key>, slice: CompactSlice) -> WriteOutcome {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let outcome = self
            .tracker
            .finish_write(ticket, tracked_version(&slice.metadata, &uid));
        if outcome == WriteOutcome::Recorded {
            self.insert_if_newer(key, slice);
        }
        outcome
    }

    /// A create or update failed or was skipped, or its result is unknown.
    pub(crate) fn write_failed(&mut self, ticket: WriteTicket<Key>) {
        self.tracker.abandon_write(ticket);
    }

    /// Called before a delete is sent.
    pub(crate) fn begin_delete(&mut self, key: &Key, uid: &str) {
        self.tracker.expect_deletion(key, uid);
    }

    /// Removes a slice after a successful delete, and leaves a tombstone.
    pub(crate) fn delete_succeeded(&mut self, uid: &str) {
        // No tombstone if the watch has already shown the deletion.
        if self.evict(uid).is_some() {
            self.tombstones.insert(uid.into());
        }
    }

    /// A delete failed or was skipped, or its result is unknown.
    pub(crate) fn delete_failed(&mut self, key: &Key, uid: &str) {
        let slices = self.sets.get(key).map_or(&[][..], |set| &set.slices);
        if let Some(slice) = slices.iter().find(|slice| slice.metadata.uid.as_deref() == Some(uid)) {
            self.tracker.cancel_deletion(tracked_version(&slice.metadata, uid));
        }
    }

    /// Reserves a name that a foreign slice has: new slices of the key get another one.
    pub(crate) fn reserve_name(&mut self, key: &Key, name: String) {
        self.sets.entry(key.clone()).or_default().reserved_names.push(name);
    }

    /// Inserts or replaces a slice, unless the cached version is as new. Returns whether the cache changed.
    fn insert_if_newer(&mut self, key: &Key, slice: CompactSlice) -> bool {
        let slices = &mut self.sets.entry(key.clone()).or_default().slices;
        match slices.binary_search_by(|cached| cached.metadata.name.cmp(&slice.metadata.name)) {
            Ok(index) => {
                let cached = &slices[index].metadata;
                let version = slice.metadata.resource_version.as_deref();
                if cached.uid == slice.metadata.uid && !is_newer(version, cached.resource_version.as_deref()) {
                    return false;
                }
                if let Some(uid) = cached
                    .uid
                    .as_deref()
                    .filter(|uid| Some(*uid) != slice.metadata.uid.as_deref())
                {
                    self.key_by_uid.remove(uid);
                }
                self.key_by_uid
                    .insert(slice.metadata.uid.as_deref().unwrap_or_default().into(), key.clone());
                slices[index] = slice;
            }
            Err(index) => {
                self.key_by_uid
                    .insert(slice.metadata.uid.as_deref().unwrap_or_default().into(), key.clone());
                slices.insert(index, slice);
            }
        }
        true
    }

    /// Removes a slice from its set. Returns its key.
    fn evict(&mut self, uid: &str) -> Option<Key> {
        let key = self.key_by_uid.remove(uid)?;
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
        if set.is_some_and(|set| set.slices.is_empty() && set.reserved_names.is_empty() && !set.in_flight) {
            self.sets.remove(key);
        }
    }
}
