//! A write that was sent and has no result yet.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_controller::{Key, SyncFailure, WriteError};
use slice_core::{WriteTicket, well_known::MANAGED_BY_LABEL};
use slice_reconciler::Operation;

use crate::slice_cache::SliceCache;

/// A write without a result.
#[derive(Debug)]
pub(super) enum PendingWrite {
    Create {
        sent: Sent,
        ticket: WriteTicket<Key>,
    },
    Update {
        sent: Sent,
        uid: String,
        ticket: WriteTicket<Key>,
    },
    Delete {
        name: String,
        uid: String,
        ticket: WriteTicket<Key>,
    },
}

/// The metadata of a slice to create or update.
#[derive(Debug)]
pub(super) struct Sent {
    name: String,
    labels: BTreeMap<String, String>,
    owner_uids: Vec<String>,
}

impl From<&ObjectMeta> for Sent {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            labels: metadata.labels.clone().unwrap_or_default(),
            owner_uids: owner_uids(metadata).map(ToOwned::to_owned).collect(),
        }
    }
}

fn owner_uids(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let owners = metadata.owner_references.iter().flatten();
    owners.map(|owner| owner.uid.as_str())
}

impl PendingWrite {
    /// Registers a write with the slice cache before it is sent.
    pub(super) fn begin(operation: &Operation, key: &Key, slices: &mut SliceCache) -> Self {
        match operation {
            Operation::Create(slice) => Self::Create {
                sent: Sent::from(&slice.metadata),
                ticket: slices.begin_write(key),
            },
            Operation::Update(slice) => Self::Update {
                sent: Sent::from(&slice.metadata),
                uid: slice.metadata.uid.clone().unwrap_or_default(),
                ticket: slices.begin_write(key),
            },
            Operation::Delete(deletion) => {
                let uid = deletion.uid.clone().unwrap_or_default();
                slices.begin_delete(key, &uid);
                Self::Delete {
                    name: deletion.name.clone(),
                    uid,
                    ticket: slices.begin_write(key),
                }
            }
        }
    }

    /// The name of the slice, and its uid if it exists already.
    pub(super) fn slice(&self) -> (&str, Option<&str>) {
        match self {
            Self::Create { sent, .. } => (&sent.name, None),
            Self::Update { sent, uid, .. } => (&sent.name, Some(uid)),
            Self::Delete { name, uid, .. } => (name, Some(uid)),
        }
    }

    pub(super) fn ticket(&self) -> &WriteTicket<Key> {
        match self {
            Self::Create { ticket, .. } | Self::Update { ticket, .. } | Self::Delete { ticket, .. } => ticket,
        }
    }

    fn sent(&self) -> Option<&Sent> {
        match self {
            Self::Create { sent, .. } | Self::Update { sent, .. } => Some(sent),
            Self::Delete { .. } => None,
        }
    }

    /// Whether a slice has the owner of the slice to create.
    pub(super) fn has_owner_of(&self, other: &ObjectMeta) -> bool {
        self.sent()
            .is_some_and(|sent| owner_uids(other).any(|uid| sent.owner_uids.iter().any(|owner| owner == uid)))
    }

    /// The error for a slice that is stored with other labels than were sent.
    pub(super) fn relabelled(&self, stored: &ObjectMeta) -> WriteError {
        let value = |label: &str| stored.labels.as_ref().and_then(|labels| labels.get(label));
        let labels = self.sent().map(|sent| &sent.labels);
        let changed = |label: &&String| labels.and_then(|labels| labels.get(*label)) != value(label);
        let mut changed = labels.into_iter().flat_map(BTreeMap::keys).filter(changed);
        let label = changed.next().map_or(MANAGED_BY_LABEL, String::as_str);
        WriteError::Relabelled {
            slice: self.slice().0.to_owned(),
            label: label.to_owned(),
            value: value(label).cloned(),
        }
    }

    /// Removes the write from the expectations of the slice cache.
    pub(super) fn abort(self, slices: &mut SliceCache) -> Aborted {
        match self {
            Self::Create { ticket, .. } => {
                slices.write_failed(ticket);
                Aborted::Create
            }
            Self::Update { sent, ticket, .. } => {
                slices.write_failed(ticket);
                Aborted::Update(sent.name)
            }
            Self::Delete { name, uid, ticket } => {
                slices.write_failed(ticket);
                slices.delete_failed(&uid);
                Aborted::Delete(name)
            }
        }
    }
}

/// A write that failed, or whose result is unknown.
pub(super) enum Aborted {
    Create,
    Update(String),
    Delete(String),
}

impl Aborted {
    pub(super) fn into_failure(self, error: WriteError) -> SyncFailure {
        match self {
            Self::Create => SyncFailure::Create(error),
            Self::Update(slice) => SyncFailure::Update { slice, error },
            Self::Delete(slice) => SyncFailure::Delete { slice, error },
        }
    }
}
