//! Traffic distribution: hints every endpoint to its own zone or node, independently of the others (H56–H64).

use std::sync::Arc;

use slice_core::{EndpointSource, HintInterner};

use super::{TrafficDistribution, is_ready, is_valid_hint_zone, matches_exactly, remove::mark_for_update};
use crate::lists::SliceLists;

pub(super) fn apply<E: EndpointSource>(distribution: TrafficDistribution, lists: &mut SliceLists<'_, E>) {
    // Wrong hints of an endpoint that is not ready cause no write (H60), but any write removes them (HD1).
    mark_for_update(lists, |slice| {
        let mut ready = slice.endpoints.iter().filter(|endpoint| is_ready(*endpoint));
        ready.any(|endpoint| {
            let (zone, node) = hint_targets(distribution, endpoint);
            !matches_exactly(endpoint.hints.as_deref(), zone, node)
        })
    });
    let mut interner = HintInterner::default();
    for endpoint in lists.changed_mut().flat_map(|slice| &mut slice.endpoints) {
        endpoint.hints = match hint_targets(distribution, endpoint) {
            (None, None) => None,
            _ if !is_ready(endpoint) => None,
            (zone, node) => Some(interner.get(zone, node, Arc::from)),
        };
    }
}

/// The hinted zone and node of an endpoint. The zone serves consumers that do not know node hints (H56).
fn hint_targets(distribution: TrafficDistribution, endpoint: &impl EndpointSource) -> (Option<&str>, Option<&str>) {
    let node = match distribution {
        TrafficDistribution::PreferClose | TrafficDistribution::PreferSameZone => None,
        TrafficDistribution::PreferSameNode => endpoint.node_name().filter(|node| !node.is_empty()),
    };
    (endpoint.zone().filter(|zone| is_valid_hint_zone(zone)), node)
}
