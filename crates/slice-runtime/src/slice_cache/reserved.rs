//! Reserved names, and keys whose slices get other labels when they are written.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use slice_controller::Key;

/// How long a name stays reserved. If a slice still has the name then, the next create with it reserves it again.
const RESERVED_FOR: Duration = Duration::from_secs(10 * 60);

/// Relabelled slices of a key from which on its writes are tried by a dry run first. The first one may be an edit by another
/// client, which is repaired at once (invariants.md §5).
const RELABELLED_BEFORE_PROBE: usize = 2;

/// Names that new slices of a key must not have, because slices outside its set have them: foreign slices, slices that cannot
/// be decoded, and relabelled slices, which are our own with labels that another client, a webhook or a policy changed.
///
/// Each relabelled slice leads to a replacement, so that a webhook that rewrites the labels of every slice would cause slices
/// without bound. After two relabelled slices the key is probed: until a dry run shows that labels are kept, nothing is stored.
#[derive(Debug, Default)]
pub(crate) struct ReservedNames {
    by_key: HashMap<Key, Reserved>,
}

#[derive(Debug, Default)]
struct Reserved {
    names: Vec<ReservedName>,
    /// When labels were last seen to be rewritten, while the key is probed.
    rewritten_at: Option<Instant>,
}

#[derive(Debug)]
struct ReservedName {
    name: String,
    at: Instant,
    relabelled: bool,
}

impl ReservedNames {
    /// The reserved names of a key.
    pub(crate) fn names(&self, key: &Key, now: Instant) -> Vec<String> {
        let Some(reserved) = self.by_key.get(key) else {
            return Vec::new();
        };
        let is_probed = reserved.is_probed(now);
        let names = reserved.names.iter();
        names
            .filter(|reserved| is_probed || !is_over(reserved.at, now))
            .map(|reserved| reserved.name.clone())
            .collect()
    }

    /// Whether the next write of the key must be tried by a dry run.
    pub(crate) fn is_probed(&self, key: &Key, now: Instant) -> bool {
        self.by_key.get(key).is_some_and(|reserved| reserved.is_probed(now))
    }

    /// Reserves a name for which a create failed, because a foreign slice has it.
    pub(crate) fn reserve(&mut self, key: &Key, name: &str, now: Instant) {
        self.insert(key, name, now, false);
    }

    /// Reserves the name of a relabelled slice. Returns whether the key is probed now.
    pub(crate) fn relabelled(&mut self, key: &Key, name: &str, now: Instant) -> bool {
        let reserved = self.insert(key, name, now, true);
        let recent = reserved.names.iter().filter(|name| !is_over(name.at, now));
        if recent.filter(|name| name.relabelled).count() >= RELABELLED_BEFORE_PROBE {
            reserved.rewritten_at = Some(now);
        }
        reserved.is_probed(now)
    }

    /// A dry run shows that labels are still rewritten.
    pub(crate) fn probe_failed(&mut self, key: &Key, now: Instant) {
        self.by_key.entry(key.clone()).or_default().rewritten_at = Some(now);
    }

    /// Labels are kept again: the key is no longer probed.
    pub(crate) fn labels_kept(&mut self, key: &Key) {
        if let Some(reserved) = self.by_key.get_mut(key) {
            reserved.rewritten_at = None;
        }
    }

    /// Drops names that are no longer reserved.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.by_key.retain(|_, reserved| {
            if reserved.is_probed(now) {
                return true;
            }
            reserved.names.retain(|name| !is_over(name.at, now));
            !reserved.names.is_empty()
        });
    }

    fn insert(&mut self, key: &Key, name: &str, now: Instant, relabelled: bool) -> &mut Reserved {
        let reserved = self.by_key.entry(key.clone()).or_default();
        reserved.names.retain(|reserved| reserved.name != name);
        reserved.names.push(ReservedName {
            name: name.to_owned(),
            at: now,
            relabelled,
        });
        reserved
    }
}

impl Reserved {
    fn is_probed(&self, now: Instant) -> bool {
        self.rewritten_at.is_some_and(|at| !is_over(at, now))
    }
}

fn is_over(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) >= RESERVED_FOR
}
