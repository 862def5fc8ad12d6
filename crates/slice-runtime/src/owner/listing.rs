//! What a list contains, while it is being told.

use std::collections::{HashMap, HashSet};

use slice_controller::Identity;

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
}

impl Listings {
    pub(super) fn new(kinds: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            open: HashMap::new(),
            incomplete: kinds.into_iter().collect(),
        }
    }

    /// A list begins; one that was not finished is forgotten.
    pub(super) fn begin(&mut self, kind: &'static str) {
        self.open.insert(kind, Listed::default());
    }

    /// The list contains this object.
    pub(super) fn note(&mut self, kind: &'static str, identity: &Identity) {
        if let Some(listed) = self.open.get_mut(kind) {
            listed.names.insert((identity.namespace.clone(), identity.name.clone()));
            listed.uids.insert(identity.uid.to_string());
        }
    }

    /// The list is complete. Answers which of the objects that were held it does not contain.
    pub(super) fn end(&mut self, kind: &'static str, held: Vec<Identity>) -> Vec<Identity> {
        self.incomplete.remove(kind);
        let Listed { names, .. } = self.open.remove(kind).unwrap_or_default();
        held.into_iter()
            .filter(|identity| !names.contains(&(identity.namespace.clone(), identity.name.clone())))
            .collect()
    }

    /// The list is complete. Answers the uids in it.
    pub(super) fn end_by_uid(&mut self, kind: &'static str) -> HashSet<String> {
        self.incomplete.remove(kind);
        self.open.remove(kind).unwrap_or_default().uids
    }

    /// Whether every resource has been listed.
    pub(super) fn all_complete(&self) -> bool {
        self.incomplete.is_empty()
    }
}
