//! Data types and validation for programs that write Kubernetes EndpointSlices.
//!
//! These are the values that `slice-reconciler` plans with: compact forms of API objects, their comparison and validation,
//! and two trackers. No client, no clock, no asynchronous runtime: time is an argument. To have slices written for your own
//! objects, start with `slice-reconciler`.
//!
//! ```text
//!                from_k8s    CompactSlice
//! EndpointSlice ──────────►  ├─ metadata      complete
//!               ◄──────────  ├─ AddressType
//!                 to_k8s     ├─ PortMapKey    Port …
//!                            └─ Endpoint …    Address …, Conditions, Target, Hints
//! ```
//!
//! | task | items |
//! |---|---|
//! | hold slices in memory | [`CompactSlice`], [`Endpoint`], [`Port`], [`Target`], [`Hints`], [`Interner`] |
//! | describe desired endpoints | [`EndpointSpec`], [`Port`], [`container_ports`], or [`EndpointSource`] for types of your own |
//! | match desired with existing endpoints | [`EndpointSet`] by identity, [`PortMapKey`] by ports |
//! | validate as the API server does | [`Address::validate`], [`PortMapKey::validate`], [`validation`], [`limits`] |
//! | recognise watch events of own writes | [`SliceTracker`] |
//! | compute the trigger-time annotation | [`TriggerTimeTracker`] |
//! | evaluate a label selector | [`label_selector_matches`] |
//! | release unused memory | [`Interner::sweep`], [`shrink_if_sparse`], [`is_sparse`] |
//! | name labels, annotations, event reasons | [`well_known`] |
//!
//! ```
//! use k8s_openapi::api::discovery::v1::EndpointSlice;
//! use slice_core::{CompactSlice, EndpointSet, EndpointSource as _, EndpointSpec};
//!
//! let existing: EndpointSlice = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "web-abcde"},
//!     "addressType": "IPv4",
//!     "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}, {"addresses": ["10.0.0.9"]}],
//! }))?;
//! let slice = CompactSlice::from(&existing);
//! let [first, second] = ["10.0.0.1", "10.0.0.2"].map(|ip| EndpointSpec::new(ip).ready(false).into_parts().0);
//!
//! // Desired and existing endpoints are matched by identity; then their attributes are compared.
//! let mut missing = EndpointSet::default();
//! missing.extend([&first, &second]);
//! let desired = missing.remove(&slice.endpoints[0]).expect("10.0.0.1 is desired");
//! assert!(!desired.equals_beyond_identity(&slice.endpoints[0]), "its readiness changed");
//! assert_eq!(missing.remove(&slice.endpoints[1]), None, "10.0.0.9 is not desired");
//! assert_eq!(missing.into_sorted(), [&second], "10.0.0.2 is in no slice");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The program at the end of the dependency chain selects the Kubernetes API version, by a feature of `k8s-openapi`.

#![deny(clippy::disallowed_methods, reason = "time is an argument")]

mod address;
mod address_type;
mod capacity;
mod endpoint;
mod endpoint_set;
mod endpoint_spec;
mod event_type;
mod hints;
mod identity;
mod interner;
pub mod limits;
mod port;
mod selector;
mod slice;
mod target;
mod tracker;
mod trigger_time;
pub mod validation;
pub mod well_known;

pub use address::{Address, Addresses, InvalidAddress};
pub use address_type::{AddressType, UnknownAddressType};
pub use capacity::{is_sparse, shrink_if_sparse};
pub use endpoint::{Conditions, Endpoint, EndpointSource};
pub use endpoint_set::EndpointSet;
pub use endpoint_spec::EndpointSpec;
pub use event_type::EventType;
pub use hints::{HintInterner, Hints};
pub use interner::Interner;
pub use port::{InvalidPorts, Port, PortMapKey, container_ports};
pub use selector::{InvalidSelector, label_selector_matches};
pub use slice::CompactSlice;
pub use target::{Target, TargetIdentity, TargetView};
pub use tracker::{ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome, WriteTicket};
pub use trigger_time::{
    InvalidTriggerTime, PendingTriggerTime, TriggerTimeTracker, format_trigger_time, parse_trigger_time,
};
