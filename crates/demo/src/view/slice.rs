//! What is known of a slice.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::ResourceExt as _;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

/// What an endpoint says of itself, in the three ways that matter to those who send it traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    Ready,
    /// It ends, and still serves what it has.
    Terminating,
    NotReady,
}

impl Condition {
    pub(crate) const ALL: [Self; 3] = [Self::Ready, Self::Terminating, Self::NotReady];

    fn of(endpoint: &Endpoint) -> Self {
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

/// A slice, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SliceView {
    pub(crate) name: String,
    pub(crate) service: String,
    pub(crate) address_type: String,
    pub(crate) is_mirrored: bool,
    /// How many endpoints there are in each condition.
    pub(crate) counts: BTreeMap<Condition, usize>,
    /// How many endpoints are meant for each zone.
    pub(crate) hints: BTreeMap<String, usize>,
    /// The pods behind them, by uid.
    pub(crate) pods: BTreeMap<String, Condition>,
}

impl SliceView {
    pub(super) fn of(slice: &EndpointSlice) -> Self {
        let label = |key: &str| slice.labels().get(key).cloned().unwrap_or_default();
        let mut view = Self {
            name: slice.name_any(),
            service: label(SERVICE_NAME_LABEL),
            address_type: slice.address_type.clone(),
            is_mirrored: label(MANAGED_BY_LABEL).starts_with("endpointslicemirroring"),
            ..Self::default()
        };
        for endpoint in slice.endpoints.iter().flatten() {
            let condition = Condition::of(endpoint);
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

    /// The endpoints in words, and the hints.
    pub(crate) fn contents(&self) -> String {
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
        match in_words(&self.hints) {
            hints if hints.is_empty() => counts,
            hints => format!("{counts}; hints {hints}"),
        }
    }
}

/// How many there are of each.
pub(crate) fn in_words(counts: &BTreeMap<String, usize>) -> String {
    let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    counts.join(", ")
}
