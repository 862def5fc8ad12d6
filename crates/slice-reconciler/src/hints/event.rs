//! Events about topology hints.

use std::fmt::Display;

use slice_core::{AddressType, EventType, well_known};

/// An event to record on the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintEvent {
    /// Normal or warning.
    pub event_type: EventType,
    /// One of the reasons in [`slice_core::well_known`].
    pub reason: &'static str,
    /// The message, with the address type at the end (H41).
    pub message: String,
}

impl HintEvent {
    pub(super) fn enabled(address_type: AddressType) -> Self {
        Self {
            event_type: EventType::Normal,
            reason: well_known::HINTS_ENABLED,
            message: format!("Topology Aware Hints has been enabled, addressType: {address_type}"),
        }
    }

    pub(super) fn disabled(address_type: AddressType) -> Self {
        Self::warning(&"Topology Aware Hints has been disabled", address_type)
    }

    pub(super) fn warning(reason: &dyn Display, address_type: AddressType) -> Self {
        Self {
            event_type: EventType::Warning,
            reason: well_known::HINTS_DISABLED,
            message: format!("{reason}, addressType: {address_type}"),
        }
    }
}
