//! Upstream's events, under the same reasons (mirroring.md §11).

use slice_controller::EventSpec;
use slice_core::{EventType, well_known};

/// All events.
pub(super) static EVENTS: [&EventSpec; 3] = [
    &EventSpec {
        reason: well_known::FAILED_TO_UPDATE_SLICES,
        event_type: EventType::Warning,
        help: "Writes of slices fail repeatedly, or ports, endpoints or labels were rejected because the API server would not \
               accept them",
    },
    &EventSpec {
        reason: well_known::INVALID_IP_ADDRESS,
        event_type: EventType::Warning,
        help: "Addresses of the Endpoints object are not valid; they were skipped",
    },
    &EventSpec {
        reason: well_known::TOO_MANY_ADDRESSES,
        event_type: EventType::Warning,
        help: "A subset has more addresses than are mirrored; the others were skipped",
    },
];
