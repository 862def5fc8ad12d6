//! Violations, and the history of the slices that they concern.

use std::{collections::BTreeSet, fmt::Write as _};

use k8s_openapi::{api::discovery::v1::EndpointSlice, jiff::Timestamp};
use slice_oracle::{Entry, Event, History, ManualWrite, Object, Verb};

use crate::{damage::ReplicaId, writers::SliceWrite};

/// More are only counted.
const MESSAGES_MAX: usize = 20;
/// Slices whose history is printed.
const SLICES_MAX: usize = 5;
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// An edit of a slice of a Service whose result is unknown.
#[derive(Clone, Debug)]
pub(crate) struct UncertainEdit {
    pub(crate) service: String,
    pub(crate) since: Timestamp,
}

/// What must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) message: String,
    pub(crate) subject: Subject,
}

/// The slices that a violation concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// These slices; none if a process failed, or the cluster did not become quiescent.
    Slices(Vec<String>),
    /// All slices of a Service.
    Service(String),
}

impl Violation {
    /// One that concerns no slice.
    pub(crate) fn without_slices(message: String) -> Self {
        let subject = Subject::Slices(Vec::new());
        Self { message, subject }
    }
}

impl From<slice_oracle::Violation> for Violation {
    fn from(violation: slice_oracle::Violation) -> Self {
        let message = violation.to_string();
        let mut words = violation.object.split(' ');
        let (kind, object) = (words.next(), words.next().unwrap_or_default());
        let subject = match kind {
            Some("EndpointSlice") => Subject::Slices(vec![base_name(object)]),
            Some("Service" | "Endpoints") => Subject::Service(base_name(object)),
            // A mark: what was found are the slices that were written since.
            _ => {
                let slices = violation.found.split(", ");
                let slices = slices.filter_map(|slice| slice.strip_prefix("EndpointSlice "));
                Subject::Slices(slices.map(base_name).collect())
            }
        };
        Self { message, subject }
    }
}

/// The name of `namespace/name`.
fn base_name(object: &str) -> String {
    object.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A request that wrote a slice, or tried to, with the time of the clock.
pub(crate) type Request = (Timestamp, ReplicaId, SliceWrite);

/// Adds manual writes for all revisions that may be of an uncertain edit.
pub(crate) fn excuse(history: &mut History, uncertain: &[UncertainEdit]) {
    let is_uncertain = |event: &&Event| {
        let Object::EndpointSlice(slice) = event.object() else {
            return false;
        };
        let service = service_of(slice);
        let mut edits = uncertain.iter();
        edits.any(|edit| Some(edit.service.as_str()) == service && event.at() >= edit.since)
    };
    let writes = history.events().filter(is_uncertain).map(|event| ManualWrite {
        manual_write: event.object().metadata().uid.clone().unwrap_or_default(),
        revision: (event.verb() != Verb::Deleted).then_some(event.revision()),
    });
    let writes: Vec<ManualWrite> = writes.collect();
    for write in writes {
        history.push(Entry::ManualWrite(write));
    }
}

/// The violations, and below them every watch event of the slices concerned, with the requests that wrote them.
pub(crate) fn describe(violations: &[Violation], history: &History, requests: &[Request]) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    for violation in violations.iter().take(MESSAGES_MAX) {
        let _ = writeln!(text, "{}", violation.message);
    }
    if violations.len() > MESSAGES_MAX {
        let _ = writeln!(text, "and {} more", violations.len() - MESSAGES_MAX);
    }
    let slices = violations
        .iter()
        .flat_map(|violation| slices_of(&violation.subject, history));
    let slices: BTreeSet<&str> = slices.collect();
    for slice in slices.into_iter().take(SLICES_MAX) {
        let _ = writeln!(text, "history of EndpointSlice {slice}:");
        for (at, line) in lines(slice, history, requests) {
            let _ = writeln!(text, "  {at} {line}");
        }
    }
    text
}

fn slices_of<'a>(subject: &'a Subject, history: &'a History) -> BTreeSet<&'a str> {
    match subject {
        Subject::Slices(names) => names.iter().map(String::as_str).collect(),
        Subject::Service(name) => slice_events(history)
            .filter(|(_, slice)| service_of(slice) == Some(name))
            .map(|(_, slice)| name_of(slice))
            .collect(),
    }
}

/// The events and requests of a slice, by time.
fn lines(name: &str, history: &History, requests: &[Request]) -> Vec<(Timestamp, String)> {
    let events = slice_events(history).filter(|(_, slice)| name_of(slice) == name);
    let events = events.map(|(event, slice)| {
        let content = serde_json::to_string(slice).unwrap_or_else(|error| error.to_string());
        (event.at(), format!("{:?} {}", event.verb(), content))
    });
    let requests = requests.iter().filter(|(_, _, write)| write.slice == name);
    let requests = requests.map(|(at, replica, write)| {
        let status = write
            .status
            .map_or("no response".to_owned(), |status| status.to_string());
        (*at, format!("request of {replica}: {:?}, {status}", write.verb))
    });
    let mut lines: Vec<_> = events.chain(requests).collect();
    lines.sort_by_key(|(at, _)| *at);
    lines
}

fn slice_events(history: &History) -> impl Iterator<Item = (&Event, &EndpointSlice)> {
    history.events().filter_map(|event| match event.object() {
        Object::EndpointSlice(slice) => Some((event, &**slice)),
        _ => None,
    })
}

fn name_of(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

fn service_of(slice: &EndpointSlice) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref()?;
    labels.get(SERVICE_NAME).map(String::as_str)
}

#[cfg(test)]
mod tests;
