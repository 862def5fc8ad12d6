//! One allocation for equal strings, and for equal identities of objects.

use std::{hash::BuildHasher as _, sync::Arc};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::TargetIdentity;

/// Interns strings and identities of objects: one `Arc` for all equal ones. Drops what is referenced nowhere else any more.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Pool<str>,
    identities: Pool<TargetIdentity>,
    hasher: RandomState,
}

impl Interner {
    /// The shared string of this text.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        self.strings.intern(text, &self.hasher)
    }

    /// The shared identity of these names. Of the strings in it only the namespace is interned: the others rarely occur
    /// elsewhere.
    pub fn intern_identity(
        &mut self,
        namespace: Option<&str>,
        name: Option<&str>,
        uid: Option<&str>,
    ) -> Arc<TargetIdentity> {
        let Self {
            strings,
            identities,
            hasher,
        } = self;
        let names = [namespace, name, uid];
        identities.get(
            hasher.hash_one(distinctive(names)),
            |known| known.names() == names,
            |known| hasher.hash_one(distinctive(known.names())),
            || {
                Arc::new(TargetIdentity {
                    namespace: namespace.map(|namespace| strings.intern(namespace, hasher)),
                    name: name.map(Arc::from),
                    uid: uid.map(Arc::from),
                })
            },
        )
    }
}

/// What tells identities apart: nearly always the uid alone, and reading one string less is a cache miss less.
fn distinctive([namespace, name, uid]: [Option<&str>; 3]) -> [Option<&str>; 2] {
    match uid {
        Some(_) => [uid, None],
        None => [namespace, name],
    }
}

/// The values of one type.
#[derive(Debug)]
struct Pool<V: ?Sized> {
    held: HashTable<Arc<V>>,
    /// How many there may be before unreferenced ones are removed.
    sweep_at: usize,
}

/// Below this, a sweep is not worth its time.
const SMALLEST_SWEEP: usize = 1024;

impl<V: ?Sized> Default for Pool<V> {
    fn default() -> Self {
        Self {
            held: HashTable::new(),
            sweep_at: SMALLEST_SWEEP,
        }
    }
}

impl Pool<str> {
    fn intern(&mut self, text: &str, hasher: &RandomState) -> Arc<str> {
        self.get(
            hasher.hash_one(text),
            |known| known == text,
            |known| hasher.hash_one(known),
            || text.into(),
        )
    }
}

impl<V: ?Sized> Pool<V> {
    /// The value with this hash that matches; made if there is none.
    fn get(
        &mut self,
        hash: u64,
        matches: impl Fn(&V) -> bool,
        rehash: impl Fn(&V) -> u64,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V> {
        if let Some(known) = self.held.find(hash, |known| matches(known)) {
            return Arc::clone(known);
        }
        if self.held.len() >= self.sweep_at {
            self.held.retain(|held| Arc::strong_count(held) > 1);
            // Twice what is left: a sweep costs no more than the growth that led to it.
            self.sweep_at = SMALLEST_SWEEP.max(2 * self.held.len());
        }
        let new = make();
        self.held.insert_unique(hash, Arc::clone(&new), |held| rehash(held));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one() {
        let mut interner = Interner::default();
        assert!(Arc::ptr_eq(&interner.intern("a"), &interner.intern("a")));
        assert!(!Arc::ptr_eq(&interner.intern("a"), &interner.intern("b")));
    }

    #[test]
    fn unreferenced_strings_are_dropped() {
        let mut interner = Interner::default();
        let held: Vec<_> = (0..100).map(|i| interner.intern(&format!("held-{i}"))).collect();
        for i in 0..100_000 {
            interner.intern(&i.to_string());
        }
        let strings = interner.strings.held.len();
        assert!(strings <= SMALLEST_SWEEP, "{strings}");
        assert!(Arc::ptr_eq(&interner.intern("held-7"), &held[7]));
    }

    #[test]
    fn equal_identities_are_one() {
        let mut interner = Interner::default();
        let identity = interner.intern_identity(Some("ns"), Some("pod"), Some("1"));
        assert!(Arc::ptr_eq(
            &identity,
            &interner.intern_identity(Some("ns"), Some("pod"), Some("1"))
        ));
        for (namespace, name, uid) in [
            (None, Some("pod"), Some("1")),
            (Some("ns"), Some("1"), Some("1")),
            (Some("ns"), Some("pod"), Some("2")),
            (Some("ns"), Some("pod"), None),
        ] {
            let other = interner.intern_identity(namespace, name, uid);
            assert_ne!(other, identity);
            let names = [&other.namespace, &other.name, &other.uid].map(Option::as_deref);
            assert_eq!(names, [namespace, name, uid]);
        }
        let namespace = identity.namespace.as_ref().unwrap();
        assert!(Arc::ptr_eq(namespace, &interner.intern("ns")), "it is interned too");
    }

    #[test]
    fn unreferenced_identities_are_dropped() {
        let mut interner = Interner::default();
        let held = interner.intern_identity(None, None, Some("held"));
        for i in 0..10_000 {
            interner.intern_identity(None, None, Some(&i.to_string()));
        }
        let identities = interner.identities.held.len();
        assert!(identities <= SMALLEST_SWEEP, "{identities}");
        assert!(Arc::ptr_eq(&interner.intern_identity(None, None, Some("held")), &held));
    }
}
