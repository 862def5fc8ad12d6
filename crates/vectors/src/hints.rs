//! When topology hints are as good as upstream's. Upstream chooses at random which endpoint serves another zone, and which of
//! equal zones is served (HD14); how many serve each is bound by the zones' CPUs (topology-and-traffic.md §4–§8). The bounds
//! are worked out here once more, and not taken from what is being checked.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "endpoints and CPUs are counted in small whole numbers"
)]

use std::collections::BTreeMap;

use k8s_openapi::api::{
    core::v1::Node,
    discovery::v1::{Endpoint, EndpointSlice},
};
use service_slices::NodeState;
use slice_reconciler::hints::NodeInfo;

use super::compare::{Aspect, Difference};

/// How much more than its share an endpoint may have to carry.
const OVERLOAD: f64 = 0.2;

/// The share of each zone in the CPUs of ready workers.
#[derive(Debug)]
pub(super) struct Zones(BTreeMap<String, f64>);

/// How many endpoints each zone has to have, and how many more any of them may.
#[derive(Debug)]
pub(super) struct Bounds {
    min: BTreeMap<String, usize>,
    slack: usize,
}

impl Zones {
    pub(super) fn of_nodes(nodes: &[Node]) -> Option<Self> {
        let states: Vec<NodeState> = nodes.iter().map(NodeState::from).collect();
        Self::of(states.iter().map(NodeState::topology_info))
    }

    /// Nothing, if nodes do not say enough for hints (H22, H23).
    fn of<'n>(nodes: impl Iterator<Item = NodeInfo<'n>>) -> Option<Self> {
        let mut zones: BTreeMap<String, f64> = BTreeMap::new();
        for node in nodes.filter(|node| node.ready && !node.excluded) {
            let zone = node.zone.filter(|zone| !zone.is_empty())?;
            *zones.entry(zone.to_owned()).or_default() += node.cpu_milli.filter(|cpu| *cpu > 0)? as f64;
        }
        let total: f64 = zones.values().sum();
        for cpu in zones.values_mut() {
            *cpu /= total;
        }
        (zones.len() > 1).then_some(Self(zones))
    }

    pub(super) fn contains(&self, zone: &str) -> bool {
        self.0.contains_key(zone)
    }

    /// Nothing, if so many endpoints cannot be shared out (H27–H29).
    pub(super) fn bounds(&self, endpoints: usize) -> Option<Bounds> {
        let least = 1.0 / (1.0 + OVERLOAD);
        let min = |ratio: f64| (ratio * endpoints as f64 * least).ceil() as usize;
        let min: BTreeMap<String, usize> = self.0.iter().map(|(zone, ratio)| (zone.clone(), min(*ratio))).collect();
        let slack = endpoints.checked_sub(min.values().sum())?;
        Some(Bounds { min, slack })
    }
}

impl Bounds {
    /// How many endpoints zones lack, and have too many.
    fn broken_by(&self, hinted: &Hinted) -> (usize, usize) {
        let zones = self.min.iter().map(|(zone, min)| (hinted.count(zone), *min));
        zones.fold((0, 0), |(lack, excess), (count, min)| {
            (
                lack + min.saturating_sub(count),
                excess + count.saturating_sub(min + self.slack),
            )
        })
    }

    /// Whether the hints of slices give some zone more than it may have.
    pub(super) fn are_exceeded_by<'s>(&self, slices: impl Iterator<Item = &'s EndpointSlice>) -> bool {
        self.broken_by(&Hinted::of(slices)).1 > 0
    }
}

/// The hints of the slices of one address type.
#[derive(Debug, Default)]
struct Hinted {
    /// Ready endpoints.
    ready: usize,
    /// How many are meant for each zone.
    counts: BTreeMap<String, usize>,
}

