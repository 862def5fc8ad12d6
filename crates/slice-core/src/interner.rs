//! Interning of strings and object identities.

use std::{hash::BuildHasher as _, sync::Arc};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::{TargetIdentity, is_sparse};

/// Interns strings and object identities: one `Arc` for equal values. Values that are referenced nowhere else are dropped, by
/// [`sweep`](Self::sweep) and when many new ones are interned.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Pool<str>,
    identities: Pool<TargetIdentity>,
    hasher: RandomState,
}

impl Interner {
    /// The interned string.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        self.strings.intern(text, &self.hasher)
    }

    /// The interned identity. Of its strings, only the namespace is interned: name and uid are rarely shared.
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
        let fields = [namespace, name, uid];
        identities.get(
            hasher.hash_one(hash_input(fields)),
            |known| known.fields() == fields,
            |known| hasher.hash_one(hash_input(known.fields())),
            || {
                Arc::new(TargetIdentity {
                    namespace: namespace.map(|namespace| strings.intern(namespace, hasher)),
                    name: name.map(Arc::from),
                    uid: uid.map(Arc::from),
                })
            },
        )
    }

    /// Drops values that are referenced nowhere else, a part of them per call, and shrinks the tables. To be called
    /// periodically: 64 calls visit every value.
    pub fn sweep(&mut self) {
        let Self {
            strings,
            identities,
            hasher,
        } = self;
        identities.sweep(|known| hasher.hash_one(hash_input(known.fields())));
        strings.sweep(|known| hasher.hash_one(known));
    }
}

/// The hashed part of an identity: the uid alone where there is one, since each further string may cost a cache miss.
fn hash_input([namespace, name, uid]: [Option<&str>; 3]) -> [Option<&str>; 2] {
    match uid {
        Some(_) => [uid, None],
        None => [namespace, name],
    }
}

/// The interned values of one type.
#[derive(Debug)]
struct Pool<V: ?Sized> {
    values: HashTable<Arc<V>>,
    /// The number of values at which unreferenced ones are removed.
    sweep_at: usize,
    /// The bucket of `values` at which the next call of `sweep` continues.
    next_bucket: usize,
}

/// The minimum number of values to sweep.
const SWEEP_MIN: usize = 1024;
/// The number of calls of `sweep` that visit every value. Each visit may cost a cache miss, so that visiting all values at once
/// would delay the caller.
const SWEEP_PARTS: usize = 64;

impl<V: ?Sized> Default for Pool<V> {
    fn default() -> Self {
        Self {
            values: HashTable::new(),
            sweep_at: SWEEP_MIN,
            next_bucket: 0,
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
    /// Finds the value with this hash that matches, or inserts a new one.
    fn get(
        &mut self,
        hash: u64,
        matches: impl Fn(&V) -> bool,
        rehash: impl Fn(&V) -> u64,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V> {
        if let Some(known) = self.values.find(hash, |known| matches(known)) {
            return Arc::clone(known);
        }
        if self.values.len() >= self.sweep_at {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.end_sweep(&rehash);
        }
        let new = make();
        self.values.insert_unique(hash, Arc::clone(&new), |value| rehash(value));
        new
    }

    /// Removes the unreferenced values of the next buckets.
    fn sweep(&mut self, rehash: impl Fn(&V) -> u64) {
        let buckets = self.values.num_buckets();
        let end = buckets.min(self.next_bucket + SWEEP_MIN.max(buckets / SWEEP_PARTS));
        for bucket in self.next_bucket..end {
            if let Ok(value) = self.values.get_bucket_entry(bucket)
                && Arc::strong_count(value.get()) == 1
            {
                value.remove();
            }
        }
        self.next_bucket = end;
        if end == buckets {
            self.end_sweep(rehash);
        }
    }

    /// Shrinks the table after unreferenced values were removed.
    fn end_sweep(&mut self, rehash: impl Fn(&V) -> u64) {
        let len = self.values.len();
        if is_sparse(len, self.values.capacity()) {
            self.values.shrink_to(2 * len, |value| rehash(value));
        }
        // Twice the remaining number: amortized, a sweep costs no more than the inserts before it.
        self.sweep_at = SWEEP_MIN.max(2 * len);
        self.next_bucket = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_shared() {
        let mut interner = Interner::default();
        assert!(Arc::ptr_eq(&interner.intern("a"), &interner.intern("a")));
        assert!(!Arc::ptr_eq(&interner.intern("a"), &interner.intern("b")));
    }

    #[test]
    fn unreferenced_strings_are_dropped() {
        let mut interner = Interner::default();
        let referenced: Vec<_> = (0..100).map(|i| interner.intern(&format!("referenced-{i}"))).collect();
        for i in 0..100_000 {
            interner.intern(&i.to_string());
        }
        let strings = interner.strings.values.len();
        assert!(strings <= SWEEP_MIN, "{strings}");
        assert!(Arc::ptr_eq(&interner.intern("referenced-7"), &referenced[7]));
    }

    #[test]
    fn equal_identities_are_shared() {
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
        assert!(
            Arc::ptr_eq(namespace, &interner.intern("ns")),
            "the namespace is interned"
        );
    }

    #[test]
    fn unreferenced_identities_are_dropped() {
        let mut interner = Interner::default();
        let referenced = interner.intern_identity(None, None, Some("referenced"));
        for i in 0..10_000 {
            interner.intern_identity(None, None, Some(&i.to_string()));
        }
        let identities = interner.identities.values.len();
        assert!(identities <= SWEEP_MIN, "{identities}");
        let found = interner.intern_identity(None, None, Some("referenced"));
        assert!(Arc::ptr_eq(&found, &referenced));
    }

    /// Memory follows the values that are referenced, not their highest number so far (I12).
    #[test]
    fn sweeps_release_what_is_no_longer_referenced() {
        let mut interner = Interner::default();
        let mut referenced: Vec<_> = (0..100_000)
            .map(|i| {
                let name = i.to_string();
                let identity = interner.intern_identity(Some("ns"), Some(&name), Some(&name));
                (interner.intern(&name), identity)
            })
            .collect();
        referenced.truncate(1000);
        for _ in 0..=SWEEP_PARTS {
            let before = interner.strings.values.len();
            interner.sweep();
            let dropped = before - interner.strings.values.len();
            assert!(dropped < 100_000 / 16, "{dropped} at once");
        }
        // The namespace is the one further string.
        let sizes = (interner.strings.values.len(), interner.identities.values.len());
        assert_eq!(sizes, (1001, 1000));
        let capacities = [
            interner.strings.values.capacity(),
            interner.identities.values.capacity(),
        ];
        assert!(capacities.iter().all(|capacity| *capacity <= 4000), "{capacities:?}");
        for (i, (name, identity)) in referenced.iter().enumerate() {
            let text = i.to_string();
            assert!(Arc::ptr_eq(name, &interner.intern(&text)));
            let found = interner.intern_identity(Some("ns"), Some(&text), Some(&text));
            assert!(Arc::ptr_eq(identity, &found));
        }
    }
}
