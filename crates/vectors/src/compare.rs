//! When two answers to the same step are equal: by what the slices hold afterwards, not by which slice holds it.

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
    hints::{self, Zones},
    moves::moved,
};

/// What API servers put at the end of names that they generate, and how much of the beginning they keep.
const GENERATED: usize = 5;
const GENERATED_FROM: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const PREFIX_MAX: usize = 63 - GENERATED;

/// What somebody does about a step.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) creates: Vec<EndpointSlice>,
    pub(super) updates: Vec<EndpointSlice>,
    pub(super) deletes: Vec<String>,
    /// How often upstream makes a slice that it made already; what is compared is as if it was made once.
    pub(super) repeats: usize,
    pub(super) events: Vec<Event>,
    pub(super) error: bool,
}

impl Answer {
    /// What we do.
    pub(super) fn of(plan: Plan) -> Self {
        let mut answer = Self::default();
        for write in plan.writes {
            match write.operation {
                Operation::Create(slice) => answer.creates.push(slice.to_k8s()),
                Operation::Update(slice) => answer.updates.push(slice.to_k8s()),
                Operation::Delete(deletion) => answer.deletes.push(deletion.name),
            }
        }
        let event = |event: HintEvent| Event {
            kind: event.event_type.as_str().to_owned(),
            reason: event.reason.to_owned(),
            message: event.message,
        };
        answer.events = plan
            .hints
            .into_iter()
            .filter_map(|outcome| outcome.event)
            .map(event)
            .collect();
        answer
    }
}

impl From<&Expected> for Answer {
    fn from(expected: &Expected) -> Self {
        let mut made = BTreeSet::new();
        let mut creates = expected.creates.clone();
        creates.retain(|slice| made.insert(what_is_made(slice)));
        Self {
            repeats: expected.creates.len() - creates.len(),
            creates,
            updates: expected.updates.clone(),
            deletes: expected.deletes.clone(),
            events: expected.events.clone(),
            error: expected.error.is_some(),
        }
    }
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// How many creates, updates and deletes.
    Writes,
    /// Creates of what was made already.
    Repeats,
    /// How many endpoints slices hold.
    Sizes,
    /// Which endpoints slices hold.
    Content,
    /// Their labels, annotations and owners.
    Metadata,
    /// How many endpoints topology hints give to each zone.
    Hints,
    /// How many a zone lacks of what it needs, or has beyond what it may have.
    HintBounds,
    /// What holds for all topology hints.
    HintRules,
    Events,
    /// Events about what is left out of slices.
    LeftOut,
    Error,
    /// What new slices are called, but for what is generated.
    Names,
    /// Endpoints that stay, and go into another slice.
    Moves,
}

/// Where two answers differ.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) aspect: Aspect,
    /// The address type of the slices that differ; events and the like are of no type.
    pub(super) address_type: Option<String>,
    /// For a person.
    pub(super) text: String,
}

/// What is compared.
#[derive(Debug)]
pub(super) struct Scope {
    /// Hints exactly, or by zone (topology mode Auto chooses at random upstream).
    pub(super) exact_hints: bool,
    /// What is known of zones.
    pub(super) zones: Option<Zones>,
    /// Whether all endpoints that hints share out are seen: an owner that is going away gets no new slices for them.
    pub(super) all_are_published: bool,
    /// Whether the slices of a group become one, whatever moves (M79).
    pub(super) merges_slices: bool,
}

impl Scope {
    pub(super) fn of(step: &Step) -> Self {
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
            zones: Zones::of_nodes(&step.nodes),
            all_are_published: !is_terminating(step),
            merges_slices: step.endpoints.is_some(),
        }
    }
}

/// Where two answers differ; nowhere when they are equal.
pub(super) fn differences(
    existing: &[EndpointSlice],
    upstream: &Answer,
    ours: &Answer,
    scope: &Scope,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    let (theirs, mine) = (counts(existing, upstream), counts(existing, ours));
    for address_type in theirs.keys().chain(mine.keys()).collect::<BTreeSet<_>>() {
        let count = |counts: &BTreeMap<&str, [usize; 3]>| format!("{:?}", counts.get(address_type).unwrap_or(&[0; 3]));
        let what = format!("{address_type} creates, updates, deletes");
        let difference = difference(Aspect::Writes, &what, &count(&theirs), &count(&mine));
        differences.extend(difference.map(|difference| difference.of(address_type)));
    }
    let (theirs, mine) = (apply(existing, upstream, scope), apply(existing, ours, scope));
    let keys: BTreeSet<_> = theirs.keys().chain(mine.keys()).collect();
    for key @ (address_type, ports) in keys {
        let none = Content::default();
        let (theirs, mine) = (theirs.get(key).unwrap_or(&none), mine.get(key).unwrap_or(&none));
        for ((aspect, what, theirs), (_, _, mine)) in theirs.aspects().into_iter().zip(mine.aspects()) {
            let difference = difference(aspect, &format!("{what} of {address_type} {ports}"), &theirs, &mine);
            differences.extend(difference.map(|difference| difference.of(address_type)));
        }
    }
    let mut compare = |aspect: Aspect, what: &str, upstream: String, ours: String| {
        differences.extend(difference(aspect, what, &upstream, &ours));
    };
    compare(
        Aspect::Repeats,
        "creates that are repeated",
        upstream.repeats.to_string(),
        ours.repeats.to_string(),
    );
    if !upstream.creates.is_empty() && !ours.creates.is_empty() {
        compare(Aspect::Names, "names of new slices", prefixes(upstream), prefixes(ours));
    }
    let other = |event: &Event| !is_about_what_is_left_out(event);
    compare(Aspect::Events, "events", events(upstream, other), events(ours, other));
    let (theirs, mine) = (
        events(upstream, is_about_what_is_left_out),
        events(ours, is_about_what_is_left_out),
    );
    compare(Aspect::LeftOut, "what is left out", theirs, mine);
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
        differences.extend(moved(existing, ours));
    }
    differences
}