impl Hinted {
    fn of<'s>(slices: impl Iterator<Item = &'s EndpointSlice>) -> Self {
        let mut hinted = Self::default();
        for endpoint in endpoints(slices).filter(|endpoint| is_ready(endpoint)) {
            hinted.ready += 1;
            for zone in zones_of(endpoint) {
                *hinted.counts.entry(zone.to_owned()).or_default() += 1;
            }
        }
        hinted
    }

    fn count(&self, zone: &str) -> usize {
        self.counts.get(zone).copied().unwrap_or_default()
    }

    /// How many endpoints each zone has, with its share in place of its name: equal zones may change places (HD14).
    fn by_share(&self, zones: &Zones) -> String {
        let known = zones.0.iter();
        let mut shares: Vec<String> = known
            .map(|(zone, ratio)| format!("{} for {ratio:.3} of the CPUs", self.count(zone)))
            .collect();
        shares.sort();
        let others = self.counts.iter().filter(|(zone, _)| !zones.contains(zone));
        shares.extend(others.map(|(zone, count)| format!("{count} for {zone}, which has no CPUs")));
        shares.join(", ")
    }
}

/// Where the hints of our slices of one address type are not those of upstream, or break a rule.
pub(super) fn differences(
    zones: Option<&Zones>,
    all_are_published: bool,
    address_type: &str,
    upstream: &[EndpointSlice],
    ours: &[EndpointSlice],
    written: &[EndpointSlice],
) -> Vec<Difference> {
    let (theirs, mine) = (Hinted::of(upstream.iter()), Hinted::of(ours.iter()));
    let difference = |aspect, text: String| Difference {
        aspect,
        address_type: Some(address_type.to_owned()),
        text: format!("hints of {address_type}: {text}"),
    };
    let mut differences = Vec::new();
    if mine.counts.is_empty() {
        // Whether there are any is compared with the endpoints.
        return differences;
    }
    let none_allowed = || vec![difference(Aspect::HintRules, "there must be none".to_owned())];
    let Some(zones) = zones else {
        return none_allowed();
    };
    for endpoint in endpoints(written.iter()) {
        if !follows_the_rules(endpoint, zones) {
            differences.push(difference(Aspect::HintRules, format!("{endpoint:?} has wrong ones")));
        }
    }
    if all_are_published {
        let Some(bounds) = zones.bounds(mine.ready) else {
            differences.extend(none_allowed());
            return differences;
        };
        let (broken, broken_by_upstream) = (bounds.broken_by(&mine), bounds.broken_by(&theirs));
        if broken.0 > broken_by_upstream.0 || broken.1 > broken_by_upstream.1 {
            let text = format!(
                "zones lack {} and have {} too many, with upstream {} and {}",
                broken.0, broken.1, broken_by_upstream.0, broken_by_upstream.1
            );
            differences.push(difference(Aspect::HintBounds, text));
        }
    }
    let (theirs, mine) = (theirs.by_share(zones), mine.by_share(zones));
    if theirs != mine {
        differences.push(difference(
            Aspect::Hints,
            format!("\n  upstream {theirs}\n  ours     {mine}"),
        ));
    }
    differences
}

/// A ready endpoint is meant for exactly one zone, one with nodes; others are not, and none is for a node.
fn follows_the_rules(endpoint: &Endpoint, zones: &Zones) -> bool {
    let hinted: Vec<&str> = zones_of(endpoint).collect();
    let node_hints = endpoint.hints.as_ref().and_then(|hints| hints.for_nodes.as_ref());
    let right = match hinted[..] {
        [] => !is_ready(endpoint),
        [zone] => is_ready(endpoint) && zones.contains(zone),
        _ => false,
    };
    right && node_hints.is_none_or(Vec::is_empty)
}

fn endpoints<'s>(slices: impl Iterator<Item = &'s EndpointSlice>) -> impl Iterator<Item = &'s Endpoint> {
    slices.flat_map(|slice| slice.endpoints.iter().flatten())
}

fn zones_of(endpoint: &Endpoint) -> impl Iterator<Item = &str> {
    let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    zones.map(|zone| zone.name.as_str())
}

/// Absent is not ready here (H73).
pub(super) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}
