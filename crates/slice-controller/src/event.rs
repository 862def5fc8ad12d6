//! What people are told.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use slice_reconciler::hints::EventType;

/// An event to be recorded on an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that it is about.
    pub regarding: ObjectReference,
    /// How it is meant.
    pub event_type: EventType,
    /// One of the reasons in [`slice_core::names`], or a controller's own.
    pub reason: Cow<'static, str>,
    /// For people.
    pub message: String,
}
