//! From a Service, its pods and its slices to what is written: T-REC-01…64 of `docs/spec/service-slices.md` and their likes in
//! `docs/spec/generic-reconciler.md` §15.
//!
//! Stored slices are borrowed by every plan, so that "cached objects are untouched" is what the compiler sees to. What a
//! tracker learns and what an API server answers is the controllers' to show.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod basics;
mod controller;
mod gaps;
mod hints;
mod owners;
mod packing;
mod world;
