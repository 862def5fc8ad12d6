//! Configuration of a simulated server.

use std::{collections::BTreeMap, time::Duration};

use crate::reviews::{Denied, User};

/// Configuration of an [`ApiSim`](crate::ApiSim).
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of changes of each resource that the history retains for watches and consistent paging. A request for an
    /// older resourceVersion gets 410.
    pub history_events_max: usize,
    /// Time without events after which a watch with `allowWatchBookmarks` gets a bookmark.
    pub bookmark_interval: Duration,
    /// Tokens that `TokenReview` accepts, with their users.
    pub tokens: BTreeMap<String, User>,
    /// Access that `SubjectAccessReview` denies; everything else is allowed.
    pub denied: Vec<Denied>,
    /// Whether the server also does the deletion work of kube-controller-manager: the garbage collector deletes dependents
    /// without owners, and the namespace controller empties and finalizes namespaces. A bare API server does neither.
    pub garbage_collection: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            history_events_max: 1_000,
            bookmark_interval: Duration::from_secs(60),
            tokens: BTreeMap::new(),
            denied: Vec::new(),
            garbage_collection: true,
        }
    }
}
