//! The shown fields of a slice.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::ResourceExt as _;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

/// Conditions of an endpoint, reduced to the three states that matter to kube-proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    Ready,
    /// Serving and terminating.
    Terminating,
    NotReady,
}

impl Condition {
    pub(crate) const ALL: [Self; 3] = [Self::Ready, Self::Terminating, Self::NotReady];

    fn from_endpoint(endpoint: &Endpoint) -> Self {
        let conditions = endpoint.conditions.clone().unwrap_or_default();
        let is_ready = conditions.ready.unwrap_or(true);
        let is_serving = conditions.serving.unwrap_or(is_ready);
        match (is_ready, is_serving && conditions.terminating == Some(true)) {
            (true, _) => Self::Ready,
            (false, true) => Self::Terminating,
            (false, false) => Self::NotReady,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Ready => "ready",
            Self::Terminating => "serving+terminating",
            Self::NotReady => "not ready",
        })
    }
}

/// The fields of a slice that the demo shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SliceView {
    pub(crate) name: String,
    pub(crate) service: String,
    pub(crate) address_type: String,
    pub(crate) is_mirrored: bool,
    /// Number of endpoints by condition.
    pub(crate) counts: BTreeMap<Condition, usize>,
    /// Number of endpoints with a hint for each zone.
    pub(crate) hints: BTreeMap<String, usize>,
    /// Condition of each pod by uid.
    pub(crate) pods: BTreeMap<String, Condition>,
}

impl SliceView {
    pub(super) fn from_slice(slice: &EndpointSlice) -> Self {
        let label = |key: &str| slice.labels().get(key).cloned().unwrap_or_default();
        let mut view = Self {
            name: slice.name_any(),
            service: label(SERVICE_NAME_LABEL),
            address_type: slice.address_type.clone(),
            is_mirrored: label(MANAGED_BY_LABEL).starts_with("endpointslicemirroring"),
            ..Self::default()
        };
        for endpoint in slice.endpoints.iter().flatten() {
            let condition = Condition::from_endpoint(endpoint);
            *view.counts.entry(condition).or_default() += 1;
            let hints = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_ref());
            for zone in hints.into_iter().flatten() {
                *view.hints.entry(zone.name.clone()).or_default() += 1;
            }
            let target = endpoint.target_ref.as_ref();
            if let Some(uid) = target.and_then(|target| target.uid.clone()) {
                view.pods.insert(uid, condition);
            }
        }
        view
    }

    pub(crate) fn count(&self, condition: Condition) -> usize {
        self.counts.get(&condition).copied().unwrap_or_default()
    }

    pub(crate) fn endpoints(&self) -> usize {
        self.counts.values().sum()
    }

    /// Counts of endpoints by condition, and of hints by zone.
    pub(crate) fn summary(&self) -> String {
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(condition, count)| format!("{count} {condition}"))
            .collect();
        let counts = if counts.is_empty() {
            "no endpoints".to_owned()
        } else {
            counts.join(", ")
        };
        match format_counts(&self.hints) {
            hints if hints.is_empty() => counts,
            hints => format!("{counts}; hints {hints}"),
        }
    }
}

/// Formats counts as `name count, …`.
pub(crate) fn format_counts(counts: &BTreeMap<String, usize>) -> String {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    counts.join(", ")
}
