//! Recent watch observations of slices, kept while writes are in flight.

use std::collections::{BTreeSet, HashMap};

/// The maximum number of observations. Beyond it, the writes in flight get [`LastObserved::Evicted`]: each of their sets is
/// then synced once more, unless the tracker expects the slice anyway.
pub(super) const OBSERVATIONS_MAX: usize = 1024;

/// Where a slice was last observed since a write began.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LastObserved<K> {
    Never,
    InSet(K),
    /// Deleted, or in no set of ours.
    Gone,
    /// Unknown: there were too many observations to keep them.
    Evicted,
}

/// The last observation of each slice, per uid, for the writes in flight.
#[derive(Debug)]
pub(super) struct RecentObservations<K> {
    next_ticket: u64,
    /// The tickets of writes in flight. All observations since each of them are still known.
    open_tickets: BTreeSet<u64>,
    by_uid: HashMap<Box<str>, Observation<K>>,
}

#[derive(Debug)]
struct Observation<K> {
    /// Only tickets below this number were open at the time.
    tickets_below: u64,
    set: Option<K>,
}

impl<K> Default for RecentObservations<K> {
    fn default() -> Self {
        Self {
            next_ticket: 0,
            open_tickets: BTreeSet::new(),
            by_uid: HashMap::new(),
        }
    }
}

impl<K: Clone> RecentObservations<K> {
    pub(super) fn open_ticket(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.open_tickets.insert(ticket);
        ticket
    }

    pub(super) fn record(&mut self, uid: &str, set: Option<&K>) {
        if self.by_uid.len() >= OBSERVATIONS_MAX && !self.by_uid.contains_key(uid) {
            self.evict();
        }
        // Observations only matter to writes in flight.
        if !self.open_tickets.is_empty() {
            let observation = Observation {
                tickets_below: self.next_ticket,
                set: set.cloned(),
            };
            self.by_uid.insert(uid.into(), observation);
        }
    }

    /// Closes a ticket and returns where the slice was last observed since it was opened.
    pub(super) fn close_ticket(&mut self, ticket: u64, uid: &str) -> LastObserved<K> {
        let last = self.last_observed(ticket, uid);
        self.discard_ticket(ticket);
        last
    }

    /// Where the slice was last observed since a ticket was opened.
    pub(super) fn last_observed(&self, ticket: u64, uid: &str) -> LastObserved<K> {
        if self.open_tickets.contains(&ticket) {
            let since_ticket = |observation: &&Observation<K>| ticket < observation.tickets_below;
            match self.by_uid.get(uid).filter(since_ticket) {
                None => LastObserved::Never,
                Some(Observation { set: Some(set), .. }) => LastObserved::InSet(set.clone()),
                Some(Observation { set: None, .. }) => LastObserved::Gone,
            }
        } else {
            LastObserved::Evicted
        }
    }

    pub(super) fn discard_ticket(&mut self, ticket: u64) {
        self.open_tickets.remove(&ticket);
        if self.open_tickets.is_empty() {
            self.by_uid.clear();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_uid.len()
    }

    /// Removes observations older than every open ticket; if that frees nothing, all of them and the tickets.
    fn evict(&mut self) {
        let oldest = self.open_tickets.first().copied().unwrap_or(self.next_ticket);
        self.by_uid.retain(|_, observation| oldest < observation.tickets_below);
        if self.by_uid.len() >= OBSERVATIONS_MAX {
            self.clear();
        }
    }

    /// Removes all observations and tickets.
    pub(super) fn clear(&mut self) {
        self.by_uid.clear();
        self.open_tickets.clear();
    }
}
