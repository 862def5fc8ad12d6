//! The known objects of a watch, for the detection of deletions by a relist.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use hashbrown::{HashTable, hash_table::Entry};
use slice_controller::ObjectRef;
use slice_core::{Interner, TargetIdentity, is_sparse};

/// Namespace, name and uid.
type Names<'a> = [Option<&'a str>; 3];

/// A set of objects, by namespace and name. Their identities are interned: an object that the controller or a slice interns as
/// well costs one pointer here.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    objects: HashTable<Arc<TargetIdentity>>,
    hasher: RandomState,
}

impl KnownObjects {
    /// Inserts an object; replaces one of the same name.
    pub(super) fn insert(&mut self, object: &ObjectRef, interner: &mut Interner) {
        let names = names(object);
        let same_name = |known: &Arc<TargetIdentity>| has_name(known, names);
        match self.objects.entry(hash(&self.hasher, names), same_name, |known| {
            hash(&self.hasher, borrowed(known))
        }) {
            Entry::Occupied(mut known) => {
                if borrowed(known.get()) != names {
                    *known.get_mut() = intern(names, interner);
                }
            }
            Entry::Vacant(vacant) => {
                vacant.insert(intern(names, interner));
            }
        }
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, object: &ObjectRef) {
        let names = names(object);
        if let Ok(known) = self
            .objects
            .find_entry(hash(&self.hasher, names), |known| has_name(known, names))
        {
            known.remove();
        }
        self.shrink_if_sparse();
    }

    fn shrink_if_sparse(&mut self) {
        if is_sparse(self.objects.len(), self.objects.capacity()) {
            let hasher = &self.hasher;
            self.objects
                .shrink_to(2 * self.objects.len(), |known| hash(hasher, borrowed(known)));
        }
    }

    /// The objects that `listed` lacks.
    pub(super) fn missing_from(&self, listed: &Self) -> Vec<ObjectRef> {
        let missing = self.objects.iter().filter(|known| !listed.contains(borrowed(known)));
        missing.map(|object| object_ref(object)).collect()
    }

    fn contains(&self, names: Names<'_>) -> bool {
        let found = self
            .objects
            .find(hash(&self.hasher, names), |known| has_name(known, names));
        found.is_some()
    }
}

fn hash(hasher: &RandomState, names: Names<'_>) -> u64 {
    hasher.hash_one(&names[..2])
}

fn has_name(known: &TargetIdentity, names: Names<'_>) -> bool {
    borrowed(known)[..2] == names[..2]
}

fn borrowed(names: &TargetIdentity) -> Names<'_> {
    [&names.namespace, &names.name, &names.uid].map(Option::as_deref)
}

/// In the form in which pods are interned, so that both share one identity: an empty field is none.
fn names(object: &ObjectRef) -> Names<'_> {
    fn text(text: &str) -> Option<&str> {
        Some(text).filter(|text| !text.is_empty())
    }
    [&object.namespace, &object.name, &object.uid].map(|field| text(field))
}

fn intern([namespace, name, uid]: Names<'_>, interner: &mut Interner) -> Arc<TargetIdentity> {
    interner.intern_identity(namespace, name, uid)
}

fn object_ref(names: &TargetIdentity) -> ObjectRef {
    let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().into();
    ObjectRef {
        namespace: text(&names.namespace),
        name: text(&names.name),
        uid: text(&names.uid),
        resource_version: Box::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(namespace: &str, name: &str, uid: &str) -> ObjectRef {
        ObjectRef {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
            resource_version: Box::default(),
        }
    }

    fn known(objects: &[ObjectRef], interner: &mut Interner) -> KnownObjects {
        let mut known = KnownObjects::default();
        for object in objects {
            known.insert(object, interner);
        }
        known
    }

    #[test]
    fn objects_missing_from_a_list_are_returned_by_namespace_and_name() {
        let mut interner = Interner::default();
        let pods = [
            object("a", "web", "1"),
            object("b", "web", "2"),
            object("", "node", "3"),
            object("a", "db", "4"),
        ];
        let mut before = known(&pods, &mut interner);
        before.remove(&object("a", "db", "4"));
        before.remove(&object("a", "never", "5"));
        let listed = known(&[object("b", "web", "another uid")], &mut interner);
        let mut missing = before.missing_from(&listed);
        missing.sort_by(|a, b| a.uid.cmp(&b.uid));
        assert_eq!(missing, [pods[0].clone(), pods[2].clone()]);
        for object in &missing {
            before.remove(object);
        }
        assert!(before.missing_from(&listed).is_empty());
    }

    /// Memory follows the objects that exist, not their highest number so far (I12).
    #[test]
    fn the_table_shrinks_with_the_objects() {
        let mut interner = Interner::default();
        let objects: Vec<_> = (0..10_000)
            .map(|i| object("ns", &i.to_string(), &i.to_string()))
            .collect();
        let mut known = known(&objects, &mut interner);
        for object in &objects[100..] {
            known.remove(object);
        }
        assert_eq!(known.objects.len(), 100);
        assert!(known.objects.capacity() <= 400, "{}", known.objects.capacity());
        assert!(objects[..100].iter().all(|object| known.contains(names(object))));
    }

    /// A recreated object has another uid; the identity of the old one is released.
    #[test]
    fn a_recreated_object_replaces_the_old_identity() {
        let mut interner = Interner::default();
        let (old, new) = (object("ns", "web", "1"), object("ns", "web", "2"));
        let [old_names, new_names] = [&old, &new].map(|object| intern(names(object), &mut interner));
        let mut known = known(&[old, new], &mut interner);
        let holders = |names| Arc::strong_count(names);
        assert_eq!((holders(&old_names), holders(&new_names)), (2, 3));
        known.remove(&object("ns", "web", "3"));
        assert_eq!(holders(&new_names), 2);
    }
}
