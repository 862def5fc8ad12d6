//! Plans which EndpointSlices to create, update and delete, for any kind of owner.
//!
//! Desired endpoints + existing slices → a [`Plan`], as a value. A controller applies it, a dry run prints it, a test compares
//! it. Equal inputs give equal plans; nothing here talks to a network, reads a clock or draws a random number. The rules are
//! those of `docs/spec/generic-reconciler.md`.
//!
//! What the API server would refuse is left out and reported ([`Plan::rejected`]); the rest goes on.
//!
//! Start with [`Reconciler`]: it plans for any kind of owner from a list of addresses, and [`Plan::apply`] executes the plan
//! with any asynchronous client. The program `examples/custom_owner.rs` shows both.
//!
//! Below it, [`plan`] takes a [`PlanRequest`] with everything spelled out: partitions, copied labels, trigger times, and [`hints`].
//! On the way to a [`Plan`], groups are packed into their existing slices ([`Packing`]), slices that would be deleted are
//! reused, hints are assigned, and the writes are put into an order in which no endpoint is missing in between. A set of slices
//! ends by [`plan_deletion`].

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

mod apply;
mod builder;
mod check;
mod deletion;
mod group;
pub mod hints;
mod label_value;
mod lists;
mod metadata;
mod naming;
mod order;
mod owner;
mod packing;
mod partition;
mod placeholder;
mod plan;
mod planned;
mod reconciler;
mod rejected;
mod reuse;
mod stage;
mod writes;

pub use apply::{Applied, WriteStatus, execute};
pub use deletion::plan_deletion;
pub use group::Group;
pub use label_value::label_value;
pub use metadata::{Annotations, MetadataPolicy, TriggerTime};
pub use owner::{Owner, OwnerReferenceOptions, Ownership};
pub use packing::{EndpointCounts, Packing};
pub use partition::Partition;
pub use plan::{Plan, PlanError, PlanOptions, PlanRequest, PlanStats, plan};
pub use reconciler::{Reconciler, ReconcilerBuilder};
pub use rejected::{InvalidEndpoint, InvalidLabel, Rejected};
pub use slice_core::{AddressType, EndpointSpec, Port};
pub use writes::{DeleteSlice, Operation, Write};
