//! The seam between a controller and what runs it.
//!
//! A [`Controller`] is a state machine: it takes changes of the objects it watches and answers with keys to look at; given
//! a key and its slices, it answers with a plan. Tasks, sockets, retries and clocks belong to who runs it, which is
//! `slice-runtime`, or a test.
//!
//! ```
//! use std::collections::{BTreeMap, BTreeSet};
//!
//! use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::ObjectMeta};
//! use serde::Deserialize;
//! use slice_controller::{
//!     AnnotatedMetadata, Change, Controller, Event, Failure, Identity, Interner, Key, Outcome, Seen, Source, Sync,
//!     SyncContext, Wakes,
//! };
//! use slice_core::{Address, AddressType, Endpoint, EndpointSet, PortMapKey, names};
//! use slice_reconciler::{
//!     Group, MetadataPolicy, Options, Owner, Partition, Request, hints::EventType, plan, plan_deletion,
//! };
//!
//! /// Publishes the IPv4 address that a Service has in an annotation.
//! #[derive(Default)]
//! struct Annotated {
//!     services: BTreeMap<Key, ObjectMeta>,
//!     interner: Interner,
//! }
//!
//! impl Controller for Annotated {
//!     type Input = ObjectMeta;
//!
//!     fn sources(&self) -> Vec<Source<ObjectMeta>> {
//!         #[derive(Deserialize)]
//!         struct Service {
//!             metadata: AnnotatedMetadata,
//!         }
//!         vec![Source {
//!             kind: "services",
//!             api: "api/v1",
//!             resource: "services",
//!             namespaced: true,
//!             label_selector: String::new(),
//!             metadata_only: true,
//!             decode: |bytes| {
//!                 let object = ObjectMeta::from(serde_json::from_slice::<Service>(bytes)?.metadata);
//!                 Ok(Seen { identity: Identity::from(&object), object })
//!             },
//!         }]
//!     }
//!
//!     fn interner(&mut self) -> &mut Interner {
//!         &mut self.interner
//!     }
//!
//!     fn observe(&mut self, change: Change<ObjectMeta>, wakes: &mut Wakes) {
//!         let (key, is_news) = match change {
//!             Change::Applied(service) => {
//!                 let Identity { namespace, name, .. } = Identity::from(&service);
//!                 let key = Key::new(namespace, name);
//!                 let before = self.services.insert(key.clone(), service);
//!                 let is_news = before.as_ref() != self.services.get(&key);
//!                 (key, is_news)
//!             }
//!             Change::Deleted { identity, .. } => {
//!                 let key = Key::new(identity.namespace, identity.name);
//!                 let is_news = self.services.remove(&key).is_some();
//!                 (key, is_news)
//!             }
//!         };
//!         if is_news {
//!             wakes.now(key);
//!         }
//!     }
//!
//!     fn held(&self, _kind: &'static str) -> Vec<Identity> {
//!         self.services.values().map(Identity::from).collect()
//!     }
//!
//!     fn keys(&self) -> Vec<Key> {
//!         self.services.keys().cloned().collect()
//!     }
//!
//!     fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<Sync, String> {
//!         let Some(service) = self.services.get(key) else {
//!             let plan = plan_deletion(context.existing, Partition::default());
//!             return Ok(Sync { plan, ..Sync::default() });
//!         };
//!         let address = service.annotations.as_ref().and_then(|all| all.get("example.com/address"));
//!         let endpoint = address.map(|address| Endpoint {
//!             addresses: [Address::stored(address)].into_iter().collect(),
//!             ..Endpoint::default()
//!         });
//!         let mut group = Group {
//!             address_type: AddressType::IPv4,
//!             ports: PortMapKey::new([]),
//!             endpoints: EndpointSet::default(),
//!         };
//!         group.endpoints.extend(&endpoint);
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
//!         let prefix = format!("{}-", key.name);
//!         let owner = Owner::of("v1", "Service", service);
//!         let request = Request {
//!             supported: BTreeSet::from([AddressType::IPv4]),
//!             groups: vec![group],
//!             names_taken: context.taken,
//!             ..Request::new(owner, context.existing, &metadata, &prefix)
//!         };
//!         let plan = plan(request, &Options::default()).map_err(|error| error.to_string())?;
//!         // What cannot be published is told, and the rest goes on.
//!         let events = plan.left_out.iter().map(|left_out| Event {
//!             regarding: ObjectReference {
//!                 api_version: Some("v1".to_owned()),
//!                 kind: Some("Service".to_owned()),
//!                 namespace: service.namespace.clone(),
//!                 name: service.name.clone(),
//!                 uid: service.uid.clone(),
//!                 ..ObjectReference::default()
//!             },
//!             event_type: EventType::Warning,
//!             reason: "NotPublished".into(),
//!             message: left_out.to_string(),
//!         });
//!         Ok(Sync { events: events.collect(), plan, again: None })
//!     }
//!
//!     fn finished(&mut self, _key: &Key, _outcome: &Outcome) {}
//!
//!     fn failure_event(&self, _key: &Key, _failures: &[Failure]) -> Option<Event> {
//!         None
//!     }
//! }
//!
//! // Who runs it reads objects by its sources, tells it of them, and looks at the keys that it wakes.
//! let mut controller = Annotated::default();
//! for (address, writes, events) in [("10.0.0.1", 1, 0), ("nowhere", 0, 1)] {
//!     let service = format!(
//!         r#"{{"metadata": {{"namespace": "shop", "name": "db", "uid": "51fe",
//!             "annotations": {{"example.com/address": "{address}"}}}}}}"#
//!     );
//!     let seen = (controller.sources()[0].decode)(service.as_bytes())?;
//!     let mut wakes = Wakes::default();
//!     controller.observe(Change::Applied(seen.object), &mut wakes);
//!     let (key, _) = wakes.drain().next().ok_or("it is news")?;
//!     let context = SyncContext { existing: &[], taken: &[], now: jiff::Timestamp::UNIX_EPOCH };
//!     let sync = controller.sync(&key, &context)?;
//!     assert_eq!((sync.plan.writes.len(), sync.events.len()), (writes, events));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod controller;
mod event;
mod failures;
mod interner;
mod key;
mod metadata;
mod metrics;
mod source;
mod wakes;

pub use controller::{Change, Controller, Failure, Outcome, Sync, SyncContext, Writes};
pub use event::Event;
pub use failures::describe_failures;
pub use interner::Interner;
pub use key::Key;
pub use metadata::{AnnotatedMetadata, SlimMetadata};
pub use metrics::{
    DEFAULT_BUCKETS, GaugeSums, Measurement, Measurements, MetricFamily, MetricKind, MetricSpec, MetricValue,
    MetricValues, exponential_buckets,
};
pub use source::{Identity, Seen, Source};
pub use wakes::Wakes;
