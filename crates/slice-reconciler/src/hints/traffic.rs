//! Hints by traffic distribution: every endpoint for its own zone or node, whatever the others have (H56–H64).

use std::sync::Arc;

use slice_core::{EndpointSource, HintInterner};

use super::{TrafficDistribution, can_be_hinted, is_ready, matches_exactly, strip::reopen};
use crate::lists::Lists;

pub(super) fn apply<E: EndpointSource>(distribution: TrafficDistribution, lists: &mut Lists<'_, E>) {
    // Wrong hints of an endpoint that is not ready cause no write (H60), but are corrected by one (HD1).
    reopen(lists, |slice| {
        let mut ready = slice.endpoints.iter().filter(|endpoint| is_ready(*endpoint));
        ready.any(|endpoint| {
            let (zone, node) = hint_targets(distribution, endpoint);
            !matches_exactly(endpoint.hints.as_deref(), zone, node)
        })
    });
    let mut known = HintInterner::default();
    for endpoint in lists.written_mut().flat_map(|slice| &mut slice.endpoints) {
        endpoint.hints = match hint_targets(distribution, endpoint) {
            (None, None) => None,
            _ if !is_ready(endpoint) => None,
            (zone, node) => Some(known.get(zone, node, Arc::from)),
        };
    }
}

/// The zone and the node whose traffic an endpoint should get. The zone is there with the node too, for readers that do not
/// know hints for nodes (H56).
fn hint_targets(distribution: TrafficDistribution, endpoint: &impl EndpointSource) -> (Option<&str>, Option<&str>) {
    let node = match distribution {
        TrafficDistribution::PreferClose | TrafficDistribution::PreferSameZone => None,
        TrafficDistribution::PreferSameNode => endpoint.node_name().filter(|node| !node.is_empty()),
    };
    (endpoint.zone().filter(|zone| can_be_hinted(zone)), node)
}
