//! The slices of every key: what the watch has shown, with our own writes laid over it.

#[cfg(test)]
mod tests;
mod version;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::Key;
use slice_core::{CompactSlice, Interner, ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome, WriteTicket};

use version::{is_newer, of};

/// All our slices, by the key they belong to.
///
/// The answer of each write is put in at once, and an event of the watch wins only if it is newer. So no key ever has to
/// wait, or to fail, because what is known of its slices is out of date (invariants.md §4).
#[derive(Debug, Default)]
pub(crate) struct Slices {
    sets: HashMap<Key, Set>,
    /// The key of each slice in `sets`, by uid.
    homes: HashMap<Arc<str>, Key>,
    tracker: SliceTracker<Key>,
    /// Slices that we deleted and whose end the watch has yet to show.
    deleted: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct Set {
    /// In the order of their names.
    slices: Vec<CompactSlice>,
    /// Names that others were found to have.
    taken: Vec<String>,
    /// Whether a plan is being carried out.
    in_flight: bool,
    /// What the watch showed meanwhile and may be the echo of our own writes.
    held: Vec<Held>,
}

#[derive(Debug)]
enum Held {
    Shown { uid: String, generation: i64 },
    Lost,
}

/// Reads a slice to be kept.
pub(crate) fn read(slice: &EndpointSlice, interner: &mut Interner) -> CompactSlice {
    let mut slice = CompactSlice::from_k8s(slice, interner);
    // The server keeps its own account of who set what; sent back or not, it is the same.
    slice.metadata.managed_fields = None;
    slice
}

impl Slices {
    /// The slices of a key, in the order of their names.
    pub(crate) fn of(&self, key: &Key) -> &[CompactSlice] {
        self.sets.get(key).map_or(&[], |set| &set.slices)
    }

    /// Names in the namespace of a key that are known to belong to others.
    pub(crate) fn taken(&self, key: &Key) -> &[String] {
        self.sets.get(key).map_or(&[], |set| &set.taken)
    }

    /// The keys with slices.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let with_slices = self.sets.iter().filter(|(_, set)| !set.slices.is_empty());
        with_slices.map(|(key, _)| key)
    }

    /// Applies a watch event of a slice of ours, which belongs to this key. Returns the keys to enqueue.
    pub(crate) fn show(&mut self, key: Option<Key>, slice: CompactSlice) -> Vec<Key> {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let mut wake = Vec::new();
        if let Some(left) = self
            .homes
            .get(&*uid)
            .filter(|home| Some(*home) != key.as_ref())
            .cloned()
        {
            self.remove(&uid);
            wake.extend(self.hold(left, Held::Lost));
        }
        let version = of(&slice.metadata, &uid);
        if let Some(key) = key {
            // What is shown is from before its end.
            let deleted = self.deleted.contains(&*uid);
            let news = !deleted && self.tracker.should_sync(&key, version);
            let shown = Held::Shown {
                uid: uid.clone(),
                generation: version.generation,
            };
            self.tracker.observe(Some(&key), &uid);
            if !deleted && self.put(&key, slice) && news {
                wake.extend(self.hold(key, shown));
            }
        } else {
            self.tracker.observe(None, &uid);
            tracing::warn!(
                slice = slice.metadata.name.as_deref(),
                namespace = slice.metadata.namespace.as_deref(),
                "EndpointSlice has our managed-by label, but its labels name no owner; ignoring it"
            );
        }
        wake
    }

    /// The watch shows that a slice is gone, or no longer ours. Answers the key that should be looked at.
    pub(crate) fn gone(&mut self, uid: &str) -> Option<Key> {
        self.deleted.remove(uid);
        let home = self.remove(uid);
        match self.tracker.handle_deletion(uid) {
            ObservedDeletion::Expected => None,
            ObservedDeletion::Unexpected(key) => self.hold(key, Held::Lost),
            // After a restart nothing is remembered of our writes, and yet it matters (W2).
            ObservedDeletion::Unknown => home.and_then(|key| self.hold(key, Held::Lost)),
        }
    }

    /// A new list has been read: what it does not contain is gone, unless it is newer than the list.
    pub(crate) fn relisted(&mut self, listed: &HashSet<String>, list_version: &str) -> Vec<Key> {
        let known = self.sets.values().flat_map(|set| &set.slices);
        let missing: Vec<Arc<str>> = known
            .filter(|slice| !is_newer(slice.metadata.resource_version.as_deref(), Some(list_version)))
            .filter_map(|slice| slice.metadata.uid.as_deref().map(Arc::from))
            .chain(self.deleted.iter().cloned())
            .filter(|uid| !listed.contains(&**uid))
            .collect();
        missing.iter().filter_map(|uid| self.gone(uid)).collect()
    }

