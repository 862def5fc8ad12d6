//! Hints: the zones and nodes whose clients should use an endpoint (`docs/spec/topology-and-traffic.md`).
//!
//! An owner uses one of two mechanisms, selected by [`HintMode`]. *Topology* hints divide endpoints among zones in proportion
//! to the CPUs of their nodes, which needs a [`TopologyCache`] for all owners. *Traffic distribution* hints every endpoint to
//! its own zone, and optionally node, without state.

mod event;
mod mode;
mod remove;
mod topology;
mod traffic;

#[cfg(test)]
mod tests;

use slice_core::{AddressType, EndpointSource, Hints, validation::is_label_value};

pub use event::HintEvent;
pub use mode::{HintMode, TrafficDistribution};
pub use topology::{HintsUnavailable, NodeInfo, TopologyCache, TopologyEntry, TopologyOptions};

use crate::lists::SliceLists;

/// The mechanism that ran, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintResult {
    /// No mechanism: no hints.
    Off,
    /// Topology: hints, or the reason why there are none.
    Topology(Result<(), HintsUnavailable>),
    /// Traffic distribution.
    Traffic(TrafficDistribution),
}

impl HintResult {
    /// The labels `topology` and `traffic_distribution` of the metric of changed slices (H65).
    #[must_use]
    pub fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::Off => ("Disabled", ""),
            Self::Topology(_) => ("Auto", ""),
            Self::Traffic(distribution) => ("Disabled", distribution.as_str()),
        }
    }
}

/// The outcome of hint assignment for one owner and address type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintOutcome {
    /// The mechanism and its result.
    pub result: HintResult,
    /// The event to record on the owner after the writes, whether they failed or not (H11).
    pub event: Option<HintEvent>,
}

/// Assigns hints to the slices of one owner and address type (H11). Unchanged slices with wrong hints move to the end of the
/// update list. Without a cache entry, `Auto` removes all hints (H10).
pub(crate) fn apply<E: EndpointSource>(
    mode: HintMode,
    address_type: AddressType,
    lists: &mut SliceLists<'_, E>,
    topology: Option<&mut TopologyEntry<'_>>,
) -> HintOutcome {
    let mut event = None;
    match (mode, topology) {
        (HintMode::Auto, Some(topology)) => return topology::apply(topology, address_type, lists),
        (_, Some(topology)) => event = topology.0.disable(address_type),
        (_, None) => {}
    }
    let result = if let HintMode::TrafficDistribution(distribution) = mode {
        traffic::apply(distribution, lists);
        HintResult::Traffic(distribution)
    } else {
        remove::remove_hints(lists);
        HintResult::Off
    };
    HintOutcome { result, event }
}

/// An absent condition is not ready here, although consumers treat it as ready (H73).
fn is_ready(endpoint: &impl EndpointSource) -> bool {
    endpoint.conditions().ready == Some(true)
}

/// Whether a zone is valid in hints: consumers never match an empty one (HD15), and the API server rejects slices with a hint
/// that is no label value (R146).
fn is_valid_hint_zone(zone: &str) -> bool {
    !zone.is_empty() && is_label_value(zone)
}

/// Whether hints have exactly this zone and this node. Empty hints equal none.
fn matches_exactly(hints: Option<&Hints>, zone: Option<&str>, node: Option<&str>) -> bool {
    match hints {
        None => zone.is_none() && node.is_none(),
        Some(hints) => hints.matches_exactly(zone, node),
    }
}
