//! The interface between a controller and the runtime that runs it.
//!
//! A [`Controller`] determines what to watch, which keys a change concerns, and which slices a key should have. It is a state
//! machine without I/O: tasks, sockets, relists, retries and clocks belong to `slice-runtime`, or to a test.
//!
//! ```
//! use std::collections::{BTreeSet, HashMap};
//!
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! use serde::Deserialize;
//! use slice_controller::{
//!     Controller, Event, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec,
//! };
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, PortMapKey, names};
//! use slice_reconciler::{Group, LeftOut, MetadataPolicy, Options, Owner, Partition, Request, plan, plan_deletion};
//!
//! #[derive(Deserialize)]
//! struct Service {
//!     metadata: ObjectMeta,
//! }
//!
//! /// Publishes the IPv4 address that a Service has in an annotation.
//! #[derive(Default)]
//! struct Annotated {
//!     services: HashMap<Key, ObjectMeta>,
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
//!         let key = Key::from(&service);
//!         if self.services.get(&key) != Some(&service) {
//!             self.services.insert(key.clone(), service);
//!             context.enqueue(key);
//!         }
//!     }
//!
//!     fn delete(&mut self, _watch: (), service: &ObjectRef, context: &mut EventContext) {
//!         let key = Key::from(service);
//!         if self.services.remove(&key).is_some() {
//!             context.enqueue(key);
//!         }
//!     }
//!
//!     fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
//!         let Some(service) = self.services.get(key) else {
//!             return Ok(plan_deletion(context.existing, Partition::default()).into());
//!         };
//!         let address = service.annotations.as_ref().and_then(|all| all.get("example.com/address"));
//!         let endpoint = address.map(|address| Endpoint {
//!             addresses: [Address::stored(address)].into_iter().collect(),
//!             ..Endpoint::default()
//!         });
//!         let mut endpoints = EndpointSet::default();
//!         endpoints.extend(&endpoint);
//!         let group = Group { address_type: AddressType::IPv4, ports: PortMapKey::new([]), endpoints };
//!         // The labels by which the slices, and with them their key, are found again.
//!         let label = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
//!         let metadata = MetadataPolicy {
//!             reserved: [
//!                 label(names::SERVICE_NAME_LABEL, &key.name),
//!                 label(names::MANAGED_BY_LABEL, "annotated.example.com"),
//!             ]
//!             .into(),
//!             ..MetadataPolicy::default()
//!         };
//!         let owner = Owner::of("v1", "Service", service);
//!         let prefix = format!("{}-", key.name);
//!         let plan = plan(
//!             Request {
//!                 supported: BTreeSet::from([AddressType::IPv4]),
//!                 groups: vec![group],
//!                 names_taken: context.reserved_names,
//!                 ..Request::new(owner, context.existing, &metadata, &prefix)
//!             },
//!             &Options::default(),
//!         )?;
//!         // An address that cannot be published is reported, and the others are published.
//!         let event = |left_out: &LeftOut| Event::warning(&owner, "NotPublished", left_out.to_string());
//!         let events = plan.left_out.iter().map(event).collect();
//!         Ok(SyncResult { events, plan, requeue_after: None })
//!     }
//! }
//!
//! // In a test: decode objects by the watch, apply them, and sync the keys that they enqueue.
//! let mut controller = Annotated::default();
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
mod interner;
mod key;
mod metadata;
mod metrics;
mod watch;

pub use context::EventContext;
pub use controller::{Controller, SyncContext, SyncOutcome, SyncResult, WriteCounts};
pub use error::{BoxError, ErrorChain, SyncError, SyncFailure, WriteError};
pub use event::Event;
pub use failures::describe_failures;
pub use interner::Interner;
pub use key::Key;
pub use metadata::{AnnotatedMetadata, SlimMetadata};
pub use metrics::{
    DEFAULT_BUCKETS, GaugeSums, Measurement, Measurements, MetricFamily, MetricKind, MetricSpec, MetricValue,
    MetricValues, exponential_buckets,
};
pub use watch::{Decoded, ObjectRef, WatchSpec};
