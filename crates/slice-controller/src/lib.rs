//! The seam between a controller and what runs it.
//!
//! A [`Controller`] is a state machine: it takes changes of the objects it watches and answers with keys to look at; given
//! a key and its slices, it answers with a plan. Tasks, sockets, retries and clocks belong to who runs it, which is
//! `slice-runtime`, or a test.

mod controller;
mod event;
mod failures;
mod interner;
mod key;
mod metadata;
mod source;
mod wakes;

pub use controller::{Change, Controller, Failure, Outcome, Sync, SyncContext, Writes};
pub use event::Event;
pub use failures::describe_failures;
pub use interner::Interner;
pub use key::Key;
pub use metadata::{AnnotatedMetadata, SlimMetadata};
pub use source::{Identity, Seen, Source};
pub use wakes::Wakes;
