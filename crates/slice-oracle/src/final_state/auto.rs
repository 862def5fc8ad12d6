//! Hints of the topology mode Auto: checks that the hints are possible, not which ones were chosen
//! (topology-and-traffic.md §5–8).

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::compare::{describe_endpoint, subject};
use crate::desired::{ZoneLimits, endpoints_of, is_ready};
use crate::state::State;
use crate::violation::{Findings, Invariant::I2};

pub(super) fn check(state: &State<'_>, slices: &[&EndpointSlice], findings: &mut Findings) {
    let endpoints = || {
        slices
            .iter()
            .flat_map(|slice| endpoints_of(slice).iter().map(move |endpoint| (*slice, endpoint)))
    };
    let ready = || endpoints().filter(|(_, endpoint)| is_ready(endpoint));
    let all_have_zones = ready().all(|(_, endpoint)| endpoint.zone.as_ref().is_some_and(|zone| !zone.is_empty()));
    let limits = ZoneLimits::of(state.nodes.values().copied(), ready().count()).filter(|_| all_have_zones);
    let mut hinted: BTreeMap<&str, usize> = BTreeMap::new();
    for (slice, endpoint) in endpoints() {
        let zones = zones(endpoint);
        let right = match &limits {
            Some(limits) if is_ready(endpoint) => {
                matches!(zones.as_slice(), [zone] if limits.max.contains_key(*zone)) && !has_nodes(endpoint)
            }
            _ => zones.is_empty() && !has_nodes(endpoint),
        };
        findings.check(I2, subject(slice), right, || {
            let expected = match &limits {
                Some(limits) if is_ready(endpoint) => format!("hinted to one of {:?}", limits.max.keys()),
                _ => "without hints".to_owned(),
            };
            (
                format!("{} {expected}", describe_endpoint(endpoint)),
                format!("{:?}", endpoint.hints),
            )
        });
        for zone in zones {
            *hinted.entry(zone).or_default() += 1;
        }
    }
    let (Some(limits), Some(first)) = (limits, slices.first()) else {
        return;
    };
    for (zone, count) in hinted {
        let max = limits.max.get(zone).copied().unwrap_or_default();
        findings.check(I2, subject(first), count <= max, || {
            (format!("at most {max} endpoints hinted to {zone}"), count.to_string())
        });
    }
}

fn zones(endpoint: &Endpoint) -> Vec<&str> {
    let hints = endpoint.hints.as_ref();
    let zones = hints.and_then(|hints| hints.for_zones.as_deref()).unwrap_or_default();
    zones.iter().map(|zone| zone.name.as_str()).collect()
}

fn has_nodes(endpoint: &Endpoint) -> bool {
    let hints = endpoint.hints.as_ref();
    hints
        .and_then(|hints| hints.for_nodes.as_ref())
        .is_some_and(|nodes| !nodes.is_empty())
}
