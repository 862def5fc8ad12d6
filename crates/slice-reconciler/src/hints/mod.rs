//! Hints: for whom an endpoint is meant (`docs/spec/topology-and-traffic.md`).
//!
//! Two mechanisms exclude each other; [`HintMode`] says which one an owner asked for. By *topology*, endpoints are shared
//! out among zones as the CPUs of the nodes are, which takes a [`TopologyCache`] across owners. By *traffic distribution*,
//! every endpoint is meant for its own zone, and node if so wished; that needs no state.

mod event;
mod mode;
mod strip;
mod topology;
mod traffic;

#[cfg(test)]
mod tests;

use slice_core::{AddressType, EndpointSource, Hints, validation::is_label_value};

pub use event::HintEvent;
pub use mode::{HintMode, TrafficDistribution};
pub use topology::{HintsUnavailable, NodeInfo, TopologyCache, TopologyEntry, TopologyOptions};

use crate::lists::Lists;

/// Which mechanism ran, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintResult {
    /// None: there are no hints.
    Off,
    /// By topology: there are hints, or there are none for this reason.
    Topology(Result<(), HintsUnavailable>),
    /// By traffic distribution.
    Traffic(TrafficDistribution),
}

impl HintResult {
    /// The labels `topology` and `traffic_distribution` of the metric that counts changed slices (H65).
    #[must_use]
    pub fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::Off => ("Disabled", ""),
            Self::Topology(_) => ("Auto", ""),
            Self::Traffic(distribution) => ("Disabled", distribution.as_str()),
        }
    }
}

/// What became of the hints of one owner and address type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintOutcome {
    /// What was done.
    pub verdict: HintResult,
    /// What to tell about it, on the owner and after the writes, whether they failed or not (H11).
    pub event: Option<HintEvent>,
}

/// Gives the slices of one owner and address type the hints that they should have (H11). Unchanged slices whose hints are
/// wrong are copied to the end of the update list.
///
/// Without an entry of a cache, topology hints cannot be given and `Auto` removes all hints (H10).
pub(crate) fn apply<E: EndpointSource>(
    mode: HintMode,
    address_type: AddressType,
    lists: &mut Lists<'_, E>,
    topology: Option<&mut TopologyEntry<'_>>,
) -> HintOutcome {
    let mut event = None;
    match (mode, topology) {
        (HintMode::Auto, Some(topology)) => return topology::apply(topology, address_type, lists),
        (_, Some(topology)) => event = topology.0.switch_off(address_type),
        (_, None) => {}
    }
    let verdict = if let HintMode::TrafficDistribution(distribution) = mode {
        traffic::apply(distribution, lists);
        HintResult::Traffic(distribution)
    } else {
        strip::apply(lists);
        HintResult::Off
    };
    HintOutcome { verdict, event }
}

/// Absent is not ready here, although readers take it for ready (H73).
fn is_ready(endpoint: &impl EndpointSource) -> bool {
    endpoint.conditions().ready == Some(true)
}

/// Whether hints can name a zone: no reader would match an empty one (HD15), and the API server refuses one that is no label
/// value, and the slice with it (R146).
fn can_be_hinted(zone: &str) -> bool {
    !zone.is_empty() && is_label_value(zone)
}

/// Whether hints name this zone and this node and no others. Empty hints are the same as none.
fn matches_exactly(hints: Option<&Hints>, zone: Option<&str>, node: Option<&str>) -> bool {
    match hints {
        None => zone.is_none() && node.is_none(),
        Some(hints) => hints.matches_exactly(zone, node),
    }
}
