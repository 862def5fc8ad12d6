//! Tombstones: slices that left our set by a response, before the watch shows it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::resource_version::is_newer;

/// How long a tombstone hides newer versions of its slice: the watch may deliver events from before the deletion (F16).
const HIDES_NEWER_FOR: Duration = Duration::from_secs(30);

/// The uids whose watch events are ignored until the watch shows the deletion.
///
/// A tombstone also ends if the slice exists nevertheless: a list that began after the response contains it, or the watch shows
/// a newer version 30 s after the response.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    by_uid: HashMap<Arc<str>, Tombstone>,
    /// The number of lists so far; an incomplete list is the last one.
    lists: u64,
    is_listing: bool,
}

#[derive(Debug)]
struct Tombstone {
    /// The cached version.
    version: Option<String>,
    /// When the response arrived, as a time and as a number of lists.
    at: Instant,
    lists: u64,
}

impl Tombstones {
    pub(super) fn insert(&mut self, uid: &str, version: Option<String>, now: Instant) {
        let tombstone = Tombstone {
            version,
            at: now,
            lists: self.lists,
        };
        self.by_uid.insert(uid.into(), tombstone);
    }

    /// The watch shows the deletion.
    pub(super) fn remove(&mut self, uid: &str) {
        self.by_uid.remove(uid);
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.by_uid.contains_key(uid)
    }

    pub(super) fn uids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_uid.keys()
    }

    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
        self.is_listing = true;
    }

    pub(super) fn end_list(&mut self) {
        self.is_listing = false;
    }

    /// Removes the tombstone of a slice that the watch shows at this version, if it has ended. Returns whether it has.
    pub(super) fn end(&mut self, uid: &str, version: Option<&str>, now: Instant) -> bool {
        let has_ended = self.by_uid.get(uid).is_some_and(|tombstone| {
            let in_later_list = self.is_listing && self.lists > tombstone.lists;
            let is_late = now.saturating_duration_since(tombstone.at) >= HIDES_NEWER_FOR;
            in_later_list || is_late && is_newer(version, tombstone.version.as_deref())
        });
        if has_ended {
            self.by_uid.remove(uid);
        }
        has_ended
    }

    /// Removes all tombstones.
    pub(super) fn clear(&mut self) {
        self.by_uid.clear();
    }
}