/// What differs, if anything does.
fn difference(aspect: Aspect, what: &str, upstream: &str, ours: &str) -> Option<Difference> {
    (upstream != ours).then(|| Difference {
        aspect,
        address_type: None,
        text: format!("{what}\n  upstream {upstream}\n  ours     {ours}"),
    })
}

impl Difference {
    /// The same, known to be of a type.
    fn of(self, address_type: &str) -> Self {
        Self {
            address_type: Some(address_type.to_owned()),
            ..self
        }
    }
}

/// How many creates, updates and deletes there are of each address type; what is deleted without being there is of none.
fn counts<'a>(existing: &'a [EndpointSlice], answer: &'a Answer) -> BTreeMap<&'a str, [usize; 3]> {
    let of_deleted = |name: &String| {
        let slice = existing.iter().find(|slice| slice.metadata.name.as_ref() == Some(name));
        slice.map_or("unknown", |slice| &slice.address_type)
    };
    let mut counts = BTreeMap::<&str, [usize; 3]>::new();
    let mut count = |address_type: &'a str, place: usize| counts.entry(address_type).or_default()[place] += 1;
    for (place, slices) in [&answer.creates, &answer.updates].into_iter().enumerate() {
        for slice in slices {
            count(&slice.address_type, place);
        }
    }
    for name in &answer.deletes {
        count(of_deleted(name), 2);
    }
    counts
}

/// All but its name: that is generated anew each time.
fn what_is_made(slice: &EndpointSlice) -> (Key, String, Vec<String>) {
    let mut endpoints: Vec<String> = slice.endpoints.iter().flatten().map(as_json).collect();
    endpoints.sort();
    (key(slice), metadata(slice), endpoints)
}

/// What the names of new slices begin with, each once: how many there are is compared with the writes.
fn prefixes(answer: &Answer) -> String {
    let prefixes: BTreeSet<&str> = answer.creates.iter().map(name_prefix).collect();
    Vec::from_iter(prefixes).join(" ")
}

/// The API server cuts what it is asked to generate a name from; we send the name that it would have come to.
fn name_prefix(slice: &EndpointSlice) -> &str {
    if let Some(asked_for) = &slice.metadata.generate_name {
        return asked_for.get(..PREFIX_MAX).unwrap_or(asked_for);
    }
    let name = slice.metadata.name.as_deref().unwrap_or_default();
    let split = name
        .len()
        .checked_sub(GENERATED)
        .and_then(|at| name.split_at_checked(at));
    match split {
        Some((prefix, ending)) if ending.bytes().all(|byte| GENERATED_FROM.contains(&byte)) => prefix,
        _ => name,
    }
}

fn is_about_what_is_left_out(event: &Event) -> bool {
    event.reason == FAILED_TO_UPDATE_SLICES && event.message.contains(" left out: ")
}

fn events(answer: &Answer, which: impl Fn(&Event) -> bool) -> String {
    let mut events: Vec<&Event> = answer.events.iter().filter(|event| which(event)).collect();
    events.sort();
    events
        .iter()
        .map(|event| format!("{} {}: {}", event.kind, event.reason, event.message))
        .collect::<Vec<_>>()
        .join("; ")
}

/// What the slices of one address type and set of ports hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    sizes: Vec<usize>,
    metadata: Vec<String>,
    endpoints: Vec<String>,
}

impl Content {
    /// What is compared of it, what that is for a person, and how it reads.
    fn aspects(&self) -> [(Aspect, &'static str, String); 3] {
        [
            (Aspect::Sizes, "sizes", format!("{:?}", self.sizes)),
            (Aspect::Metadata, "metadata", self.metadata.join(" ")),
            (Aspect::Content, "endpoints", self.endpoints.join("\n           ")),
        ]
    }
}

/// The slices that there are once an answer is carried out.
fn afterwards<'a>(existing: &'a [EndpointSlice], answer: &'a Answer) -> impl Iterator<Item = &'a EndpointSlice> {
    let untouched = existing.iter().filter(|slice| {
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        let updated = answer
            .updates
            .iter()
            .any(|update| update.metadata.name == slice.metadata.name);
        !updated && !answer.deletes.iter().any(|deleted| deleted == name)
    });
    untouched.chain(&answer.updates).chain(&answer.creates)
}

fn hint_differences(existing: &[EndpointSlice], upstream: &Answer, ours: &Answer, scope: &Scope) -> Vec<Difference> {
    let of_type = |address_type: AddressType| {
        let select = |slices: &mut dyn Iterator<Item = &'_ EndpointSlice>| -> Vec<EndpointSlice> {
            slices
                .filter(|slice| slice.address_type == address_type.as_str())
                .cloned()
                .collect()
        };
        hints::differences(
            scope.zones.as_ref(),
            scope.all_are_published,
            address_type.as_str(),
            &select(&mut afterwards(existing, upstream)),
            &select(&mut afterwards(existing, ours)),
            &select(&mut ours.updates.iter().chain(&ours.creates)),
        )
    };
    [AddressType::IPv4, AddressType::IPv6]
        .into_iter()
        .flat_map(of_type)
        .collect()
}

fn apply(existing: &[EndpointSlice], answer: &Answer, scope: &Scope) -> BTreeMap<Key, Content> {
    let mut contents: BTreeMap<Key, Content> = BTreeMap::new();
    for slice in afterwards(existing, answer) {
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

/// Address type and ports.
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

#[cfg(test)]
mod tests;
