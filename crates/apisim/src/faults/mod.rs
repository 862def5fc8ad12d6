//! Fault injection between a client and an API server, real or simulated.
//!
//! [`FaultService`] wraps any API server that is a [`tower::Service`]. [`Rule`]s on a [`Faults`] handle select the requests
//! and faults. The handle also counts and records every request.
//!
//! ```
//! use apisim::faults::{Faults, Match, Rule};
//! use apisim::request::Verb;
//!
//! let faults = Faults::default();
//! // The second update of a slice fails with 503; the response to every create is lost.
//! faults.add(Rule::on(Verb::Update, "endpointslices").nth(2).times(1).answer(503));
//! let lost = faults.add(Rule::on(Verb::Create, "endpointslices").drop_answer());
//! assert_eq!(lost.hits(), 0);
//! lost.remove();
//! assert_eq!(faults.count(&Match::writes()), 0);
//! ```

mod log;
mod registry;
mod rule;
mod service;
mod stream;

pub use log::{Recorded, RequestLog};
pub use registry::{Faults, RuleHandle};
pub use rule::{Answer, Fault, Match, Rule, StreamFault};
pub use service::{FaultError, FaultService};
