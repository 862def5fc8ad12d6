//! The machinery under the controllers: the only crate that talks to a network.
//!
//! A change travels one way: watch → slim decode → index → queue → desired → plan → write. This crate owns both ends and
//! the queue in between (tasks, sockets, retries, clocks); a controller owns what lies between them and does no I/O.
//! It is being written; what is certain already is what travels through the queue: a [`Key`].

use std::fmt;

/// What is looked at in one go: an owner of slices, by name. Never an event: what happened is read from the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The owner's namespace.
    pub namespace: String,
    /// The owner's name.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
