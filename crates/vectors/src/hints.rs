//! Compares topology hints. Upstream chooses at random which endpoint serves another zone, and which of equal zones is served
//! (HD14); the number of endpoints per zone is bounded by the CPUs of the zones (topology-and-traffic.md §4–§8). The bounds are
//! computed here independently of the code under test.

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

/// Overload threshold: the maximum relative overload of an endpoint.
const OVERLOAD_THRESHOLD: f64 = 0.2;

/// Zone ratios: the share of each zone in the CPUs of ready worker nodes.
#[derive(Debug)]
pub(super) struct ZoneRatios(BTreeMap<String, f64>);

/// Minimum number of endpoints per zone, and how many more any zone may have.
#[derive(Debug)]
pub(super) struct ZoneBounds {
    min: BTreeMap<String, usize>,
    slack: usize,
}

impl ZoneRatios {
    pub(super) fn from_nodes(nodes: &[Node]) -> Option<Self> {
        let states: Vec<NodeState> = nodes.iter().map(NodeState::from).collect();
        Self::from_node_info(states.iter().map(NodeState::topology_info))
    }

    /// `None` if nodes lack the information for hints (H22, H23).
    fn from_node_info<'n>(nodes: impl Iterator<Item = NodeInfo<'n>>) -> Option<Self> {
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

    /// `None` if this number of endpoints cannot be distributed (H27–H29).
    pub(super) fn bounds(&self, endpoints: usize) -> Option<ZoneBounds> {
        let min_factor = 1.0 / (1.0 + OVERLOAD_THRESHOLD);
        let min = |ratio: f64| (ratio * endpoints as f64 * min_factor).ceil() as usize;
        let min: BTreeMap<String, usize> = self.0.iter().map(|(zone, ratio)| (zone.clone(), min(*ratio))).collect();
        let slack = endpoints.checked_sub(min.values().sum())?;
        Some(ZoneBounds { min, slack })
    }
}

impl ZoneBounds {
    /// Number of missing and of surplus endpoints, summed over the zones.
    fn violations(&self, hinted: &HintCounts) -> (usize, usize) {
        let zones = self.min.iter().map(|(zone, min)| (hinted.count(zone), *min));
        zones.fold((0, 0), |(missing, surplus), (count, min)| {
            (
                missing + min.saturating_sub(count),
                surplus + count.saturating_sub(min + self.slack),
            )
        })
    }

    /// Whether the hints of slices exceed the maximum of a zone.
    pub(super) fn are_exceeded_by<'s>(&self, slices: impl Iterator<Item = &'s EndpointSlice>) -> bool {
        self.violations(&HintCounts::from_slices(slices)).1 > 0
    }
}

/// Zone hints of the slices of one address type.
#[derive(Debug, Default)]
struct HintCounts {
    /// Number of ready endpoints.
    ready: usize,
    /// Number of ready endpoints with a hint for the zone.
    by_zone: BTreeMap<String, usize>,
}

impl HintCounts {
    fn from_slices<'s>(slices: impl Iterator<Item = &'s EndpointSlice>) -> Self {
        let mut hinted = Self::default();
        for endpoint in endpoints(slices).filter(|endpoint| is_ready(endpoint)) {
            hinted.ready += 1;
            for zone in zones_of(endpoint) {
                *hinted.by_zone.entry(zone.to_owned()).or_default() += 1;
            }
        }
        hinted
    }

    fn count(&self, zone: &str) -> usize {
        self.by_zone.get(zone).copied().unwrap_or_default()
    }

    /// Endpoints per zone, with the zone ratio instead of the name: zones of equal size are interchangeable (HD14).
    fn by_ratio(&self, zones: &ZoneRatios) -> String {
        let known = zones.0.iter();
        let mut counts: Vec<String> = known
            .map(|(zone, ratio)| format!("{} for {ratio:.3} of the CPUs", self.count(zone)))
            .collect();
        counts.sort();
        let others = self.by_zone.iter().filter(|(zone, _)| !zones.contains(zone));
        counts.extend(others.map(|(zone, count)| format!("{count} for zone {zone} without CPUs")));
        counts.join(", ")
    }
}

/// Differences of the hints of our slices of one address type from upstream's, and violations of the rules.
pub(super) fn differences(
    zones: Option<&ZoneRatios>,
    all_published: bool,
    address_type: &str,
    upstream: &[EndpointSlice],
    ours: &[EndpointSlice],
    written: &[EndpointSlice],
) -> Vec<Difference> {
    let (theirs, mine) = (
        HintCounts::from_slices(upstream.iter()),
        HintCounts::from_slices(ours.iter()),
    );
    let difference = |aspect, text: String| Difference {
        aspect,
        address_type: Some(address_type.to_owned()),
        text: format!("hints of {address_type}: {text}"),
    };
    let mut differences = Vec::new();
    if mine.by_zone.is_empty() {
        // The presence of hints is compared with the endpoints.
        return differences;
    }
    let unexpected_hints = || vec![difference(Aspect::HintRules, "no hints are possible".to_owned())];
    let Some(zones) = zones else {
        return unexpected_hints();
    };
    for endpoint in endpoints(written.iter()) {
        if !has_valid_hints(endpoint, zones) {
            differences.push(difference(Aspect::HintRules, format!("invalid hints of {endpoint:?}")));
        }
    }
    if all_published {
        let Some(bounds) = zones.bounds(mine.ready) else {
            differences.extend(unexpected_hints());
            return differences;
        };
        let (violations, upstreams) = (bounds.violations(&mine), bounds.violations(&theirs));
        if violations.0 > upstreams.0 || violations.1 > upstreams.1 {
            let text = format!(
                "zones have {} endpoints too few and {} too many, upstream {} and {}",
                violations.0, violations.1, upstreams.0, upstreams.1
            );
            differences.push(difference(Aspect::HintBounds, text));
        }
    }
    let (theirs, mine) = (theirs.by_ratio(zones), mine.by_ratio(zones));
    if theirs != mine {
        differences.push(difference(
            Aspect::Hints,
            format!("\n  upstream {theirs}\n  ours     {mine}"),
        ));
    }
    differences
}

/// Whether a ready endpoint has a hint for exactly one zone with nodes, any other endpoint has none, and no endpoint has node hints.
fn has_valid_hints(endpoint: &Endpoint, zones: &ZoneRatios) -> bool {
    let hinted: Vec<&str> = zones_of(endpoint).collect();
    let node_hints = endpoint.hints.as_ref().and_then(|hints| hints.for_nodes.as_ref());
    let valid_zones = match hinted[..] {
        [] => !is_ready(endpoint),
        [zone] => is_ready(endpoint) && zones.contains(zone),
        _ => false,
    };
    valid_zones && node_hints.is_none_or(Vec::is_empty)
}

fn endpoints<'s>(slices: impl Iterator<Item = &'s EndpointSlice>) -> impl Iterator<Item = &'s Endpoint> {
    slices.flat_map(|slice| slice.endpoints.iter().flatten())
}

fn zones_of(endpoint: &Endpoint) -> impl Iterator<Item = &str> {
    let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    zones.map(|zone| zone.name.as_str())
}

/// Whether the endpoint is ready; an absent condition counts as not ready (H73).
pub(super) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}
