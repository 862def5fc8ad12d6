//! An in-memory Kubernetes API server for tests.
//!
//! [`ApiSim`] implements the API of kube-apiserver for namespaces, nodes, services, pods, endpoints, endpointslices, leases
//! and events, as far as clients and controllers observe it: resource versions, watches, validation, deletion, status
//! errors. It is a [`tower::Service`], so a `kube::Client` can use it directly:
//!
//! ```
//! use apisim::{ApiSim, Config};
//! use k8s_openapi::api::core::v1::Namespace;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let sim = ApiSim::with_config(Config { history_events_max: 100, ..Config::default() });
//! let client = kube::Client::new(sim.clone(), "default");
//! let namespaces = kube::Api::<Namespace>::all(client).list(&Default::default()).await.unwrap();
//! assert_eq!(namespaces.items.len(), 4);
//! # });
//! ```
//!
//! Not implemented on purpose: `managedFields`, server-side apply, request and response bodies other than JSON, and
//! authentication.

mod any_kind;
pub mod body;
mod config;
mod deletion;
mod discovery;
pub mod faults;
mod gc;
mod handlers;
mod kinds;
mod namespaces;
mod object;
mod openapi;
mod representation;
pub mod request;
mod resources;
mod response;
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
