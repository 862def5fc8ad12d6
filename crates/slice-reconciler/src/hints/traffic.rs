//! Hints by traffic distribution: every endpoint for its own surroundings, whatever the others do (H56–H64).

use std::sync::Arc;

use slice_core::{EndpointRef, EndpointSource, Hints, KnownHints};

use super::{TrafficDistribution, are_for, can_be_hinted, is_ready, strip::reopen};
use crate::lists::Lists;

pub(super) fn apply<E: EndpointSource>(distribution: TrafficDistribution, lists: &mut Lists<'_, E>) {
    // What an endpoint that is not ready says is no reason to write (H60), but is corrected when there is one (HD1).
    reopen(lists, |slice| {
        let mut ready = slice.endpoints.iter().filter(|endpoint| is_ready(*endpoint));
        ready.any(|endpoint| {
            let (zone, node) = surroundings(distribution, &endpoint.view());
            !are_for(endpoint.hints.as_deref(), zone.filter(|zone| can_be_hinted(zone)), node)
        })
    });
    let mut known = KnownHints::default();
    for endpoint in lists.written_mut().flat_map(|slice| &mut slice.endpoints) {
        let (zone, node) = if is_ready(&*endpoint) {
            surroundings(distribution, &endpoint.view())
        } else {
            (None, None)
        };
        endpoint.hints = hints_for(zone, node, &mut known);
    }
}

fn hints_for(zone: Option<&str>, node: Option<&str>, known: &mut KnownHints) -> Option<Arc<Hints>> {
    // A zone that was hinted before need not be looked at again.
    if let Some(hints) = known.find(|known| known.are_for(zone, node)) {
        return Some(hints);
    }
    let zone = zone.filter(|zone| can_be_hinted(zone));
    let shared = |name: Option<&str>| name.map(Arc::from).into_iter().collect();
    let make = || Hints {
        for_zones: shared(zone),
        for_nodes: shared(node),
    };
    (zone.is_some() || node.is_some()).then(|| known.get(|known| known.are_for(zone, node), make))
}

/// The zone and the node that an endpoint is meant for. The zone is there with the node too, for readers that do not know of
/// nodes (H56).
fn surroundings<'a>(
    distribution: TrafficDistribution,
    endpoint: &EndpointRef<'a>,
) -> (Option<&'a str>, Option<&'a str>) {
    let node = match distribution {
        TrafficDistribution::PreferClose | TrafficDistribution::PreferSameZone => None,
        TrafficDistribution::PreferSameNode => endpoint.node_name.filter(|node| !node.is_empty()),
    };
    (endpoint.zone, node)
}
