//! One allocation for equal strings, and for the names of one object.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use hashbrown::HashTable;
use slice_core::{ObjectName, Share};

/// Hands out one `Arc<str>` for all equal strings, and one `Arc` for all equal names of objects. Forgets what nobody else
/// holds any more.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Pool<str>,
    objects: Pool<ObjectName<Arc<str>>>,
    hasher: RandomState,
}

impl Interner {
    /// The string of this text.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        self.strings.text(text, &self.hasher)
    }
}

/// Shares names of objects as well as strings.
impl<I: AsRef<str>> Share<I, Arc<str>> for Interner {
    fn text(&mut self, text: I) -> Arc<str> {
        self.intern(text.as_ref())
    }

    fn object(&mut self, names: ObjectName<I>) -> Arc<ObjectName<Arc<str>>> {
        let names = names.map(AsRef::as_ref);
        let Self {
            strings,
            objects,
            hasher,
        } = self;
        objects.get(
            hasher.hash_one(names),
            |known| known.map(|text| &**text) == names,
            |known| hasher.hash_one(known.map(|text| &**text)),
            // Hardly anybody else has its name or uid.
            || {
                Arc::new(ObjectName {
                    namespace: names.namespace.map(|namespace| strings.text(namespace, hasher)),
                    name: names.name.map(Arc::from),
                    uid: names.uid.map(Arc::from),
                })
            },
        )
    }
}

/// What is handed out.
#[derive(Debug)]
struct Pool<V: ?Sized> {
    held: HashTable<Arc<V>>,
    /// How much there may be before that is looked for that nobody holds.
    sweep_at: usize,
}

/// Below this it is not worth looking.
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
    fn text(&mut self, text: &str, hasher: &RandomState) -> Arc<str> {
        self.get(
            hasher.hash_one(text),
            |known| known == text,
            |known| hasher.hash_one(known),
            || text.into(),
        )
    }
}

impl<V: ?Sized> Pool<V> {
    /// What has this hash and is the right one; made if it is not there.
    fn get(
        &mut self,
        hash: u64,
        is_it: impl Fn(&V) -> bool,
        rehash: impl Fn(&V) -> u64,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V> {
        if let Some(known) = self.held.find(hash, |known| is_it(known)) {
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
    fn what_nobody_holds_is_forgotten() {
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
    fn equal_names_are_one_object() {
        let names = ObjectName {
            namespace: Some("ns"),
            name: Some("pod"),
            uid: Some("1"),
        };
        let mut interner = Interner::default();
        let object = interner.object(names);
        assert_eq!(object.map(|text| &**text), names);
        assert!(Arc::ptr_eq(&object, &interner.object(names)));
        for other in [
            ObjectName {
                namespace: None,
                ..names
            },
            ObjectName {
                name: Some("1"),
                ..names
            },
            ObjectName {
                uid: Some("2"),
                ..names
            },
        ] {
            assert_eq!(interner.object(other).map(|text| &**text), other);
        }
        let namespace = object.namespace.as_ref().unwrap();
        assert!(Arc::ptr_eq(namespace, &interner.intern("ns")), "as with other strings");
    }

    #[test]
    fn names_that_nobody_holds_are_forgotten() {
        fn names(uid: &str) -> ObjectName<&str> {
            ObjectName {
                namespace: None,
                name: None,
                uid: Some(uid),
            }
        }
        let mut interner = Interner::default();
        let held = interner.object(names("held"));
        for i in 0..10_000 {
            interner.object(names(&i.to_string()));
        }
        let objects = interner.objects.held.len();
        assert!(objects <= SMALLEST_SWEEP, "{objects}");
        assert!(Arc::ptr_eq(&interner.object(names("held")), &held));
    }
}
