//! A history: recorded events, marks and manual writes, in the order of revisions.

use std::io::{self, BufRead, Write};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::object::{Name, Object};

/// Type of a recorded watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Verb {
    /// The object was in the initial list.
    Listed,
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was deleted; the event has its last state with the resource version of the deletion (R153).
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

/// Serialized form of an [`Event`].
#[derive(Deserialize)]
struct Observation {
    at: MicroTime,
    verb: Verb,
    object: Object,
}

/// A resource version that is not a number and so has no order.
#[derive(Debug, thiserror::Error)]
#[error("{of} has the resourceVersion {found:?}; a history needs whole numbers")]
pub struct InvalidVersion {
    of: String,
    found: Option<String>,
}

impl InvalidVersion {
    /// For a list of objects of a kind.
    pub(crate) fn of_list(kind: &str, found: Option<String>) -> Self {
        let of = format!("a list of the kind {kind}");
        Self { of, found }
    }
}

impl Event {
    /// An event, received at `at`.
    pub fn new(at: Timestamp, verb: Verb, object: impl Into<Object>) -> Result<Self, InvalidVersion> {
        let object = object.into();
        let found = object.metadata().resource_version.as_deref();
        let revision = found
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| InvalidVersion {
                of: format!("{} {}", object.kind(), Name::of(object.metadata())),
                found: found.map(str::to_owned),
            })?;
        Ok(Self {
            // Truncated to the precision of the file, so that a history read back is equal.
            at: MicroTime(Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)),
            verb,
            object,
            revision,
        })
    }

    /// When the event was received, by the local clock.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at.0
    }

    /// Type of the event.
    #[must_use]
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The object, after the event.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The object's resource version. All resources share one sequence, because they are in one etcd.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

impl TryFrom<Observation> for Event {
    type Error = InvalidVersion;

    fn try_from(seen: Observation) -> Result<Self, InvalidVersion> {
        Self::new(seen.at.0, seen.verb, seen.object)
    }
}

/// Number of slice writes allowed between a mark and the next one (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Window {
    /// Any number.
    Any,
    /// No writes: only the controllers change, which restart, relist, or take over from each other.
    NoWrites,
    /// At most one write per existing slice, and the new slices that the added endpoints need.
    OneWritePerSlice,
}

/// A point of the history at which the cluster was quiescent. Earlier events do not justify later writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// Description of the phase that begins here.
    pub mark: String,
    /// The last revision before the mark.
    pub revision: u64,
    /// Writes allowed until the next mark.
    pub window: Window,
}

/// A revision of a slice that was written by the test or a user, not by a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManualWrite {
    /// The uid of the slice.
    pub manual_write: String,
    /// The revision; `None` for the deletion.
    pub revision: Option<u64>,
}

/// One line of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Entry {
    /// A revision of an object.
    Event(Box<Event>),
    /// A point at which the cluster was quiescent.
    Mark(Mark),
    /// A revision that no controller wrote.
    ManualWrite(ManualWrite),
}

impl Entry {
    /// Sort key.
    fn revision(&self) -> u64 {
        match self {
            Self::Event(event) if event.verb == Verb::Listed => 0,
            Self::Event(event) => event.revision,
            Self::Mark(mark) => mark.revision,
            Self::ManualWrite(write) => write.revision.unwrap_or_default(),
        }
    }
}

/// All revisions of the recorded resources, in the order of the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    entries: Vec<Entry>,
}

/// A history file cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("cannot parse line {line} of the history")]
pub struct ReadError {
    line: usize,
    #[source]
    source: io::Error,
}

impl History {
    /// Inserts an entry by its revision, which need not be the highest: the watches of different resources are not
    /// synchronized.
    pub fn push(&mut self, entry: Entry) {
        let revision = entry.revision();
        let index = self.entries.partition_point(|earlier| earlier.revision() <= revision);
        self.entries.insert(index, entry);
    }

    /// All entries, in order.
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

    /// Writes the history as JSON lines.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        for entry in &self.entries {
            serde_json::to_writer(&mut out, entry)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Reads the output of [`write`](Self::write).
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
