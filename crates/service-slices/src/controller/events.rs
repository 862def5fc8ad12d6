//! Upstream's events, under the same reasons (service-slices.md §20).

use slice_controller::EventSpec;
use slice_core::{EventType, well_known};

/// All events.
pub(super) static EVENTS: [&EventSpec; 4] = [
    &EventSpec {
        reason: well_known::FAILED_TO_UPDATE_SLICES,
        event_type: EventType::Warning,
        help: "Writes of slices fail repeatedly, or endpoints, ports or labels were rejected because the API server would not \
               accept them",
    },
    &EventSpec {
        reason: well_known::INVALID_IP_ADDRESS,
        event_type: EventType::Warning,
        help: "Addresses of pods are not valid; they were skipped",
    },
    &EventSpec {
        reason: well_known::HINTS_ENABLED,
        event_type: EventType::Normal,
        help: "Topology hints are assigned from now on",
    },
    &EventSpec {
        reason: well_known::HINTS_DISABLED,
        event_type: EventType::Warning,
        help: "Topology hints were requested but cannot be assigned, or can no longer be assigned",
    },
];
