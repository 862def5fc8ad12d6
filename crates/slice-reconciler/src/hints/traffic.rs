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
            !are_for(
                endpoint.hints.as_ref().map(Hints::view),
                zone.filter(|zone| can_be_hinted(zone)),
                node,
            )
        })
    });
    let mut known = KnownHints::default();
    for endpoint in lists.written_mut().flat_map(|slice| &mut slice.endpoints) {
        if !is_ready(&*endpoint) {
            endpoint.mean_for_nobody();
            continue;
        }
        let (zone, node) = surroundings(distribution, &endpoint.view());
        let zone = zone.filter(|zone| can_be_hinted(zone));
        match (zone, node) {
            (None, None) => endpoint.mean_for_nobody(),
            (Some(_), None) => endpoint.mean_for_own_zone(),
            (_, Some(_)) => {
                let names = known.get(zone.into_iter(), node.into_iter(), Arc::from);
                endpoint.mean_for(names);
            }
        }
    }
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
