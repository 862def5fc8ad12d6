//! From Services, Pods and Nodes to slices.
//!
//! Who points at whom: a Service selects Pods of its namespace; a Pod names its Node; a Node has a zone; a slice names its
//! Service by label and owner reference. The rules are those of `docs/spec/service-slices.md`; the desired state and the
//! controller are being written. What is certain already are the names under which the controller is known.

/// Value of the managed-by label on our slices, and so the lock: one writer per value.
pub const MANAGED_BY: &str = "endpointslice-controller.k8s.io";
/// Component that events come from.
pub const EVENT_SOURCE: &str = "endpoint-slice-controller";
/// Prefix of the metrics' names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_controller";
/// Label `name` of the work queue's metrics.
pub const WORK_QUEUE: &str = "endpoint_slice";
