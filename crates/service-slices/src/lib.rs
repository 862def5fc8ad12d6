//! The EndpointSlice controller of kube-controller-manager, as a library without I/O.
//!
//! A Service selects Pods of its namespace, a Pod names its Node, and a Node has a zone. From these three this crate derives
//! the endpoints of the Service, and [`slice_reconciler::plan()`] turns them into writes of EndpointSlices. There is no client, no
//! clock and no asynchronous runtime. The rules are those of `docs/spec/service-slices.md`.
//!
//! # Two levels
//!
//! * [`desired()`] is the pure function: a [`Service`], its [`Pod`]s and their [`Node`]s → [`Desired`] endpoints, grouped by
//!   address type and ports. Use it in a controller of your own.
//! * [`controller::ServiceController`] is the whole controller. It implements [`slice_controller::Controller`]: it indexes
//!   watched objects, enqueues the Services that a change affects, syncs them, and records events and metrics.
//!
//! # Modules
//!
//! In the order in which a change passes through them:
//!
//! * Decode: `controller/slim.rs` reads only the needed fields of a watched object.
//! * Compact form: `pod/`, `pod_addresses.rs`, `service.rs`, `node.rs`, `quantity.rs`.
//! * Index and enqueue: `controller/mod.rs`, with the lookups of `controller/index/` and `controller/node_cache.rs`.
//! * Sync of one Service: `controller/sync.rs`, `options.rs`; its metrics: `controller/metrics.rs`.
//! * Desired endpoints: `desired/`, `groups.rs`, `pod_endpoint.rs`.
//!
//! A pod that becomes ready reaches `ServiceController::apply_pod`. `NamespaceIndex::apply_pod` compares it with the cached pod
//! (`endpoint_changed`) and returns the Services that select it; `apply_pod` enqueues these after the batch period.
//!
//! # Other sources of addresses and ports
//!
//! The fields of [`Pod`] and [`Service`] are public, so that addresses and ports can come from another source (G66, G84):
//!
//! * Addresses of another network: `Pod { addresses: PodAddresses::parse_separate(..), ..Pod::from(&pod) }`. Set `ready` if the
//!   network has a readiness of its own. If it differs between the addresses of a pod, pass the pod once per address.
//! * Ports of another object that selects pods: `ports` of a [`Service`]. Numbers of named ports: `named_ports` of a [`Pod`].
//!
//! # Example
//!
//! ```
//! use std::{collections::HashMap, num::NonZeroUsize};
//! # use k8s_openapi::api::core::v1 as api;
//! # use serde_json::{from_value, json};
//! use service_slices::{Node, Pod, Service, desired, reconcile_options};
//! use slice_reconciler::{Operation, PlanRequest, plan};
//!
//! # let service: api::Service = from_value(json!({
//! #     "metadata": {"namespace": "shop", "name": "web", "uid": "9c1e"},
//! #     "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "ports": [{"port": 80, "targetPort": "http"}]},
//! # }))?;
//! # let pods: Vec<api::Pod> = from_value(json!([{
//! #     "metadata": {"namespace": "shop", "name": "web-0", "uid": "7a3d"},
//! #     "spec": {"nodeName": "n1", "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}]},
//! #     "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]},
//! # }]))?;
//! # let node: api::Node = from_value(json!({
//! #     "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "zone-a"}},
//! # }))?;
//! // A Service, the pods that its selector matches, and their nodes, from the API.
//! let service = Service::from(&service);
//! let pods: Vec<Pod> = pods.iter().map(Pod::from).collect();
//! let nodes = HashMap::from([("n1", Node::from(&node))]);
//! let desired = desired(&service, &pods, &nodes);
//! assert!(desired.skipped.is_empty());
//!
//! // The Service has no slices yet.
//! let metadata = service.metadata_policy();
//! let request = PlanRequest {
//!     address_types: desired.address_types.iter().copied().collect(),
//!     desired: desired.groups,
//!     hints: Some(service.hints),
//!     ..PlanRequest::new(service.owner(), &[], &metadata, "web-")
//! };
//! let plan = plan(request, &reconcile_options(NonZeroUsize::new(100).unwrap()))?;
//! let Operation::Create(slice) = &plan.writes[0].operation else { panic!("one create") };
//! assert_eq!(slice.ports.ports()[0].port, Some(8080));
//! assert_eq!(slice.endpoints[0].zone.as_deref(), Some("zone-a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time is an argument")]

pub mod controller;
mod desired;
mod groups;
mod node;
mod options;
mod pod;
mod pod_addresses;
mod pod_endpoint;
mod quantity;
mod service;

pub use desired::{Desired, SkipReason, SkippedPod, desired};
pub use node::{Node, NodeLookup, NodeState};
pub use options::reconcile_options;
pub use pod::{NamedPort, Pod};
pub use pod_addresses::{AddressError, PodAddresses, RejectedAddress};
pub use pod_endpoint::PodEndpoint;
pub use service::{IpFamilies, RESERVED_LABELS, Service, ServicePort, TargetPort};

/// Default value of the managed-by label on our slices. Each value has one writer.
pub const MANAGED_BY: &str = "endpointslice-controller.k8s.io";
/// Reporting component of our events.
pub const EVENT_SOURCE: &str = "endpoint-slice-controller";
/// Prefix of the metric names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_controller";
/// Label `name` of the work queue metrics.
pub const WORK_QUEUE: &str = "endpoint_slice";
/// The resource that owns our slices, in the core group.
pub const OWNER_RESOURCE: &str = "services";
/// Default of the flag `--secure-port` of the program.
pub const SECURE_PORT: u16 = 10267;
