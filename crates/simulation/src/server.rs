//! The in-memory API server: resourceVersions, uids, generations, preconditions, and a log of changes per resource.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::ObjectRef;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use slice_reconciler::Operation;
use slice_runtime::simulation::Response;

use crate::object::{NAMESPACE, Object, Resource, is_undecodable, owner_uid};

/// How a mutating webhook changes each slice that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    ServiceName,
    StripServiceName,
    ManagedBy,
}

/// The server rejects requests, except for watches that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overload {
    /// Seconds in `Retry-After`; zero if there is none.
    pub(crate) retry_after: u8,
}

impl Overload {
    pub(crate) fn retry_after(self) -> Option<Duration> {
        (self.retry_after > 0).then(|| Duration::from_secs(self.retry_after.into()))
    }

    /// How long a client waits.
    pub(crate) fn delay(self) -> Duration {
        self.retry_after().unwrap_or(Duration::from_secs(1))
    }
}

/// One change of an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) before: Option<Object>,
    /// None for a deletion; `version` is its resourceVersion then.
    pub(crate) after: Option<Object>,
    pub(crate) version: u64,
}

type Objects = BTreeMap<(Resource, String), Object>;

#[derive(Debug, Default)]
pub(crate) struct Server {
    version: u64,
    uids: u64,
    objects: Objects,
    log: BTreeMap<Resource, Vec<Change>>,
    pub(crate) webhook: Option<Rewrite>,
    pub(crate) overload: Option<Overload>,
    copy: Option<(u64, Objects)>,
}

/// What a write led to.
#[derive(Debug)]
pub(crate) struct Executed {
    /// None after a conflict, when the client reads the live slice.
    pub(crate) response: Option<Response>,
    /// Whether the write changed a stored slice.
    pub(crate) committed: bool,
}

impl Server {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, resource: Resource, name: &str) -> Option<&Object> {
        self.objects.get(&(resource, name.to_owned()))
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    pub(crate) fn list(&self, resource: Resource) -> impl Iterator<Item = &Object> {
        let all = self.objects.iter();
        all.filter(move |((found, _), _)| *found == resource)
            .map(|(_, object)| object)
    }

    pub(crate) fn slice(&self, name: &str) -> Option<&Arc<EndpointSlice>> {
        match self.get(Resource::Slices, name)? {
            Object::Slice(slice) => Some(slice),
            _ => None,
        }
    }

