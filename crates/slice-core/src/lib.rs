//! The words that everything which writes EndpointSlices shares.
//!
//! * [`names`]: labels, annotations and the values that mark a slice as belonging to one controller;
//! * [`limits`]: what the API server accepts in one slice;
//! * [`AddressType`]: the family of the addresses in a slice.
//!
//! No client, no clock, no asynchronous runtime: time and randomness come in as arguments.
//!
//! ```
//! use slice_core::{AddressType, limits, names};
//!
//! assert_eq!("IPv6".parse(), Ok(AddressType::IPv6));
//! assert_eq!(names::SERVICE_NAME_LABEL, "kubernetes.io/service-name");
//! assert_eq!(limits::ENDPOINTS_PER_SLICE_MAX, 1000);
//! ```

mod address_type;
pub mod limits;
pub mod names;

pub use address_type::{AddressType, UnknownAddressType};
