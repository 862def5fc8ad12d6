//! Kubernetes events to record.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use slice_core::EventType;
use slice_reconciler::Owner;

/// The description of an event that a controller records, for reference documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// The reason.
    pub reason: &'static str,
    /// Normal or warning.
    pub event_type: EventType,
    /// When the event is recorded.
    pub help: &'static str,
}

/// A Kubernetes event to be recorded on an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that the event is about.
    pub regarding: ObjectReference,
    /// Normal or warning.
    pub event_type: EventType,
    /// The reason: one of [`slice_core::well_known`], or a controller's own.
    pub reason: Cow<'static, str>,
    /// The message for users.
    pub message: String,
}

impl Event {
    /// An event about the owner of slices.
    pub fn new(
        owner: &Owner<'_>,
        event_type: EventType,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            regarding: ObjectReference {
                api_version: Some(owner.api_version.to_owned()),
                kind: Some(owner.kind.to_owned()),
                namespace: Some(owner.namespace.to_owned()),
                name: Some(owner.name.to_owned()),
                uid: Some(owner.uid.to_owned()),
                ..ObjectReference::default()
            },
            event_type,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// A warning event about the owner of slices.
    pub fn warning(owner: &Owner<'_>, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(owner, EventType::Warning, reason, message)
    }

    /// Whether the event has the reason and the type of a description.
    #[must_use]
    pub fn is_described_by(&self, spec: &EventSpec) -> bool {
        self.reason == spec.reason && self.event_type == spec.event_type
    }
}
