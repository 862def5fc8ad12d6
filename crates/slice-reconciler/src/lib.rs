//! The judgement: which slices to create, update and delete, for any kind of owner.
//!
//! Desired endpoints + existing slices → a plan, as a value. A controller applies it, a dry run prints it, a test compares
//! it. Equal inputs give equal plans; nothing here talks to a network, reads a clock or draws a random number.
//!
//! The rules are those of `docs/spec/generic-reconciler.md`; the reconciler itself is being written. What is certain
//! already is how endpoints are packed into slices: [`Packing`].

use std::num::NonZeroUsize;

/// How the endpoints of a group (one address type, one set of ports) are spread over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Fill slices up to a maximum, as for Services.
    Fill {
        /// Endpoints per slice.
        max: NonZeroUsize,
    },
    /// One slice per group, and no more endpoints than fit, as for mirrored Endpoints.
    OnePerGroup {
        /// Endpoints of the group that are published; the rest is counted as skipped.
        cap: NonZeroUsize,
    },
}
