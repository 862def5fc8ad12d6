//! Compares two results of the same step: by the content of all slices after the writes, not by which slice has which endpoint.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use serde::Serialize;
use slice_core::{
    AddressType, PortMapKey,
    well_known::{FAILED_TO_UPDATE_SLICES, TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION},
};
use slice_reconciler::{Operation, Plan, hints::HintEvent};

use super::{
    causes::is_terminating,
    chain::{Event, Expected, Step},
    hints::{self, ZoneRatios},
    moves::moved_endpoints,
};

/// Length and alphabet of the suffix of a generated name, and maximum length of its prefix.
const SUFFIX_LEN: usize = 5;
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const PREFIX_MAX: usize = 63 - SUFFIX_LEN;

/// Result of reconciling a step, by upstream or by us.
#[derive(Debug, Default)]
pub(super) struct ReconcileResult {
    pub(super) creates: Vec<EndpointSlice>,
    pub(super) updates: Vec<EndpointSlice>,
    pub(super) deletes: Vec<String>,
    /// Number of repeated creates of the same slice, which upstream sends; `creates` has each slice once.
    pub(super) repeated_creates: usize,
    pub(super) events: Vec<Event>,
    pub(super) error: bool,
}

impl ReconcileResult {
    /// Our result.
    pub(super) fn from_plan(plan: Plan) -> Self {
        let mut result = Self::default();
        for write in plan.writes {
            match write.operation {
                Operation::Create(slice) => result.creates.push(slice.to_k8s()),
                Operation::Update(slice) => result.updates.push(slice.to_k8s()),
                Operation::Delete(delete) => result.deletes.push(delete.name),
            }
        }
        let event = |event: HintEvent| Event {
            kind: event.event_type.as_str().to_owned(),
            reason: event.reason.to_owned(),
            message: event.message,
        };
        result.events = plan
            .hints
            .into_iter()
            .filter_map(|outcome| outcome.event)
            .map(event)
            .collect();
        result
    }
}

impl From<&Expected> for ReconcileResult {
    fn from(expected: &Expected) -> Self {
        let mut keys = BTreeSet::new();
        let mut creates = expected.creates.clone();
        creates.retain(|slice| keys.insert(creation_key(slice)));
        Self {
            repeated_creates: expected.creates.len() - creates.len(),
            creates,
            updates: expected.updates.clone(),
            deletes: expected.deletes.clone(),
            events: expected.events.clone(),
            error: expected.error.is_some(),
        }
    }
}

/// An aspect of a result that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// Number of creates, updates and deletes.
    Writes,
    /// Number of repeated creates.
    RepeatedCreates,
    /// Number of endpoints per slice.
    Sizes,
    /// Endpoints of the slices.
    Content,
    /// Labels, annotations and owners of the slices.
    Metadata,
    /// Number of endpoints with a hint for each zone.
    Hints,
    /// Bounds of the number of endpoints per zone.
    HintBounds,
    /// Rules that every topology hint follows.
    HintRules,
    /// Events, except those of `Rejections`.
    Events,
    /// Events about rejected endpoints, ports and labels.
    Rejections,
    /// Whether the reconciliation fails.
    Error,
    /// Names of new slices without the generated suffix.
    Names,
    /// Endpoints that move to another slice.
    Moves,
}

/// A difference between two results.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) aspect: Aspect,
    /// Address type of the slices that differ; `None` for events, errors and names.
    pub(super) address_type: Option<String>,
    /// Printed description.
    pub(super) text: String,
}

/// How the results of a step are compared.
#[derive(Debug)]
pub(super) struct Scope {
    /// Whether hints are compared exactly; otherwise by zone, because upstream chooses at random in topology mode Auto.
    pub(super) exact_hints: bool,
    /// Zone ratios, if nodes have the information.
    pub(super) zones: Option<ZoneRatios>,
    /// Whether all endpoints with hints are published: a terminating owner gets no new slices.
    pub(super) all_published: bool,
    /// Whether all slices of a group are merged into one, which moves endpoints (M79).
    pub(super) merges_slices: bool,
}

impl Scope {
    pub(super) fn from_step(step: &Step) -> Self {
        let annotations = step
            .service
            .as_ref()
            .and_then(|service| service.metadata.annotations.as_ref());
        let mode = annotations.and_then(|annotations| {
            annotations
                .get(TOPOLOGY_HINTS_ANNOTATION)
                .or_else(|| annotations.get(TOPOLOGY_MODE_ANNOTATION))
        });
        Self {
            exact_hints: !matches!(mode.map(String::as_str), Some("Auto" | "auto")),
            zones: ZoneRatios::from_nodes(&step.nodes),
            all_published: !is_terminating(step),
            merges_slices: step.endpoints.is_some(),
        }
    }
}

