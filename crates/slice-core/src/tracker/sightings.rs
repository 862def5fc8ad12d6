//! Where slices were last seen while writes are in flight.

use std::collections::{BTreeSet, HashMap};

/// So many sightings are kept. When more are needed, the writes in flight are answered with [`Sighting::Forgotten`]:
/// that costs one more look at each of their sets, and only if the tracker does not remember the slice anyway.
pub(super) const SIGHTINGS_MAX: usize = 1024;

/// Where a slice was last seen since a write began.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sighting<K> {
    Never,
    In(K),
    /// Deleted, or none of ours.
    Gone,
    /// There were too many sightings to keep them.
    Forgotten,
}

#[derive(Debug)]
pub(super) struct Sightings<K> {
    next: u64,
    /// The tickets of the writes in flight that every later sighting is still kept for.
    open: BTreeSet<u64>,
    last: HashMap<Box<str>, Noted<K>>,
}

#[derive(Debug)]
struct Noted<K> {
    /// Only the tickets below this number were open then.
    tickets_below: u64,
    set: Option<K>,
}

impl<K> Default for Sightings<K> {
    fn default() -> Self {
        Self {
            next: 0,
            open: BTreeSet::new(),
            last: HashMap::new(),
        }
    }
}

impl<K: Clone> Sightings<K> {
    pub(super) fn open(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.open.insert(number);
        number
    }

    pub(super) fn note(&mut self, uid: &str, set: Option<&K>) {
        if self.last.len() >= SIGHTINGS_MAX && !self.last.contains_key(uid) {
            self.make_room();
        }
        // Without a write in flight nobody will ask.
        if !self.open.is_empty() {
            let noted = Noted {
                tickets_below: self.next,
                set: set.cloned(),
            };
            self.last.insert(uid.into(), noted);
        }
    }

    pub(super) fn close(&mut self, number: u64, uid: &str) -> Sighting<K> {
        let sighting = if self.open.contains(&number) {
            match self.last.get(uid).filter(|noted| number < noted.tickets_below) {
                None => Sighting::Never,
                Some(Noted { set: Some(set), .. }) => Sighting::In(set.clone()),
                Some(Noted { set: None, .. }) => Sighting::Gone,
            }
        } else {
            Sighting::Forgotten
        };
        self.abandon(number);
        sighting
    }

    pub(super) fn abandon(&mut self, number: u64) {
        self.open.remove(&number);
        if self.open.is_empty() {
            self.last.clear();
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.last.len()
    }

    fn make_room(&mut self) {
        let oldest = self.open.first().copied().unwrap_or(self.next);
        self.last.retain(|_, noted| oldest < noted.tickets_below);
        if self.last.len() >= SIGHTINGS_MAX {
            self.last.clear();
            self.open.clear();
        }
    }
}
