//! From Services, Pods and Nodes to slices.
//!
//! Who points at whom: a Service selects Pods of its namespace; a Pod names its Node; a Node has a zone; a slice names its
//! Service by label and owner reference. The rules are those of `docs/spec/service-slices.md`.
//!
//! [`desired`] says which endpoints the slices of a Service should hold, and what could not be published. It works on
//! [`Service`], [`Pod`] and [`Node`], which hold what matters and nothing else; each is made from the API's object by
//! `From`, or by `from_k8s` with interned strings. With the existing slices, [`slice_reconciler::plan`] makes it a list of
//! writes. No client, no clock, no asynchronous runtime.
//!
//! Where addresses and ports come from can be replaced where a [`Pod`] or [`Service`] is made (G66, G84): their fields are
//! open. Addresses of another network are `Pod { addresses: PodAddresses::parse_separate(..), ..Pod::from(&pod) }`, with `ready`
//! where the network has a readiness of its own; a pod whose addresses differ in that is given once for each. Ports of any
//! object that selects pods are the `ports` of a [`Service`]; where their numbers come from is a pod's `named_ports`.
//!
//! ```
//! use std::{collections::HashMap, num::NonZeroUsize};
//!
//! use k8s_openapi::api::{core::v1 as api, discovery::v1::EndpointSlice};
//! use serde_json::{from_value, json};
//! use service_slices::{Node, Pod, Service, desired, options};
//! use slice_core::Slice;
//! use slice_reconciler::{Operation, PlanRequest, plan};
//!
//! // A Service, the pods that its selector matches, and their nodes, as a client reads them.
//! let service: api::Service = from_value(json!({
//!     "metadata": {"namespace": "shop", "name": "web", "uid": "9c1e"},
//!     "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "ports": [{"port": 80, "targetPort": "http"}]},
//! }))?;
//! let pods: Vec<api::Pod> = from_value(json!([{
//!     "metadata": {"namespace": "shop", "name": "web-0", "uid": "7a3d"},
//!     "spec": {"nodeName": "n1", "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}]},
//!     "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]},
//! }]))?;
//! let node: api::Node = from_value(json!({
//!     "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "zone-a"}},
//! }))?;
//! let stored: Vec<EndpointSlice> = Vec::new();
//!
//! // What the slices should hold.
//! let service = Service::from(&service);
//! let pods: Vec<Pod> = pods.iter().map(Pod::from).collect();
//! let nodes = HashMap::from([("n1", Node::from(&node))]);
//! let desired = desired(&service, &pods, &nodes);
//! assert!(desired.left_out.is_empty());
//!
//! // What has to be written.
//! let existing: Vec<CompactSlice> = stored.iter().map(CompactSlice::from).collect();
//! let metadata = service.metadata_policy();
//! let request = PlanRequest {
//!     supported: desired.address_types.iter().copied().collect(),
//!     groups: desired.groups,
//!     hints: Some(service.hints),
//!     ..PlanRequest::new(service.owner(), &existing, &metadata, "web-")
//! };
//! let plan = plan(request, &reconcile_options(NonZeroUsize::new(100).unwrap()))?;
//! let Operation::Create(slice) = &plan.writes[0].operation else { panic!("nothing was there") };
//! assert_eq!(slice.ports.ports()[0].port, Some(8080));
//! assert_eq!(slice.endpoints[0].zone.as_deref(), Some("zone-a"));
//! assert_eq!(slice.endpoints[0].conditions.ready, Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::disallowed_methods, reason = "time comes in as an argument")]

pub mod controller;
mod desired;
mod groups;
mod node;
mod node_state;
mod options;
mod pod;
mod pod_addresses;
mod pod_endpoint;
mod quantity;
mod service;

pub use desired::{Desired, SkipReason, SkippedPod, desired};
pub use node::{Node, NodeLookup};
pub use node_state::NodeState;
pub use options::reconcile_options;
pub use pod::{NamedPort, Pod};
pub use pod_addresses::{AddressError, PodAddresses, RejectedAddress};
pub use pod_endpoint::PodEndpoint;
pub use service::{IpFamilies, RESERVED_LABELS, Service, ServicePort, TargetPort};

/// Value of the managed-by label on our slices, and so the lock: one writer per value.
pub const MANAGED_BY: &str = "endpointslice-controller.k8s.io";
/// Component that events come from.
pub const EVENT_SOURCE: &str = "endpoint-slice-controller";
/// Prefix of the metrics' names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_controller";
/// Label `name` of the work queue's metrics.
pub const WORK_QUEUE: &str = "endpoint_slice";
