//! From hand-made Endpoints objects to slices.
//!
//! Who points at whom: an Endpoints object belongs to the Service of the same name, and is mirrored only while that
//! Service has no selector; a slice names the Service by label and the Endpoints object by owner reference. The rules are
//! those of `docs/spec/mirroring.md`; the desired state and the controller are being written. What is certain already are
//! the names under which the controller is known.

/// Value of the managed-by label on our slices, and so the lock: one writer per value.
pub const MANAGED_BY: &str = "endpointslicemirroring-controller.k8s.io";
/// Component that events come from.
pub const EVENT_SOURCE: &str = "endpoint-slice-mirroring-controller";
/// Prefix of the metrics' names.
pub const METRICS_SUBSYSTEM: &str = "endpoint_slice_mirroring_controller";
/// Label `name` of the work queue's metrics.
pub const WORK_QUEUE: &str = "endpoint_slice_mirroring";
