//! How a simulated server differs from a plain new one.

use std::{collections::BTreeMap, time::Duration};

use crate::reviews::{Denied, User};

/// What can be chosen about an [`ApiSim`](crate::ApiSim).
#[derive(Clone, Debug)]
pub struct Config {
    /// How many changes of each resource are kept for watches and consistent paging; who is further behind gets 410.
    pub history_events_max: usize,
    /// How long a watch that allows bookmarks stays silent before it gets one.
    pub bookmark_interval: Duration,
    /// Tokens that `TokenReview` accepts, and whose they are.
    pub tokens: BTreeMap<String, User>,
    /// Who is refused what by `SubjectAccessReview`; everything else is allowed.
    pub denied: Vec<Denied>,
    /// Whether the work of the controller manager that belongs to deletion is done: dependents are collected when their
    /// owners are gone, and namespaces are emptied and finalized. A bare API server does neither.
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
