//! The judgement: which slices to create, update and delete, for any kind of owner.
//!
//! Desired endpoints + existing slices → a [`Plan`], as a value. A controller applies it, a dry run prints it, a test compares
//! it. Equal inputs give equal plans; nothing here talks to a network, reads a clock or draws a random number. The rules are
//! those of `docs/spec/generic-reconciler.md`.
//!
//! On the way from [`Request`] to [`Plan`]: groups are packed into the slices they have ([`Packing`]), slices that nobody needs
//! are reused, [`hints`] are given, and the writes are put into an order in which no endpoint is missing in between.
//!
//! ```
//! use std::{collections::BTreeSet, num::NonZeroUsize};
//!
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, PortMapKey};
//! use slice_reconciler::{
//!     Group, MetadataPolicy, Operation, Options, Owner, OwnerFlags, Ownership, Packing, Partition, Request, TriggerTime,
//!     plan,
//! };
//!
//! // Any kind of owner will do.
//! let owner = Owner {
//!     api_version: "example.com/v1", kind: "Pool", namespace: "shop", name: "db", uid: "3f2a", terminating: false,
//! };
//! let addresses = ["10.0.0.1", "10.0.0.2"].map(|ip| Endpoint {
//!     addresses: Address::parse_ip(ip).into_iter().collect(),
//!     ..Endpoint::default()
//! });
//! let mut endpoints = EndpointSet::default();
//! endpoints.extend(addresses.iter().map(Endpoint::view));
//!
//! let metadata = MetadataPolicy {
//!     reserved: [("example.com/pool".to_owned(), Some("db".to_owned()))].into(),
//!     ..MetadataPolicy::default()
//! };
//! let request = Request {
//!     owner,
//!     partition: Partition::default(),
//!     supported: BTreeSet::from([AddressType::IPv4]),
//!     groups: vec![Group { address_type: AddressType::IPv4, ports: PortMapKey::new([]), endpoints }],
//!     existing: &[],
//!     metadata: &metadata,
//!     hints: None,
//!     trigger_time: TriggerTime::Unmanaged,
//!     name_prefix: "db-",
//!     names_taken: &[],
//! };
//! let options = Options {
//!     packing: Packing::Fill { max: NonZeroUsize::MIN.saturating_add(99) },
//!     placeholder: false,
//!     ownership: Ownership::Enforce,
//!     owner_flags: OwnerFlags::default(),
//! };
//! let plan = plan(request, &options)?;
//! let Operation::Create(slice) = &plan.writes[0].operation else { panic!("nothing was there") };
//! assert_eq!(slice.endpoints.len(), 2);
//! # Ok::<(), slice_reconciler::PlanError>(())
//! ```

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
pub use plan::{Options, Plan, PlanError, Request, Summary, plan, plan_with_topology};
pub use writes::{Deletion, Operation, Write};
