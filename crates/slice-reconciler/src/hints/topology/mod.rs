//! Hints by topology: as many endpoints for each zone as it has of the nodes' CPUs (H22–H55).
//!
//! Nodes give [`Ratios`](nodes::Ratios), these and the number of endpoints an [`Allocation`](allocation::Allocation) per
//! zone, and [`assign`] brings the hints there with as few changes as it can.

mod allocation;
mod assign;
mod balance;
mod cache;
mod listed;
mod nodes;
mod shares;

#[cfg(test)]
mod tests;

use slice_core::{AddressType, EndpointSource};

pub use allocation::HintsUnavailable;
pub use cache::{TopologyCache, TopologyEntry, TopologyOptions};
pub use nodes::NodeInfo;

use super::{HintOutcome, HintResult, strip};
use crate::lists::Lists;

/// Gives hints for zones, or removes all hints where that is not possible.
pub(super) fn apply<E: EndpointSource>(
    topology: &mut TopologyEntry<'_>,
    address_type: AddressType,
    lists: &mut Lists<'_, E>,
) -> HintOutcome {
    let ready = assign::ready_endpoints(lists);
    let answer = assign::assign(topology.0.ratios(), ready, lists);
    let verdict = HintResult::Topology(answer.as_ref().map(|_| ()).map_err(|refusal| *refusal));
    if answer.is_err() {
        strip::apply(lists);
    }
    let event = topology.0.record(address_type, ready, answer);
    HintOutcome { verdict, event }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are fewer endpoints than the 2^53 that are exact"
)]
fn float(endpoints: usize) -> f64 {
    endpoints as f64
}
