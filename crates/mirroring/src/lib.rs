//! The EndpointSlice mirroring controller of kube-controller-manager as a library without I/O.
//!
//! An Endpoints object belongs to the Service of the same name. While that Service has no selector, the controller mirrors
//! the object into EndpointSlices: each slice names the Service by label and the Endpoints object by owner reference. The
//! rules are in `docs/spec/mirroring.md`.
//!
//! From an Endpoints object to writes:
//!
//! 1. [`check_mirrored`]: is the object mirrored, and if not, why ([`NotMirrored`])?
//! 2. [`Subsets`]: its subsets in canonical form.
//! 3. [`Desired`]: the desired endpoints by address type and ports, the [`SkippedEntry`]s and the [`Warning`] events.
//! 4. [`Metadata`] and [`reconcile_options`]: labels, annotations and plan options for [`slice_reconciler::plan`].
//!
//! [`controller::MirroringController`] does all of this for a whole cluster. It implements [`slice_controller::Controller`]:
//! indexes, work queue keys, plans, events and metrics.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use mirroring::{Metadata, Subsets, reconcile_options};
//! use serde_json::{from_value, json};
//! use slice_core::AddressType;
//! use slice_reconciler::{MetadataPolicy, Owner, PlanRequest, plan};
//!
//! let endpoints = from_value(json!({
//!     "metadata": {"name": "db", "namespace": "shop", "uid": "51fe"},
//!     "subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "bad"}], "ports": [{"port": 5432}]}],
//! }))?;
//! let max = NonZeroUsize::new(1000).unwrap();
//! let subsets = Subsets::read(&endpoints);
//! let desired = subsets.desired(max);
//! assert_eq!(desired.skipped_entries[0].to_string(), r#"address "bad" is skipped: it is not an IP address"#);
//!
//! let metadata = MetadataPolicy::from(Metadata::of(&endpoints));
//! let request = PlanRequest {
//!     address_types: [AddressType::IPv4, AddressType::IPv6].into(),
//!     desired: desired.groups,
//!     ..PlanRequest::new(Owner::from_meta("v1", "Endpoints", &endpoints.metadata), &[], &metadata, "db-")
//! };
//! assert_eq!(plan(request, &reconcile_options(max))?.writes.len(), 2, "one slice per address type");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time is an argument")]

pub mod controller;
mod desired;
mod eligibility;
#[cfg(test)]
mod fixtures;
mod metadata;
mod options;
mod skipped;
mod subsets;
#[cfg(test)]
mod tests;

pub use desired::{Desired, SubsetEndpoint, Warning};
pub use eligibility::{NotMirrored, check_eligible, check_mirrored, has_selector, is_mirror_of, is_ours};
pub use metadata::Metadata;
pub use options::reconcile_options;
pub use skipped::{AddressSkipReason, SkippedEntry};
pub use subsets::Subsets;

/// Value of the managed-by label of our slices. It acts as a lock: one writer per value.
pub const MANAGED_BY: &str = "endpointslicemirroring-controller.k8s.io";
/// Component in the source of recorded events.
pub const EVENT_SOURCE: &str = "endpoint-slice-mirroring-controller";
/// Prefix of metric names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_mirroring_controller";
/// Label `name` of the work queue metrics.
pub const WORK_QUEUE: &str = "endpoint_slice_mirroring";
/// The resource that owns our slices, in the core group.
pub const OWNER_RESOURCE: &str = "endpoints";
/// Default of the flag `--secure-port` of the program.
pub const SECURE_PORT: u16 = 10268;