/// All differences between two results; empty if they are equivalent.
pub(super) fn differences(
    existing: &[EndpointSlice],
    upstream: &ReconcileResult,
    ours: &ReconcileResult,
    scope: &Scope,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    let (theirs, mine) = (write_counts(existing, upstream), write_counts(existing, ours));
    for address_type in theirs.keys().chain(mine.keys()).collect::<BTreeSet<_>>() {
        let count = |counts: &BTreeMap<&str, [usize; 3]>| format!("{:?}", counts.get(address_type).unwrap_or(&[0; 3]));
        let label = format!("{address_type} creates, updates, deletes");
        let difference = difference(Aspect::Writes, &label, &count(&theirs), &count(&mine));
        differences.extend(difference.map(|difference| difference.with_type(address_type)));
    }
    let (theirs, mine) = (
        contents_after(existing, upstream, scope),
        contents_after(existing, ours, scope),
    );
    let keys: BTreeSet<_> = theirs.keys().chain(mine.keys()).collect();
    for key @ (address_type, ports) in keys {
        let none = Content::default();
        let (theirs, mine) = (theirs.get(key).unwrap_or(&none), mine.get(key).unwrap_or(&none));
        for ((aspect, label, theirs), (_, _, mine)) in theirs.aspects().into_iter().zip(mine.aspects()) {
            let difference = difference(aspect, &format!("{label} of {address_type} {ports}"), &theirs, &mine);
            differences.extend(difference.map(|difference| difference.with_type(address_type)));
        }
    }
    let mut compare = |aspect: Aspect, label: &str, upstream: String, ours: String| {
        differences.extend(difference(aspect, label, &upstream, &ours));
    };
    compare(
        Aspect::RepeatedCreates,
        "repeated creates",
        upstream.repeated_creates.to_string(),
        ours.repeated_creates.to_string(),
    );
    if !upstream.creates.is_empty() && !ours.creates.is_empty() {
        compare(Aspect::Names, "names of new slices", prefixes(upstream), prefixes(ours));
    }
    let other = |event: &Event| !is_rejection(event);
    compare(Aspect::Events, "events", events(upstream, other), events(ours, other));
    let (theirs, mine) = (events(upstream, is_rejection), events(ours, is_rejection));
    compare(Aspect::Rejections, "rejections", theirs, mine);
    compare(
        Aspect::Error,
        "error",
        upstream.error.to_string(),
        ours.error.to_string(),
    );
    if !scope.exact_hints {
        differences.extend(hint_differences(existing, upstream, ours, scope));
    }
    if !scope.merges_slices {
        differences.extend(moved_endpoints(existing, ours));
    }
    differences
}

/// A difference, if the texts are not equal.
fn difference(aspect: Aspect, label: &str, upstream: &str, ours: &str) -> Option<Difference> {
    (upstream != ours).then(|| Difference {
        aspect,
        address_type: None,
        text: format!("{label}\n  upstream {upstream}\n  ours     {ours}"),
    })
}

impl Difference {
    fn with_type(self, address_type: &str) -> Self {
        Self {
            address_type: Some(address_type.to_owned()),
            ..self
        }
    }
}

/// Number of creates, updates and deletes by address type; `unknown` for deletes of slices that do not exist.
fn write_counts<'a>(existing: &'a [EndpointSlice], result: &'a ReconcileResult) -> BTreeMap<&'a str, [usize; 3]> {
    let type_of_deleted = |name: &String| {
        let slice = existing.iter().find(|slice| slice.metadata.name.as_ref() == Some(name));
        slice.map_or("unknown", |slice| &slice.address_type)
    };
    let mut counts = BTreeMap::<&str, [usize; 3]>::new();
    let mut count = |address_type: &'a str, index: usize| counts.entry(address_type).or_default()[index] += 1;
    for (index, slices) in [&result.creates, &result.updates].into_iter().enumerate() {
        for slice in slices {
            count(&slice.address_type, index);
        }
    }
    for name in &result.deletes {
        count(type_of_deleted(name), 2);
    }
    counts
}

/// Identifies a created slice by everything except its generated name.
fn creation_key(slice: &EndpointSlice) -> (Key, String, Vec<String>) {
    let mut endpoints: Vec<String> = slice.endpoints.iter().flatten().map(as_json).collect();
    endpoints.sort();
    (key(slice), metadata(slice), endpoints)
}

/// Name prefixes of new slices, without duplicates: their number is compared with the writes.
fn prefixes(result: &ReconcileResult) -> String {
    let prefixes: BTreeSet<&str> = result.creates.iter().map(name_prefix).collect();
    Vec::from_iter(prefixes).join(" ")
}

/// Name prefix of a new slice. Upstream sends generateName, which the API server truncates; we send the complete name.
fn name_prefix(slice: &EndpointSlice) -> &str {
    if let Some(generate_name) = &slice.metadata.generate_name {
        return generate_name.get(..PREFIX_MAX).unwrap_or(generate_name);
    }
    let name = slice.metadata.name.as_deref().unwrap_or_default();
    let split = name
        .len()
        .checked_sub(SUFFIX_LEN)
        .and_then(|at| name.split_at_checked(at));
    match split {
        Some((prefix, suffix)) if suffix.bytes().all(|byte| SUFFIX_ALPHABET.contains(&byte)) => prefix,
        _ => name,
    }
}

