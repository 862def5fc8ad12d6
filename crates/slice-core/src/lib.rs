//! The words that everything which writes EndpointSlices shares.
//!
//! To have slices written for objects of yours, start with the crate `slice-reconciler`; here are the values it works on:
//!
//! * [`Address`], [`Endpoint`], [`Port`], [`Slice`]: what a slice holds, compact, in canonical form, convertible from and
//!   to `k8s_openapi`'s types, or borrowed from them ([`Text`] says which);
//! * [`Target`], what is behind an endpoint, and [`Hints`], for whom it is meant; [`Share`]: who makes their strings;
//! * [`EndpointRef`]: an endpoint borrowed from whatever it is derived from; [`EndpointSet`]: endpoints by identity;
//!   [`PortMapKey`]: ports as a set;
//! * [`selects`]: which objects a label selector means;
//! * [`SliceTracker`]: which writes of ours are still to be seen; [`TriggerTimes`]: when a change began;
//! * [`names`]: labels, annotations, event reasons; [`limits`] and [`spelling`]: what the API server accepts.
//!
//! No client, no clock, no asynchronous runtime: time and randomness come in as arguments. Which version of the Kubernetes
//! API is meant is for the program to choose, by a feature of `k8s-openapi`.
//!
//! ```
//! use k8s_openapi::api::discovery::v1::EndpointSlice;
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, EndpointSource as _, Slice};
//!
//! // What is there, as a client reads it.
//! let stored: EndpointSlice = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "web-abcde"},
//!     "addressType": "IPv4",
//!     "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}, {"addresses": ["10.0.0.9"]}],
//! }))?;
//! let slice = Slice::from(&stored);
//! assert_eq!(slice.address_type, Ok(AddressType::IPv4));
//!
//! // What is wanted.
//! let wanted = ["10.0.0.1", "10.0.0.2"].map(|ip| Endpoint {
//!     addresses: Address::parse_ip(ip).into_iter().collect(),
//!     ..Endpoint::default()
//! });
//! let mut missing = EndpointSet::default();
//! missing.extend(wanted.iter().map(Endpoint::view));
//!
//! // Endpoints are matched by what they are; how they are is another question.
//! let found = missing.take(&slice.endpoints[0].view()).expect("10.0.0.1 is wanted");
//! assert!(!found.equals_beyond_identity(&slice.endpoints[0].view()), "it does not say whether it is ready");
//! assert_eq!(missing.take(&slice.endpoints[1].view()), None, "10.0.0.9 is not wanted");
//! assert_eq!(missing.into_sorted(), [wanted[1].view()]);
//! # Ok::<(), serde_json::Error>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

mod address;
mod address_type;
mod draft;
mod endpoint;
mod endpoint_set;
mod hints;
mod identity;
pub mod limits;
pub mod names;
mod port;
mod selector;
mod slice;
pub mod spelling;
mod target;
mod text;
mod tracker;
mod trigger_time;

pub use address::{Address, Addresses, Unpublishable};
pub use address_type::{AddressType, UnknownAddressType};
pub use draft::{Draft, DraftEndpoint};
pub use endpoint::{Conditions, Endpoint, EndpointRef, EndpointSource};
pub use endpoint_set::EndpointSet;
pub use hints::{HintedNames, Hints, HintsRef, KnownHints};
pub use port::{Port, PortMapKey, PortProblem};
pub use selector::{InvalidSelector, selects};
pub use slice::Slice;
pub use target::{ObjectName, Target, TargetRef};
pub use text::{InPlace, Share, Text};
pub use tracker::{Deletion, SliceTracker, SliceVersion, WriteAnswer, WriteTicket};
pub use trigger_time::{InvalidTriggerTime, PendingTriggerTime, TriggerTimes, format_trigger_time, parse_trigger_time};
