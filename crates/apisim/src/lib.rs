//! An in-memory Kubernetes API server for tests.
//!
//! [`ApiSim`] behaves as kube-apiserver does for namespaces, nodes, services, pods, endpoints, endpointslices, leases and
//! events, in what clients and controllers can see of it: versions, watches, validation, deletion, refusals. It is a
//! [`tower::Service`], so a `kube::Client` can be built right on it:
//!
//! ```
//! use apisim::{ApiSim, Config};
//! use k8s_openapi::api::core::v1::Namespace;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let sim = ApiSim::with(Config { history_events_max: 100, ..Config::default() });
//! let client = kube::Client::new(sim.clone(), "default");
//! let namespaces = kube::Api::<Namespace>::all(client).list(&Default::default()).await.unwrap();
//! assert_eq!(namespaces.items.len(), 4);
//! # });
//! ```
//!
//! What it leaves out on purpose: `managedFields` are not kept, there is no server-side apply, bodies are JSON, and nobody
//! is asked who they are.

mod answer;
pub mod body;
mod config;
mod deletion;
mod discovery;
mod erased;
pub mod faults;
mod garbage;
mod handlers;
mod kinds;
mod namespaces;
mod object;
mod openapi;
mod present;
pub mod request;
mod resources;
mod reviews;
mod selectors;
pub mod serve;
mod server;
mod sim;
mod status;
mod store;
mod table;
mod validation;

pub use config::Config;
pub use reviews::{Denied, User};
pub use sim::ApiSim;
