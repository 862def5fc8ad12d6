//! The words that everything which writes EndpointSlices shares.
//!
//! * [`Address`], [`Endpoint`], [`Port`], [`Slice`]: what a slice holds, compact, in canonical form, convertible from and
//!   to `k8s_openapi`'s types;
//! * [`EndpointRef`]: an endpoint borrowed from whatever it is derived from; [`EndpointSet`]: endpoints by identity;
//!   [`PortMapKey`]: ports as a set;
//! * [`selects`]: which objects a label selector means;
//! * [`SliceTracker`]: which writes of ours are still to be seen; [`TriggerTimes`]: when a change began;
//! * [`names`]: labels, annotations, event reasons; [`limits`] and [`spelling`]: what the API server accepts.
//!
//! No client, no clock, no asynchronous runtime: time and randomness come in as arguments.
//!
//! ```
//! use k8s_openapi::api::discovery::v1::EndpointSlice;
//! use slice_core::{AddressType, EndpointSet, Slice, names};
//!
//! let stored: EndpointSlice = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "web-abcde", "labels": {names::SERVICE_NAME_LABEL: "web"}},
//!     "addressType": "IPv4",
//!     "endpoints": [{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "web-0"}}],
//! }))?;
//! let slice = Slice::from(&stored);
//! assert_eq!(slice.address_type, Ok(AddressType::IPv4));
//!
//! // Which of the wanted endpoints are not there yet?
//! let mut wanted = EndpointSet::default();
//! wanted.extend(slice.endpoints.iter().map(|endpoint| endpoint.view()));
//! for endpoint in &slice.endpoints {
//!     wanted.take(&endpoint.view());
//! }
//! assert!(wanted.is_empty());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod address;
mod address_type;
mod endpoint;
mod endpoint_set;
pub mod limits;
pub mod names;
mod port;
mod selector;
mod slice;
pub mod spelling;
mod tracker;
mod trigger_time;

pub use address::{Address, Unpublishable};
pub use address_type::{AddressType, UnknownAddressType};
pub use endpoint::{Addresses, Conditions, Endpoint, EndpointRef, Hints, Target};
pub use endpoint_set::EndpointSet;
pub use port::{Port, PortMapKey, PortProblem};
pub use selector::{InvalidSelector, selects};
pub use slice::Slice;
pub use tracker::{Deletion, SliceTracker, SliceVersion, WriteAnswer, WriteTicket};
pub use trigger_time::{InvalidTriggerTime, PendingTriggerTime, TriggerTimes, format_trigger_time, parse_trigger_time};
