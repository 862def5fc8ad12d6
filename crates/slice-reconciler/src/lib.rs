//! Plans which EndpointSlices to create, update and delete, for any kind of owner.
//!
//! Input: the desired endpoints of an owner and its existing slices. Output: a [`Plan`], the writes in dependency order. A
//! plan is a value: apply it, print it in a dry run, compare it in a test. The crate is pure: no client, no clock, no
//! random numbers, and equal inputs give equal plans. The rules are in `docs/spec/generic-reconciler.md`.
//!
//! * [`Reconciler`] plans from a list of addresses and ports. Start here.
//! * [`plan()`] plans from a [`PlanRequest`], with all options: partitions, copied labels, trigger times, hints.
//! * [`Plan::apply`] executes a plan with any asynchronous client.
//! * [`hints`] assigns topology hints and traffic distribution.
//! * [`plan_deletion`] deletes all slices of an owner.
//! * [`Plan::rejected`] reports endpoints, ports and labels that the API server would reject; the plan omits them.
//!
//! ```
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! use slice_reconciler::{EndpointSpec, Owner, Port, Reconciler};
//!
//! let reconciler = Reconciler::builder("pool-controller.example.com").owner_label("example.com/pool").build();
//! let pool = ObjectMeta {
//!     namespace: Some("shop".into()), name: Some("db".into()), uid: Some("3f2a".into()), ..ObjectMeta::default()
//! };
//! let owner = Owner::from_meta("example.com/v1", "Pool", &pool);
//! let endpoints = ["10.0.0.1", "fd00::1"].map(|ip| EndpointSpec::new(ip).ready(true).node("node-1"));
//! let existing = []; // the slices of the namespace, from a cache or a list request
//! let plan = reconciler.plan(owner, [([Port::tcp("postgres", 5432)], endpoints)], &existing)?;
//! assert_eq!(plan.writes.len(), 2, "one slice for each address type");
//! # Ok::<(), slice_reconciler::PlanError>(())
//! ```
//!
//! Private modules by step: `plan` runs all; `address_type_planner` plans one address type with `packing`, `placeholder` and
//! `reuse`; `hints` assigns hints; `writes` and `order` order the writes.

#![deny(clippy::disallowed_methods, reason = "time is an argument")]

mod address_type_planner;
mod apply;
mod builder;
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
mod validate;
mod writes;

pub use apply::{Applied, MAX_IN_FLIGHT, WriteStatus, execute};
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
