//! Ready keys of one lane, in turns by namespace.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use slice_controller::Key;

/// A queue in which namespaces take turns; within a namespace, keys are first in, first out. A namespace with thousands of
/// ready keys delays a key of another namespace by one turn.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    namespaces: HashMap<Arc<str>, Namespace>,
    /// The namespaces with ready keys, in the order of their next turns.
    turns: BTreeMap<u64, Arc<str>>,
    /// The last number of a turn.
    last_turn: u64,
}

#[derive(Debug)]
struct Namespace {
    turn: u64,
    /// By their position in the queue.
    keys: BTreeMap<u64, Key>,
}

impl FairQueue {
    /// Appends a key at a position that is higher than all before.
    pub(super) fn push(&mut self, key: Key, position: u64) {
        let namespace = Arc::clone(&key.namespace);
        let entry = self.namespaces.entry(Arc::clone(&namespace)).or_insert_with(|| {
            self.last_turn += 1;
            self.turns.insert(self.last_turn, namespace);
            Namespace {
                turn: self.last_turn,
                keys: BTreeMap::new(),
            }
        });
        entry.keys.insert(position, key);
    }

    /// Removes the key at a position.
    pub(super) fn remove(&mut self, namespace: &str, position: u64) {
        if let Some(entry) = self.namespaces.get_mut(namespace) {
            entry.keys.remove(&position);
            if entry.keys.is_empty() {
                self.turns.remove(&entry.turn);
                self.namespaces.remove(namespace);
            }
        }
    }

    /// The keys, each with the number of keys of its namespace before it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Key)> {
        let namespaces = self
            .turns
            .values()
            .filter_map(|namespace| self.namespaces.get(namespace));
        namespaces.flat_map(|namespace| namespace.keys.values().enumerate())
    }

    /// Whether a key of a namespace that `admits` accepts is ready.
    pub(super) fn is_ready(&self, admits: impl Fn(&str) -> bool) -> bool {
        self.turns.values().any(|namespace| admits(namespace))
    }

    /// Takes the first key of the first namespace that `admits` accepts, whose next turn is then the last.
    pub(super) fn pop(&mut self, admits: impl Fn(&str) -> bool) -> Option<Key> {
        let (turn, namespace) = self.turns.iter().find(|(_, namespace)| admits(namespace))?;
        let (turn, namespace) = (*turn, Arc::clone(namespace));
        self.turns.remove(&turn);
        let entry = self.namespaces.get_mut(&namespace);
        let entry = entry.expect("a namespace with a turn has an entry");
        let (_, key) = entry.keys.pop_first().expect("the entry of a namespace has keys");
        if entry.keys.is_empty() {
            self.namespaces.remove(&namespace);
        } else {
            self.last_turn += 1;
            entry.turn = self.last_turn;
            self.turns.insert(self.last_turn, namespace);
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(keys: &[&str]) -> FairQueue {
        let mut queue = FairQueue::default();
        for (position, key) in (0..).zip(keys) {
            let (namespace, name) = key.split_once('/').unwrap();
            queue.push(Key::new(namespace, name), position);
        }
        queue
    }

    fn drain(queue: &mut FairQueue, admits: impl Fn(&str) -> bool) -> Vec<String> {
        std::iter::from_fn(|| queue.pop(&admits))
            .map(|key| key.to_string())
            .collect()
    }

    #[test]
    fn namespaces_take_turns_and_their_keys_are_first_in_first_out() {
        let mut queue = queue(&["a/1", "a/2", "a/3", "b/1", "c/1", "b/2"]);
        assert_eq!(drain(&mut queue, |_| true), ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]);
        assert!(queue.namespaces.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn a_namespace_that_is_not_admitted_keeps_its_turn() {
        let mut queue = queue(&["a/1", "b/1", "b/2"]);
        assert!(!queue.is_ready(|_| false));
        assert_eq!(drain(&mut queue, |namespace| namespace != "a"), ["b/1", "b/2"]);
        assert_eq!(drain(&mut queue, |_| true), ["a/1"]);
    }

    #[test]
    fn a_removed_key_takes_its_namespace_with_it() {
        let mut queue = queue(&["a/1", "b/1", "b/2"]);
        queue.remove("a", 0);
        queue.remove("b", 1);
        queue.remove("c", 7);
        assert_eq!(drain(&mut queue, |_| true), ["b/2"]);
    }
}