    /// A plan for a key is about to be carried out: until [`finish`](Self::finish), what the watch shows of its slices is
    /// held back, as it may be the echo of that plan.
    pub(crate) fn begin(&mut self, key: &Key) {
        self.sets.entry(key.clone()).or_default().in_flight = true;
    }

    /// The plan has been carried out, as far as it went. Answers whether the key has to be looked at again, because
    /// somebody else changed its slices meanwhile.
    pub(crate) fn finish(&mut self, key: &Key) -> bool {
        let Some(set) = self.sets.get_mut(key) else {
            return false;
        };
        set.in_flight = false;
        let held = std::mem::take(&mut set.held);
        let again = held.iter().any(|held| match held {
            Held::Lost => true,
            Held::Shown { uid, generation } => {
                let version = SliceVersion {
                    uid,
                    generation: *generation,
                    terminating: false,
                };
                self.tracker.should_sync(key, version)
            }
        });
        self.tidy(key);
        again
    }

    /// A create or update is about to be sent.
    pub(crate) fn begin_write(&mut self, key: &Key) -> WriteTicket<Key> {
        self.tracker.begin_write(key.clone())
    }

    /// A create or update was answered. Answers whether the slice had left its set in the meantime.
    pub(crate) fn written(&mut self, key: &Key, ticket: WriteTicket<Key>, slice: CompactSlice) -> WriteOutcome {
        let uid = slice.metadata.uid.clone().unwrap_or_default();
        let answer = self.tracker.finish_write(ticket, of(&slice.metadata, &uid));
        if answer == WriteOutcome::Recorded {
            self.put(key, slice);
        }
        answer
    }

    /// A create or update failed, was withheld or got no answer.
    pub(crate) fn not_written(&mut self, ticket: WriteTicket<Key>) {
        self.tracker.abandon_write(ticket);
    }

    /// A deletion is about to be sent.
    pub(crate) fn begin_delete(&mut self, key: &Key, uid: &str) {
        self.tracker.expect_deletion(key, uid);
    }

    /// A deletion was answered: the slice is gone.
    pub(crate) fn deleted(&mut self, uid: &str) {
        // The watch may have been faster than the answer.
        if self.remove(uid).is_some() {
            self.deleted.insert(uid.into());
        }
    }

    /// A deletion failed, was withheld or got no answer.
    pub(crate) fn not_deleted(&mut self, key: &Key, uid: &str) {
        let slices = self.sets.get(key).map_or(&[][..], |set| &set.slices);
        if let Some(slice) = slices.iter().find(|slice| slice.metadata.uid.as_deref() == Some(uid)) {
            self.tracker.cancel_deletion(of(&slice.metadata, uid));
        }
    }

    /// A name that we wanted belongs to a slice of somebody else.
    pub(crate) fn note_taken(&mut self, key: &Key, name: String) {
        self.sets.entry(key.clone()).or_default().taken.push(name);
    }

    /// Puts a slice in its place, unless a newer version is there. Answers whether it was put.
    fn put(&mut self, key: &Key, slice: CompactSlice) -> bool {
        let slices = &mut self.sets.entry(key.clone()).or_default().slices;
        match slices.binary_search_by(|known| known.metadata.name.cmp(&slice.metadata.name)) {
            Ok(place) => {
                let known = &slices[place].metadata;
                let shown = slice.metadata.resource_version.as_deref();
                if known.uid == slice.metadata.uid && !is_newer(shown, known.resource_version.as_deref()) {
                    return false;
                }
                if let Some(uid) = known
                    .uid
                    .as_deref()
                    .filter(|uid| Some(*uid) != slice.metadata.uid.as_deref())
                {
                    self.homes.remove(uid);
                }
                self.homes
                    .insert(slice.metadata.uid.as_deref().unwrap_or_default().into(), key.clone());
                slices[place] = slice;
            }
            Err(place) => {
                self.homes
                    .insert(slice.metadata.uid.as_deref().unwrap_or_default().into(), key.clone());
                slices.insert(place, slice);
            }
        }
        true
    }

    fn remove(&mut self, uid: &str) -> Option<Key> {
        let key = self.homes.remove(uid)?;
        if let Some(set) = self.sets.get_mut(&key) {
            set.slices.retain(|slice| slice.metadata.uid.as_deref() != Some(uid));
        }
        self.tidy(&key);
        Some(key)
    }

    /// Wakes a key, or keeps in mind that it may have to be, if it is being written.
    fn hold(&mut self, key: Key, held: Held) -> Option<Key> {
        match self.sets.get_mut(&key).filter(|set| set.in_flight) {
            Some(set) => {
                set.held.push(held);
                None
            }
            None => Some(key),
        }
    }

    fn tidy(&mut self, key: &Key) {
        let set = self.sets.get(key);
        if set.is_some_and(|set| set.slices.is_empty() && set.taken.is_empty() && !set.in_flight) {
            self.sets.remove(key);
        }
    }
}
