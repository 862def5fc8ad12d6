//! The judgement: which slices to create, update and delete, for any kind of owner.
//!
//! Desired endpoints + existing slices → a [`Plan`], as a value. A controller applies it, a dry run prints it, a test compares
//! it. Equal inputs give equal plans; nothing here talks to a network, reads a clock or draws a random number. The rules are
//! those of `docs/spec/generic-reconciler.md`.
//!
//! What the API server would refuse is left out and named ([`Plan::left_out`]); the rest goes on. A set of slices ends by
//! [`plan_deletion`].
//!
//! On the way from [`Request`] to [`Plan`]: groups are packed into the slices they have ([`Packing`]), slices that nobody needs
//! are reused, [`hints`] are given, and the writes are put into an order in which no endpoint is missing in between.
//!
//! A controller does this whenever something about an owner changes:
//!
//! ```
//! use std::collections::BTreeSet;
//!
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, PortMapKey, Slice, names};
//! use slice_reconciler::{Group, MetadataPolicy, Operation, Options, Owner, Request, plan};
//!
//! // For whom: any kind of object will do.
//! let pool = ObjectMeta {
//!     namespace: Some("shop".into()), name: Some("db".into()), uid: Some("3f2a".into()), ..ObjectMeta::default()
//! };
//! let owner = Owner::of("example.com/v1", "Pool", &pool);
//!
//! // What is wanted: endpoints, by address type and ports.
//! let addresses = ["10.0.0.1", "10.0.0.2"].map(|ip| Endpoint {
//!     addresses: Address::parse_ip(ip).into_iter().collect(),
//!     ..Endpoint::default()
//! });
//! let mut endpoints = EndpointSet::default();
//! endpoints.extend(addresses.iter().map(Endpoint::view));
//! let group = Group { address_type: AddressType::IPv4, ports: PortMapKey::new([]), endpoints };
//!
//! // What is there: the slices with these labels, read by a client.
//! let metadata = MetadataPolicy {
//!     reserved: [(names::MANAGED_BY_LABEL, "pool-controller.example.com"), ("example.com/pool", "db")]
//!         .map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into(),
//!     ..MetadataPolicy::default()
//! };
//! let existing: Vec<Slice> = Vec::new();
//!
//! let request = Request {
//!     supported: BTreeSet::from([AddressType::IPv4]),
//!     groups: vec![group],
//!     ..Request::new(owner, &existing, &metadata, "db-")
//! };
//! let plan = plan(request, &Options::default())?;
//!
//! // What has to be written, for the client to send.
//! let [write] = &plan.writes[..] else { panic!("one slice is enough") };
//! let Operation::Create(slice) = &write.operation else { panic!("there was none") };
//! let slice = slice.to_api();
//! assert_eq!(slice.address_type, "IPv4");
//! assert!(slice.metadata.name.is_some_and(|name| name.starts_with("db-")));
//! # Ok::<(), slice_reconciler::PlanError>(())
//! ```
//!
//! The program `examples/custom_owner.rs` goes on from here: it carries plans out, and shows that nothing is left to do then.

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

mod builder;
mod check;
mod deletion;
mod group;
pub mod hints;
mod label_value;
mod left_out;
mod lists;
mod metadata;
mod naming;
mod order;
mod owner;
mod packing;
mod partition;
mod placeholder;
mod plan;
mod reuse;
mod stage;
mod writes;

pub use deletion::plan_deletion;
pub use group::Group;
pub use label_value::label_value;
pub use left_out::{EndpointProblem, LabelProblem, LeftOut};
pub use metadata::{Annotations, MetadataPolicy, TriggerTime};
pub use owner::{Owner, OwnerFlags, Ownership};
pub use packing::{Changes, Packing};
pub use partition::Partition;
pub use plan::{Options, Plan, PlanError, Request, Summary, draft, draft_with_topology, plan, plan_with_topology};
pub use writes::{Deletion, Operation, Write};
