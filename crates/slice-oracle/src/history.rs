//! A history as a value: what happened, in the order in which it happened.

use std::io::{self, BufRead, Write};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::object::{Name, Object};

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Verb {
    /// It was there when the recording began.
    Listed,
    /// It was created.
    Added,
    /// It was written.
    Modified,
    /// It is gone; the object is its last state, under the version of the deletion (R153).
    Deleted,
}

/// One revision of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Observation")]
pub struct Event {
    at: MicroTime,
    verb: Verb,
    object: Object,
    #[serde(skip)]
    revision: u64,
}

/// An [`Event`] as it is written down.
#[derive(Deserialize)]
struct Observation {
    at: MicroTime,
    verb: Verb,
    object: Object,
}

/// A resource version that cannot be put in order.
#[derive(Debug, thiserror::Error)]
#[error("{of} has the resourceVersion {found:?}; a history needs whole numbers")]
pub struct BadVersion {
    of: String,
    found: Option<String>,
}

impl BadVersion {
    /// Of a list of objects of a kind.
    pub(crate) fn of_list(kind: &str, found: Option<String>) -> Self {
        let of = format!("a list of the kind {kind}");
        Self { of, found }
    }
}

impl Event {
    /// What was seen at a time.
    pub fn new(at: Timestamp, verb: Verb, object: impl Into<Object>) -> Result<Self, BadVersion> {
        let object = object.into();
        let found = object.metadata().resource_version.as_deref();
        let revision = found
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| BadVersion {
                of: format!("{} {}", object.kind(), Name::of(object.metadata())),
                found: found.map(str::to_owned),
            })?;
        Ok(Self {
            // As exact as it is written down, so that a history read back is the same.
            at: MicroTime(Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)),
            verb,
            object,
            revision,
        })
    }

    /// When it was seen, by the clock of this machine.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at.0
    }

    /// What became of the object.
    #[must_use]
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The object, after the event.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Its resource version. All resources of a server count in one sequence, because they are in one etcd.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

impl TryFrom<Observation> for Event {
    type Error = BadVersion;

    fn try_from(seen: Observation) -> Result<Self, BadVersion> {
        Self::new(seen.at.0, seen.verb, seen.object)
    }
}

/// How many writes of slices are right between a mark and the next (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Window {
    /// Any number.
    Any,
    /// None: nothing changes but the controllers, which restart, list again, or take over from each other.
    NoWrites,
    /// One round of writes: each slice that is touched once, and the new ones that the added endpoints need.
    OneRound,
}

/// A point of a history at which the cluster was at rest. What was before explains nothing that comes after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// What begins here, for a person.
    pub mark: String,
    /// The last revision before it.
    pub revision: u64,
    /// What is right until the next mark.
    pub window: Window,
}

/// A revision of a slice that no controller wrote, but a test or a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ByHand {
    /// The uid of the slice.
    pub by_hand: String,
    /// The revision; none for its removal.
    pub revision: Option<u64>,
}

/// One line of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Entry {
    /// A revision of an object.
    Event(Box<Event>),
    /// A point at rest.
    Mark(Mark),
    /// Who wrote a revision.
    ByHand(ByHand),
}

impl Entry {
    /// Its place in the order.
    fn revision(&self) -> u64 {
        match self {
            Self::Event(event) if event.verb == Verb::Listed => 0,
            Self::Event(event) => event.revision,
            Self::Mark(mark) => mark.revision,
            Self::ByHand(hand) => hand.revision.unwrap_or_default(),
        }
    }
}

/// Everything that happened to some resources, in the order of the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    entries: Vec<Entry>,
}

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the history cannot be read")]
pub struct ReadError {
    line: usize,
    #[source]
    source: io::Error,
}

impl History {
    /// Adds an entry at its place, which need not be the end: the watches of several resources are not in step.
    pub fn push(&mut self, entry: Entry) {
        let revision = entry.revision();
        let place = self.entries.partition_point(|earlier| earlier.revision() <= revision);
        self.entries.insert(place, entry);
    }

    /// All of it, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The revisions of objects, in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(event) => Some(&**event),
            _ => None,
        })
    }

    /// Writes it as lines of JSON.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        for entry in &self.entries {
            serde_json::to_writer(&mut out, entry)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(from: impl BufRead) -> Result<Self, ReadError> {
        let mut history = Self::default();
        for (index, line) in from.lines().enumerate() {
            let error = |source| ReadError {
                line: index + 1,
                source,
            };
            let line = line.map_err(error)?;
            history.push(serde_json::from_str(&line).map_err(|source| error(source.into()))?);
        }
        Ok(history)
    }
}
