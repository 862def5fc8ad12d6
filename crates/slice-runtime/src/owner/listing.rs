//! What a list contains, while it is being told.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use slice_controller::{Identity, Key};

/// The lists of all resources.
#[derive(Debug)]
pub(super) struct Listings {
    /// What the list that is being told contains so far, by namespace and name, and by uid.
    open: HashMap<&'static str, Listed>,
    /// Resources that have never been listed.
    incomplete: HashSet<&'static str>,
}

#[derive(Debug, Default)]
struct Listed {
    names: HashSet<(Box<str>, Box<str>)>,
    uids: HashSet<String>,
    /// Keys that what was told so far concerns. They wait for the rest: what is gone is known only at the end, and a key
    /// is not to be written twice.
    wakes: Vec<(Key, Duration)>,
}

impl Listings {
    pub(super) fn new(kinds: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            open: HashMap::new(),
            incomplete: kinds.into_iter().collect(),
        }
    }

    /// A list begins; one that was not finished is forgotten, but not whom it concerned.
    pub(super) fn begin(&mut self, kind: &'static str) {
        let wakes = self.open.remove(kind).unwrap_or_default().wakes;
        let listed = Listed {
            wakes,
            ..Listed::default()
        };
        self.open.insert(kind, listed);
    }

    /// Whether a list is being told.
    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Keeps keys until the list is complete; gives them back if none is being told.
    pub(super) fn keep(&mut self, kind: &'static str, wakes: Vec<(Key, Duration)>) -> Vec<(Key, Duration)> {
        match self.open.get_mut(kind) {
            Some(listed) => {
                listed.wakes.extend(wakes);
                Vec::new()
            }
            None => wakes,
        }
    }

    /// The list contains this object.
    pub(super) fn note(&mut self, kind: &'static str, identity: &Identity) {
        if let Some(listed) = self.open.get_mut(kind) {
            listed.names.insert((identity.namespace.clone(), identity.name.clone()));
            listed.uids.insert(identity.uid.to_string());
        }
    }

    /// The list is complete. Answers which of the objects that were held it does not contain, and the keys that wait.
    pub(super) fn end(&mut self, kind: &'static str, held: Vec<Identity>) -> (Vec<Identity>, Vec<(Key, Duration)>) {
        self.incomplete.remove(kind);
        let Listed { names, wakes, .. } = self.open.remove(kind).unwrap_or_default();
        let gone = held
            .into_iter()
            .filter(|identity| !names.contains(&(identity.namespace.clone(), identity.name.clone())));
        (gone.collect(), wakes)
    }

    /// The list is complete. Answers the uids in it, and the keys that wait.
    pub(super) fn end_by_uid(&mut self, kind: &'static str) -> (HashSet<String>, Vec<(Key, Duration)>) {
        self.incomplete.remove(kind);
        let Listed { uids, wakes, .. } = self.open.remove(kind).unwrap_or_default();
        (uids, wakes)
    }

    /// Whether every resource has been listed.
    pub(super) fn all_complete(&self) -> bool {
        self.incomplete.is_empty()
    }
}
