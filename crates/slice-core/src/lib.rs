//! Data types and validation that everything which writes EndpointSlices shares.
//!
//! To have slices written for objects of yours, start with the crate `slice-reconciler`; here are the values it works on:
//!
//! * [`Slice`], [`Endpoint`], [`Port`], [`Address`]: an EndpointSlice and its parts in compact, canonical form, read from
//!   `k8s_openapi`'s type and serialized as it;
//! * [`Target`] and [`Hints`] of an endpoint; [`Interner`], by which slices and the objects behind them share strings;
//! * [`EndpointSource`]: anything that can be read as an endpoint; [`EndpointSet`]: endpoints by identity;
//!   [`PortMapKey`]: ports as a set;
//! * [`label_selector_matches`]: evaluation of a label selector;
//! * [`SliceTracker`]: expectations about our own writes; [`TriggerTimeTracker`]: when a change began;
//! * [`names`]: labels, annotations, event reasons; [`limits`] and [`spelling`]: what the API server accepts.
//!
//! No client, no clock, no asynchronous runtime: time and randomness come in as arguments. Which version of the Kubernetes
//! API is meant is for the program to choose, by a feature of `k8s-openapi`.
//!
//! ```
//! use k8s_openapi::api::discovery::v1::EndpointSlice;
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, EndpointSource as _, CompactSlice};
//!
//! // An existing slice, as a client reads it.
//! let existing: EndpointSlice = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "web-abcde"},
//!     "addressType": "IPv4",
//!     "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}, {"addresses": ["10.0.0.9"]}],
//! }))?;
//! let slice = CompactSlice::from(&existing);
//! assert_eq!(slice.address_type, Ok(AddressType::IPv4));
//!
//! // The desired endpoints.
//! let desired = ["10.0.0.1", "10.0.0.2"].map(|ip| Endpoint {
//!     addresses: Address::parse_ip(ip).into_iter().collect(),
//!     ..Endpoint::default()
//! });
//! let mut missing = EndpointSet::default();
//! missing.extend(&desired);
//!
//! // Endpoints are matched by identity; their attributes are compared afterwards.
//! let [first, second] = &slice.endpoints[..] else { panic!("two endpoints") };
//! let found = missing.take(&first).expect("10.0.0.1 is desired");
//! assert!(!found.equals_beyond_identity(&first), "the desired one has no ready condition");
//! assert_eq!(missing.take(&second), None, "10.0.0.9 is not desired");
//! assert_eq!(missing.into_sorted(), [&desired[1]]);
//! # Ok::<(), serde_json::Error>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

mod address;
mod address_type;
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
pub use endpoint::{Conditions, Endpoint, EndpointSource};
pub use endpoint_set::EndpointSet;
pub use endpoint_spec::EndpointSpec;
pub use event_type::EventType;
pub use hints::{HintInterner, Hints};
pub use interner::Interner;
pub use port::{InvalidPorts, Port, PortMapKey};
pub use selector::{InvalidSelector, label_selector_matches};
pub use slice::CompactSlice;
pub use target::{Target, TargetIdentity, TargetView};
pub use tracker::{ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome, WriteTicket};
pub use trigger_time::{
    InvalidTriggerTime, PendingTriggerTime, TriggerTimeTracker, format_trigger_time, parse_trigger_time,
};