    pub(crate) fn slices(&self) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        self.list(Resource::Slices).filter_map(|object| match object {
            Object::Slice(slice) => Some(slice),
            _ => None,
        })
    }

    /// The changes of a resource from a position on.
    pub(crate) fn changes(&self, resource: Resource, position: usize) -> &[Change] {
        let log = self.log.get(&resource).map_or(&[][..], Vec::as_slice);
        &log[position.min(log.len())..]
    }

    /// The position after the last change of a resource.
    pub(crate) fn position(&self, resource: Resource) -> usize {
        self.log.get(&resource).map_or(0, Vec::len)
    }

    /// Creates or replaces an object. Returns it as stored.
    pub(crate) fn put(&mut self, mut object: Object) -> Object {
        self.version += 1;
        let resource = object.resource();
        let key = (resource, object.name().to_owned());
        let before = self.objects.get(&key).cloned();
        let uid = if let Some(before) = &before {
            before.uid().to_owned()
        } else {
            self.uids += 1;
            format!("uid-{}", self.uids)
        };
        let generation = before.as_ref().and_then(|before| before.metadata().generation);
        // Only that of slices is read.
        let same = resource == Resource::Slices
            && before
                .as_ref()
                .is_some_and(|before| without_annotations(before) == without_annotations(&object));
        let metadata = object.metadata_mut();
        if resource != Resource::Nodes {
            metadata.namespace = Some(NAMESPACE.to_owned());
        }
        metadata.uid = Some(uid);
        metadata.generation = Some(generation.unwrap_or(0) + i64::from(!same));
        metadata.resource_version = Some(self.version.to_string());
        self.objects.insert(key, object.clone());
        self.log.entry(resource).or_default().push(Change {
            before,
            after: Some(object.clone()),
            version: self.version,
        });
        object
    }

    /// Deletes an object. Returns whether it existed.
    pub(crate) fn delete(&mut self, resource: Resource, name: &str) -> bool {
        let Some(before) = self.objects.remove(&(resource, name.to_owned())) else {
            return false;
        };
        self.version += 1;
        self.log.entry(resource).or_default().push(Change {
            before: Some(before),
            after: None,
            version: self.version,
        });
        true
    }

    /// Makes a copy to restore from.
    pub(crate) fn copy(&mut self) {
        self.copy = Some((self.version, self.objects.clone()));
    }

    /// Restores the copy. Returns whether there is one.
    pub(crate) fn restore(&mut self) -> bool {
        let Some((version, objects)) = self.copy.clone() else {
            return false;
        };
        (self.version, self.objects) = (version, objects);
        self.log.clear();
        true
    }

    /// Deletes the slices whose owner does not exist. Returns whether there are any.
    pub(crate) fn collect_garbage(&mut self) -> bool {
        let exists = |uid: &str| {
            let owners = self.list(Resource::Services).chain(self.list(Resource::Endpoints));
            owners.into_iter().any(|owner| owner.uid() == uid)
        };
        let orphans: Vec<String> = self
            .slices()
            .filter(|slice| owner_uid(slice).is_some_and(|uid| !exists(uid)))
            .filter_map(|slice| slice.metadata.name.clone())
            .collect();
        for name in &orphans {
            self.delete(Resource::Slices, name);
        }
        !orphans.is_empty()
    }

    /// Executes a write as an API server does. A create or update can be a dry run, which stores nothing.
    pub(crate) fn execute(&mut self, operation: &Operation, dry_run: bool) -> Executed {
        match operation {
            Operation::Create(slice) => {
                let mut slice = slice.to_k8s();
                if let (None, Some(prefix)) = (&slice.metadata.name, &slice.metadata.generate_name) {
                    slice.metadata.name = Some(format!("{prefix}generated-{}", self.version));
                }
                match self.slice(slice.metadata.name.as_deref().unwrap_or_default()) {
                    Some(_) => CONFLICT,
                    None => self.store(slice, dry_run),
                }
            }
            Operation::Update(slice) => {
                let slice = slice.to_k8s();
                match self.slice(slice.metadata.name.as_deref().unwrap_or_default()) {
                    None => Executed {
                        response: Some(Response::Conflict(None)),
                        committed: false,
                    },
                    Some(live)
                        if live.metadata.resource_version == slice.metadata.resource_version
                            && live.metadata.uid == slice.metadata.uid =>
                    {
                        self.store(slice, dry_run)
                    }
                    Some(_) => CONFLICT,
                }
            }
            Operation::Delete(deletion) => match self.slice(&deletion.name) {
                None => Executed {
                    response: Some(Response::Deleted),
                    committed: false,
                },
                Some(live)
                    if live.metadata.resource_version == deletion.resource_version
                        && live.metadata.uid == deletion.uid =>
                {
                    self.delete(Resource::Slices, &deletion.name);
                    Executed {
                        response: Some(Response::Deleted),
                        committed: true,
                    }
                }
                Some(_) => CONFLICT,
            },
        }
    }

    /// Reads a slice after a conflict.
    pub(crate) fn read_live(&self, name: &str) -> Response {
        match self.slice(name) {
            Some(slice) if is_undecodable(&slice.metadata) => {
                Response::UndecodableConflict(Box::new(ObjectRef::from(&slice.metadata)))
            }
            slice => Response::Conflict(slice.map(|slice| Box::new(EndpointSlice::clone(slice)))),
        }
    }

    fn store(&mut self, mut slice: EndpointSlice, dry_run: bool) -> Executed {
        if let Some(rewrite) = self.webhook {
            rewrite.apply(&mut slice);
        }
        if dry_run {
            return Executed {
                response: Some(Response::Stored(Box::new(slice))),
                committed: false,
            };
        }
        let stored = self.put(Object::Slice(Arc::new(slice)));
        let response = match stored {
            Object::Slice(slice) => Some(Response::Stored(Box::new(EndpointSlice::clone(&slice)))),
            _ => None,
        };
        Executed {
            response,
            committed: true,
        }
    }
}

const CONFLICT: Executed = Executed {
    response: None,
    committed: false,
};

impl Rewrite {
    pub(crate) fn apply(self, slice: &mut EndpointSlice) {
        let labels = slice.metadata.labels.get_or_insert_default();
        match self {
            Self::ServiceName => labels.insert(SERVICE_NAME_LABEL.to_owned(), "other".to_owned()),
            Self::StripServiceName => labels.remove(SERVICE_NAME_LABEL),
            Self::ManagedBy => labels.insert(MANAGED_BY_LABEL.to_owned(), "foreign".to_owned()),
        };
    }
}

/// The parts of an object whose changes increase the generation.
fn without_annotations(object: &Object) -> Object {
    let mut object = object.clone();
    let metadata = object.metadata_mut();
    metadata.annotations = None;
    metadata.resource_version = None;
    metadata.generation = None;
    metadata.uid = None;
    metadata.namespace = None;
    object
}
