//! The interface between a controller and the runtime that runs it.
//!
//! A [`Controller`] determines what to watch, which keys a change concerns, and which slices a key should have. It is a state
//! machine without I/O: tasks, sockets, relists, retries and clocks belong to `slice-runtime`, or to a test.
//!
//! ```
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! use serde::Deserialize;
//! use slice_controller::{
//!     Controller, Event, EventContext, Key, ObjectRef, ObjectStore, SyncContext, SyncError, SyncResult, WatchSpec,
//! };
//! use slice_reconciler::{EndpointSpec, LeftOut, Owner, Partition, Port, Reconciler, plan_deletion};
//!
//! #[derive(Deserialize)]
//! struct Service {
//!     metadata: ObjectMeta,
//! }
//!
//! /// Publishes the address that a Service has in an annotation.
//! struct Annotated {
//!     reconciler: Reconciler,
//!     services: ObjectStore<ObjectMeta>,
//! }
//!
//! impl Controller for Annotated {
//!     type WatchId = ();
//!     type Object = ObjectMeta;
//!
//!     fn watches(&self) -> Vec<WatchSpec<(), ObjectMeta>> {
//!         vec![WatchSpec::new((), "v1", "services", |service: Service| service.metadata).metadata_only()]
//!     }
//!
//!     fn apply(&mut self, service: ObjectMeta, context: &mut EventContext) {
//!         if let Some(key) = self.services.apply(Key::from(&service), service) {
//!             context.enqueue(key);
//!         }
//!     }
//!
//!     fn delete(&mut self, _watch: (), service: &ObjectRef, context: &mut EventContext) {
//!         if let Some(key) = self.services.delete(Key::from(service)) {
//!             context.enqueue(key);
//!         }
//!     }
//!
//!     fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
//!         let Some(service) = self.services.get(key) else {
//!             return Ok(plan_deletion(context.existing, Partition::default()).into());
//!         };
//!         let address = service.annotations.as_ref().and_then(|all| all.get("example.com/address"));
//!         let endpoints = address.map(|address| EndpointSpec::new(address).ready(true));
//!         let owner = Owner::from_meta("v1", "Service", service);
//!         let groups = [([Port::tcp("http", 80)], endpoints)];
//!         let plan = self.reconciler.plan_slices(owner, groups, context.existing, context.reserved_names)?;
//!         // An address that cannot be published is reported, and the others are published.
//!         let event = |left_out: &LeftOut| Event::warning(&owner, "NotPublished", left_out.to_string());
//!         let events = plan.left_out.iter().map(event).collect();
//!         Ok(SyncResult { events, plan, requeue_after: None })
//!     }
//! }
//!
//! // In a test: decode objects by the watch, apply them, and sync the keys that they enqueue.
//! let mut controller = Annotated {
//!     reconciler: Reconciler::builder("annotated.example.com").build(),
//!     services: ObjectStore::default(),
//! };
//! let mut context = EventContext::default();
//! for (address, writes, events) in [("10.0.0.1", 1, 0), ("nowhere", 0, 1)] {
//!     let service = format!(
//!         r#"{{"metadata": {{"namespace": "shop", "name": "db", "uid": "51fe",
//!             "annotations": {{"example.com/address": "{address}"}}}}}}"#
//!     );
//!     let decoded = controller.watches()[0].decode(service.as_bytes())?;
//!     controller.apply(decoded.object, &mut context);
//!     let (key, _) = context.take_enqueued().pop().ok_or("the Service has changed")?;
//!     let context = SyncContext { existing: &[], reserved_names: &[], now: jiff::Timestamp::UNIX_EPOCH };
//!     let result = controller.sync(&key, &context)?;
//!     assert_eq!((result.plan.writes.len(), result.events.len()), (writes, events));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

pub use context::EventContext;
pub use controller::{Controller, SyncContext, SyncOutcome, SyncResult, WriteCounts};
pub use error::{BoxError, ErrorChain, SyncError, SyncFailure, WriteError};
pub use event::Event;
pub use failures::describe_failures;
pub use key::Key;
pub use metadata::{AnnotatedMetadata, SlimMetadata};
pub use metrics::{
    DEFAULT_BUCKETS, GaugeSums, Measurement, Measurements, MetricFamily, MetricKind, MetricSpec, MetricValue,
    MetricValues, exponential_buckets,
};
pub use store::ObjectStore;
pub use watch::{Decoded, ObjectRef, WatchSpec};
