//! The interface between a controller that writes EndpointSlices and the runtime that runs it.
//!
//! A [`Controller`] declares its watches, enqueues the keys that a watch event affects, and plans the slices of a key. It is a
//! state machine without I/O: reflectors, relists, the work queue, retries, the slice cache, writes and clocks belong to
//! `slice-runtime`, or to a test.
//!
//! ```text
//!                  slice-runtime, or a test                 Controller
//! API server ───►  reflector, WatchSpec::decode  ────────►  apply, delete
//!                  work queue  ◄──── EventContext ────────  └─ enqueue keys
//!                  due key  ──────── SyncContext ────────►  sync
//! API server ◄───  writers  ◄─────── SyncResult ──────────  └─ plan of writes, events
//!                  last response  ── SyncOutcome ────────►  on_sync_result
//! ```
//!
//! | part of a controller | items |
//! |---|---|
//! | watches and decoding | [`WatchSpec`], [`Decoded`], [`ObjectRef`], [`SlimMetadata`], [`AnnotatedMetadata`] |
//! | cache of watched objects | [`ObjectStore`] |
//! | work queue keys | [`Key`], [`EventContext`], [`Enqueued`] |
//! | sync and its outcome | [`SyncContext`], [`SyncResult`], [`SyncOutcome`], [`WriteCounts`] |
//! | errors | [`SyncError`], [`SyncFailure`], [`WriteError`], [`ErrorChain`], [`describe_failures`] |
//! | Kubernetes events | [`Event`], [`EventSpec`], [`Examples`] |
//! | metrics | [`MetricSpec`], [`Measurements`], [`GaugeSums`]; for the runtime [`MetricValues`] |
//!
//! A controller that publishes the address in an annotation of each Service:
//!
//! ```
//! # use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! # use slice_controller::*;
//! # use slice_reconciler::{EndpointSpec, Owner, Partition, Port, Reconciler, plan_deletion};
//! # #[derive(serde::Deserialize)]
//! # struct Service { metadata: ObjectMeta }
//! # struct AddressController { reconciler: Reconciler, services: ObjectStore<ObjectMeta> }
//! impl Controller for AddressController {
//!     type WatchId = ();
//!     type Object = ObjectMeta;
//!     fn watches(&self) -> Vec<WatchSpec<(), ObjectMeta>> {
//!         vec![WatchSpec::new((), "v1", "services", |service: Service| service.metadata).metadata_only()]
//!     }
//!     fn apply(&mut self, service: ObjectMeta, context: &mut EventContext) {
//!         if let Some(key) = self.services.apply(Key::from(&service), service) {
//!             context.enqueue(key);
//!         }
//!     }
//!     fn delete(&mut self, _watch: (), service: &ObjectRef, context: &mut EventContext) {
//!         self.services.delete(Key::from(service));
//!         context.enqueue(Key::from(service));
//!     }
//!     fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
//!         let Some(service) = self.services.get(key) else {
//!             return Ok(plan_deletion(context.existing, Partition::default()).into());
//!         };
//!         let address = service.annotations.as_ref().and_then(|all| all.get("example.com/address"));
//!         let desired = [([Port::tcp("http", 80)], address.map(|ip| EndpointSpec::new(ip).ready(true)))];
//!         let owner = Owner::from_meta("v1", "Service", service);
//!         Ok(self.reconciler.plan_slices(owner, desired, context.existing, context.reserved_names)?.into())
//!     }
//! }
//! ```
//!
//! `tests/address_controller.rs` has it with its test, and with events about rejected addresses. `slice-runtime` has a complete
//! program, `examples/multus.rs`, which `docs/library.md` explains.

mod context;
mod controller;
mod error;
mod event;
mod failures;
mod key;
mod metadata;
mod metrics;
mod store;
mod watch;

pub use context::{Enqueued, EventContext};
pub use controller::{Controller, SyncContext, SyncOutcome, SyncResult, WriteCounts};
pub use error::{BoxError, ErrorChain, SyncError, SyncFailure, WriteError};
pub use event::{Event, EventSpec, Examples};
pub use failures::describe_failures;
pub use key::Key;
pub use metadata::{AnnotatedMetadata, SlimMetadata};
pub use metrics::{
    DEFAULT_BUCKETS, GaugeSums, Measurement, Measurements, MetricFamily, MetricKind, MetricSpec, MetricValue,
    MetricValues, exponential_buckets,
};
pub use store::ObjectStore;
pub use watch::{Decoded, ObjectRef, WatchSpec};