/// Whether an event reports a rejection. The same reason is used for failed writes, with upstream's message.
fn is_rejection(event: &Event) -> bool {
    event.reason == FAILED_TO_UPDATE_SLICES && !event.message.starts_with("Error updating Endpoint Slices for ")
}

fn events(result: &ReconcileResult, filter: impl Fn(&Event) -> bool) -> String {
    let mut events: Vec<&Event> = result.events.iter().filter(|event| filter(event)).collect();
    events.sort();
    events
        .iter()
        .map(|event| format!("{} {}: {}", event.kind, event.reason, event.message))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Content of the slices of one address type and set of ports.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    sizes: Vec<usize>,
    metadata: Vec<String>,
    endpoints: Vec<String>,
}

impl Content {
    /// The compared aspects, each with a label and a printable value.
    fn aspects(&self) -> [(Aspect, &'static str, String); 3] {
        [
            (Aspect::Sizes, "sizes", format!("{:?}", self.sizes)),
            (Aspect::Metadata, "metadata", self.metadata.join(" ")),
            (Aspect::Content, "endpoints", self.endpoints.join("\n           ")),
        ]
    }
}

/// The slices after the writes of a result.
fn state_after<'a>(
    existing: &'a [EndpointSlice],
    result: &'a ReconcileResult,
) -> impl Iterator<Item = &'a EndpointSlice> {
    let untouched = existing.iter().filter(|slice| {
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        let updated = result
            .updates
            .iter()
            .any(|update| update.metadata.name == slice.metadata.name);
        !updated && !result.deletes.iter().any(|deleted| deleted == name)
    });
    untouched.chain(&result.updates).chain(&result.creates)
}

fn hint_differences(
    existing: &[EndpointSlice],
    upstream: &ReconcileResult,
    ours: &ReconcileResult,
    scope: &Scope,
) -> Vec<Difference> {
    let of_type = |address_type: AddressType| {
        let select = |slices: &mut dyn Iterator<Item = &'_ EndpointSlice>| -> Vec<EndpointSlice> {
            slices
                .filter(|slice| slice.address_type == address_type.as_str())
                .cloned()
                .collect()
        };
        hints::differences(
            scope.zones.as_ref(),
            scope.all_published,
            address_type.as_str(),
            &select(&mut state_after(existing, upstream)),
            &select(&mut state_after(existing, ours)),
            &select(&mut ours.updates.iter().chain(&ours.creates)),
        )
    };
    [AddressType::IPv4, AddressType::IPv6]
        .into_iter()
        .flat_map(of_type)
        .collect()
}

/// Contents of all slices after the writes, by address type and ports.
fn contents_after(existing: &[EndpointSlice], result: &ReconcileResult, scope: &Scope) -> BTreeMap<Key, Content> {
    let mut contents: BTreeMap<Key, Content> = BTreeMap::new();
    for slice in state_after(existing, result) {
        let content = contents.entry(key(slice)).or_default();
        let endpoints = slice.endpoints.iter().flatten();
        content.sizes.push(endpoints.clone().count());
        content.metadata.push(metadata(slice));
        content
            .endpoints
            .extend(endpoints.map(|endpoint| describe(endpoint, scope)));
    }
    for content in contents.values_mut() {
        content.sizes.sort_unstable();
        content.metadata.sort();
        content.endpoints.sort();
    }
    contents
}

/// Address type and ports of a slice.
type Key = (String, String);

pub(super) fn key(slice: &EndpointSlice) -> Key {
    let ports = PortMapKey::from_k8s(slice.ports.as_deref());
    let ports: Vec<String> = ports
        .ports()
        .iter()
        .map(|port| format!("{}:{:?}/{}{:?}", port.name, port.port, port.protocol, port.app_protocol))
        .collect();
    (slice.address_type.clone(), format!("[{}]", ports.join(" ")))
}

fn metadata(slice: &EndpointSlice) -> String {
    let metadata = &slice.metadata;
    let (labels, annotations) = (metadata.labels.clone(), metadata.annotations.clone());
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    format!(
        "{:?} {:?} {}",
        labels.unwrap_or_default(),
        annotations.unwrap_or_default(),
        as_json(&owners)
    )
}

/// An endpoint in comparable form.
fn describe(endpoint: &Endpoint, scope: &Scope) -> String {
    let mut endpoint = endpoint.clone();
    endpoint.addresses.sort();
    if !scope.exact_hints
        && let Some(hints) = &mut endpoint.hints
    {
        hints.for_zones = hints
            .for_zones
            .take()
            .filter(|zones| !zones.is_empty())
            .map(|_| Vec::new());
    }
    as_json(&endpoint)
}

fn as_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}
