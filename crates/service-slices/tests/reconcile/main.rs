//! From a Service, its pods and its existing slices to writes: T-REC-01…64 of `docs/spec/service-slices.md` and the equivalent
//! cases of `docs/spec/generic-reconciler.md` §15.
//!
//! A plan borrows the existing slices, so the compiler guarantees that cached objects are not modified. The tracker and the
//! responses of an API server are tested with the controllers.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod basics;
mod controller;
mod fixtures;
mod gaps;
mod harness;
mod hints;
mod owners;
mod packing;
