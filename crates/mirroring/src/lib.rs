//! From hand-made Endpoints objects to slices.
//!
//! Who points at whom: an Endpoints object belongs to the Service of the same name, and is mirrored only while that
//! Service has no selector ([`mirrored`]); a slice names the Service by label and the Endpoints object by owner reference.
//! [`Subsets`] brings the object into canonical form, [`Desired`] is what its slices should hold, and [`Metadata`] is what
//! they carry. [`controller`] keeps the slices of a cluster that way. The rules are those of `docs/spec/mirroring.md`.
//!
//! ```
//! use std::{collections::BTreeSet, num::NonZeroUsize};
//!
//! use k8s_openapi::api::core::v1::{Endpoints, Service};
//! use mirroring::{Metadata, Subsets, options};
//! use serde_json::{from_value, json};
//! use slice_core::{AddressType, CompactSlice};
//! use slice_reconciler::{MetadataPolicy, Owner, PlanRequest, plan};
//!
//! // An Endpoints object, the Service of its name, and the slices that mirror it, as a client reads them.
//! let service: Service = from_value(json!({"spec": {"ports": [{"port": 80}]}}))?;
//! let endpoints: Endpoints = from_value(json!({
//!     "metadata": {"name": "db", "namespace": "shop", "uid": "51fe"},
//!     "subsets": [{
//!         "addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "elsewhere"}],
//!         "ports": [{"port": 5432}],
//!     }],
//! }))?;
//! let existing: Vec<CompactSlice> = Vec::new();
//! assert_eq!(mirroring::check_mirrored(&endpoints, Some(&service)), Ok(()));
//!
//! // What the slices should hold, and what cannot be published.
//! let max = NonZeroUsize::new(1000).unwrap();
//! let subsets = Subsets::read(&endpoints);
//! let desired = subsets.desired(max);
//! assert_eq!(desired.skipped_entries[0].to_string(), r#"address "elsewhere" is left out: it is not an IP address"#);
//! assert_eq!(desired.events[0].reason, "InvalidIPAddress");
//!
//! // What has to be written.
//! let metadata = MetadataPolicy::from(Metadata::of(&endpoints));
//! let request = PlanRequest {
//!     supported: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
//!     groups: desired.groups,
//!     ..PlanRequest::new(Owner::from_meta("v1", "Endpoints", &endpoints.metadata), &existing, &metadata, "db-")
//! };
//! let plan = plan(request, &reconcile_options(max))?;
//! assert_eq!(plan.writes.len(), 2, "one slice for each address family");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

pub mod controller;
mod desired;
mod eligibility;
mod metadata;
mod options;
#[cfg(test)]
mod plans;
mod skipped;
mod subsets;
#[cfg(test)]
mod testing;

pub use desired::{Desired, SubsetEndpoint, Warning};
pub use eligibility::{NotMirrored, check_eligible, check_mirrored, has_selector, is_mirror_of, is_ours};
pub use metadata::Metadata;
pub use options::reconcile_options;
pub use skipped::{AddressSkipReason, SkippedEntry};
pub use subsets::Subsets;

/// Value of the managed-by label on our slices, and so the lock: one writer per value.
pub const MANAGED_BY: &str = "endpointslicemirroring-controller.k8s.io";
/// Component that events come from.
pub const EVENT_SOURCE: &str = "endpoint-slice-mirroring-controller";
/// Prefix of the metrics' names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_mirroring_controller";
/// Label `name` of the work queue's metrics.
pub const WORK_QUEUE: &str = "endpoint_slice_mirroring";
