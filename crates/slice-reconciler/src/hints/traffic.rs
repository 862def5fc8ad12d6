//! Hints by traffic distribution: every endpoint for its own surroundings, whatever the others do (H56–H64).

use std::sync::Arc;

use slice_core::{Endpoint, Hints, KnownHints, Text};

use super::{TrafficDistribution, is_meant_for, is_ready, strip::reopen, zone_of};
use crate::lists::Lists;

pub(super) fn apply<T: Text>(distribution: TrafficDistribution, lists: &mut Lists<'_, T>) {
    // What an endpoint that is not ready says is no reason to write (H60), but is corrected when there is one (HD1).
    reopen(lists, |slice| {
        let mut ready = slice.endpoints.iter().filter(|endpoint| is_ready(endpoint));
        ready.any(|endpoint| {
            let (zone, node) = wanted(distribution, endpoint);
            !is_meant_for(endpoint, zone.map(|zone| &**zone), node.map(|node| &**node))
        })
    });
    let mut known = KnownHints::default();
    for slice in lists.create.iter_mut().chain(&mut lists.update) {
        for endpoint in &mut slice.endpoints {
            let (zone, node) = if is_ready(endpoint) {
                wanted(distribution, endpoint)
            } else {
                (None, None)
            };
            endpoint.hints = hints_for(zone, node, &mut known);
        }
    }
}

fn hints_for<T: Text>(zone: Option<&T>, node: Option<&T>, known: &mut KnownHints) -> Option<Arc<Hints>> {
    let shared = |name: Option<&T>| name.cloned().map(Into::into).into_iter().collect();
    let make = || Hints {
        for_zones: shared(zone),
        for_nodes: shared(node),
    };
    let are_wanted = |known: &Hints| known.are_for(zone.map(|zone| &**zone), node.map(|node| &**node));
    (zone.is_some() || node.is_some()).then(|| known.get(are_wanted, make))
}

/// The zone is there with the node too, for readers that do not know of nodes (H56).
fn wanted<T: Text>(distribution: TrafficDistribution, endpoint: &Endpoint<T>) -> (Option<&T>, Option<&T>) {
    let node = match distribution {
        TrafficDistribution::PreferClose | TrafficDistribution::PreferSameZone => None,
        TrafficDistribution::PreferSameNode => endpoint.node_name.as_ref().filter(|node| !node.is_empty()),
    };
    (zone_of(endpoint), node)
}
