//! Topology hints: endpoints are allocated to zones in proportion to the CPUs of their nodes (H22–H55).
//!
//! Nodes give [`ZoneRatios`](nodes::ZoneRatios). Ratios and the number of endpoints give an
//! [`Allocation`](allocation::Allocation) per zone. [`assign`](assign::assign) assigns hints to match it with few changes.

mod allocation;
mod assign;
mod balance;
mod cache;
mod nodes;
mod views;
mod zone_counts;

#[cfg(test)]
mod tests;

use slice_core::{AddressType, EndpointSource};

pub use allocation::HintsUnavailable;
pub use cache::{TopologyCache, TopologyEntry, TopologyOptions};
pub use nodes::NodeInfo;

use super::{HintOutcome, HintResult, remove::remove_hints};
use crate::lists::SliceLists;

/// Assigns zone hints, or removes all hints if that is not possible.
pub(super) fn apply<E: EndpointSource>(
    topology: &mut TopologyEntry<'_>,
    address_type: AddressType,
    lists: &mut SliceLists<'_, E>,
) -> HintOutcome {
    let ready = assign::ready_endpoints(lists);
    let assigned = assign::assign(topology.0.ratios(), ready, lists);
    let result = HintResult::Topology(assigned.as_ref().map(|_| ()).map_err(|reason| *reason));
    if assigned.is_err() {
        remove_hints(lists);
    }
    let event = topology.0.record(address_type, ready, assigned);
    HintOutcome { result, event }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 endpoints")]
fn to_f64(endpoints: usize) -> f64 {
    endpoints as f64
}
