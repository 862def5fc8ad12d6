//! A cache of watched objects.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::Key;

/// The objects of one watch by namespace and key, for controllers without an index of their own.
#[derive(Clone, Debug)]
pub struct ObjectStore<T>(HashMap<Arc<str>, BTreeMap<Key, T>>);

impl<T> Default for ObjectStore<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: PartialEq> ObjectStore<T> {
    /// Stores an object. Returns its key if it is new or has changed.
    pub fn apply(&mut self, key: Key, object: T) -> Option<Key> {
        let objects = self.0.entry(Arc::clone(&key.namespace)).or_default();
        let changed = objects.get(&key) != Some(&object);
        objects.insert(key.clone(), object);
        changed.then_some(key)
    }

    /// Removes an object. Returns its key if it was stored.
    pub fn delete(&mut self, key: Key) -> Option<Key> {
        let objects = self.0.get_mut(&key.namespace)?;
        objects.remove(&key)?;
        if objects.is_empty() {
            self.0.remove(&key.namespace);
        }
        Some(key)
    }

    /// The object of this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.0.get(&key.namespace)?.get(key)
    }

    /// The objects of a namespace, in the order of their keys.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&Key, &T)> {
        self.0.get(namespace).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_and_delete_return_the_key_of_changes_only() {
        let mut store = ObjectStore::default();
        let key = |name: &str| Key::new("ns", name);
        assert_eq!(store.apply(key("a"), 1), Some(key("a")));
        assert_eq!(store.apply(key("a"), 1), None);
        assert_eq!(store.apply(key("a"), 2), Some(key("a")));
        store.apply(Key::new("other", "b"), 3);
        let in_namespace: Vec<_> = store.in_namespace("ns").collect();
        assert_eq!(in_namespace, [(&key("a"), &2)]);
        assert_eq!((store.delete(key("a")), store.delete(key("a"))), (Some(key("a")), None));
        assert_eq!(store.get(&key("a")), None);
        assert_eq!(store.0.len(), 1, "namespaces without objects take no memory");
    }
}
