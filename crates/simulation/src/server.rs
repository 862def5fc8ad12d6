//! The in-memory API server: resourceVersions, uids, generations, preconditions, and a log of changes per resource.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::{coordination::v1::Lease, discovery::v1::EndpointSlice},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use slice_controller::ObjectRef;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use slice_reconciler::Operation;
use slice_runtime::{leader_election::Step, simulation::Response};

use crate::{
    engine::Role,
    object::{Name, Object, Resource, is_terminating, is_undecodable, owner_uid},
};

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

/// How writes fail in one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceFault {
    /// They are denied.
    Denied,
    /// They get no response, and are not executed.
    Hangs,
}

/// A write of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) slice: Name,
    pub(crate) operation: Operation,
}

/// The response to a request about a lease.
#[derive(Clone, Debug)]
pub(crate) enum LeaseResponse {
    /// The lease; none if it does not exist.
    Read(Option<Lease>),
    /// The lease as stored.
    Written(Lease),
    /// A conflict, or another error.
    Failed,
}

/// What is stored, and restored from a copy.
#[derive(Clone, Debug, Default)]
struct State {
    version: u64,
    objects: BTreeMap<(Resource, Name), Object>,
    /// Terminating namespaces.
    terminating: BTreeSet<&'static str>,
    leases: BTreeMap<Role, Lease>,
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    uids: u64,
    state: State,
    /// The number of the last write of a lease, which is not restored.
    lease_writes: i64,
    /// How often leases have gone back: when the server was restored, and when a request based on a version from before a restore
    /// replaced a later lease, which by chance had the same version.
    pub(crate) lease_epoch: u32,
    log: BTreeMap<Resource, Vec<Change>>,
    pub(crate) webhook: Option<Rewrite>,
    pub(crate) overload: Option<Overload>,
    /// The namespace in which writes fail.
    pub(crate) namespace_fault: Option<(&'static str, NamespaceFault)>,
    copy: Option<State>,
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
        self.state.version
    }

    pub(crate) fn get(&self, resource: Resource, name: &Name) -> Option<&Object> {
        self.state.objects.get(&(resource, name.clone()))
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.state.objects.values()
    }

    pub(crate) fn list(&self, resource: Resource) -> impl Iterator<Item = &Object> {
        let all = self.state.objects.iter();
        all.filter(move |((found, _), _)| *found == resource)
            .map(|(_, object)| object)
    }

    pub(crate) fn slice(&self, name: &Name) -> Option<&Arc<EndpointSlice>> {
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

    /// Creates or replaces an object. Returns it as stored; none if its namespace is terminating, or if it was terminating and
    /// has no more finalizers.
    pub(crate) fn put(&mut self, mut object: Object) -> Option<Object> {
        let resource = object.resource();
        let key = (resource, object.full_name());
        let before = self.state.objects.get(&key).cloned();
        if before.is_none() && self.is_terminating(key.1.namespace) {
            return None;
        }
        let uid = if let Some(before) = &before {
            before.uid().to_owned()
        } else {
            self.uids += 1;
            format!("uid-{}", self.uids)
        };
        if resource == Resource::Slices {
            // A client cannot change it.
            let deleted_at = before
                .as_ref()
                .and_then(|before| before.metadata().deletion_timestamp.clone());
            if deleted_at.is_some() && !has_finalizers(object.metadata()) {
                self.remove(resource, &key.1);
                return None;
            }
            object.metadata_mut().deletion_timestamp = deleted_at;
        }
        Some(self.store_object(key, before, uid, object))
    }

    fn store_object(
        &mut self,
        key: (Resource, Name),
        before: Option<Object>,
        uid: String,
        mut object: Object,
    ) -> Object {
        self.state.version += 1;
        let version = self.state.version;
        let resource = key.0;
        let generation = before.as_ref().and_then(|before| before.metadata().generation);
        // Only that of slices is read.
        let same = resource == Resource::Slices
            && before
                .as_ref()
                .is_some_and(|before| without_annotations(before) == without_annotations(&object));
        let metadata = object.metadata_mut();
        metadata.uid = Some(uid);
        metadata.generation = Some(generation.unwrap_or(0) + i64::from(!same));
        metadata.resource_version = Some(version.to_string());
        self.state.objects.insert(key, object.clone());
        self.log.entry(resource).or_default().push(Change {
            before,
            after: Some(object.clone()),
            version,
        });
        object
    }

    /// Deletes an object; one with finalizers becomes terminating. Returns whether anything changed.
    pub(crate) fn delete(&mut self, resource: Resource, name: &Name) -> bool {
        let Some(before) = self.get(resource, name).cloned() else {
            return false;
        };
        if !has_finalizers(before.metadata()) {
            self.remove(resource, name);
            return true;
        }
        if is_terminating(before.metadata()) {
            return false;
        }
        let mut object = before.clone();
        object.metadata_mut().deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        let uid = before.uid().to_owned();
        self.store_object((resource, name.clone()), Some(before), uid, object);
        true
    }

    fn remove(&mut self, resource: Resource, name: &Name) {
        let Some(before) = self.state.objects.remove(&(resource, name.clone())) else {
            return;
        };
        self.state.version += 1;
        self.log.entry(resource).or_default().push(Change {
            before: Some(before),
            after: None,
            version: self.state.version,
        });
    }

    pub(crate) fn is_terminating(&self, namespace: &str) -> bool {
        self.state.terminating.contains(namespace)
    }

    /// Deletes a namespace: it is terminating until it has no more objects.
    pub(crate) fn terminate(&mut self, namespace: &'static str) {
        self.state.terminating.insert(namespace);
    }

    /// Deletes some objects of a terminating namespace. Without objects, the namespace is deleted and created again.
    pub(crate) fn purge(&mut self, namespace: &'static str, first: u8, count: u8) {
        if !self.is_terminating(namespace) {
            return;
        }
        let mut objects: Vec<(Resource, Name)> = self.state.objects.keys().cloned().collect();
        objects.retain(|(_, name)| name.namespace == namespace);
        if !objects.is_empty() {
            let first = usize::from(first) % objects.len();
            objects.rotate_left(first);
        }
        for (resource, name) in objects.iter().take(count.into()) {
            self.delete(*resource, name);
        }
        let mut left = self.state.objects.keys();
        if !left.any(|(_, name)| name.namespace == namespace) {
            self.state.terminating.remove(namespace);
        }
    }

    /// Makes a copy to restore from.
    pub(crate) fn copy(&mut self) {
        self.copy = Some(self.state.clone());
    }

    /// Restores the copy. Returns whether there is one.
    pub(crate) fn restore(&mut self) -> bool {
        let Some(state) = self.copy.clone() else {
            return false;
        };
        self.state = state;
        self.lease_epoch += 1;
        self.log.clear();
        true
    }

    /// Deletes the slices whose owner does not exist. Returns whether there are any.
    pub(crate) fn collect_garbage(&mut self) -> bool {
        let exists = |uid: &str| {
            let owners = self.list(Resource::Services).chain(self.list(Resource::Endpoints));
            owners.into_iter().any(|owner| owner.uid() == uid)
        };
        let orphans: Vec<Name> = self
            .slices()
            .filter(|slice| owner_uid(slice).is_some_and(|uid| !exists(uid)) && !is_terminating(&slice.metadata))
            .map(|slice| Name::of(&slice.metadata))
            .collect();
        for name in &orphans {
            self.delete(Resource::Slices, name);
        }
        !orphans.is_empty()
    }

    /// Executes a write as an API server does. A create or update can be a dry run, which stores nothing.
    pub(crate) fn execute(&mut self, request: &Request, dry_run: bool) -> Executed {
        let live = self.slice(&request.slice);
        match &request.operation {
            Operation::Create(_) if self.is_terminating(request.slice.namespace) => Executed {
                response: Some(Response::Error {
                    code: 403,
                    retry_after: None,
                    body: NAMESPACE_TERMINATING,
                }),
                committed: false,
            },
            Operation::Create(slice) => {
                let mut slice = slice.to_k8s();
                if let (None, Some(prefix)) = (&slice.metadata.name, &slice.metadata.generate_name) {
                    slice.metadata.name = Some(format!("{prefix}generated-{}", self.version()));
                    return self.store(&request.slice, slice, dry_run);
                }
                match live {
                    Some(_) => CONFLICT,
                    None => self.store(&request.slice, slice, dry_run),
                }
            }
            Operation::Update(slice) => {
                let slice = slice.to_k8s();
                match live {
                    None => Executed {
                        response: Some(Response::Conflict(None)),
                        committed: false,
                    },
                    Some(live)
                        if live.metadata.resource_version == slice.metadata.resource_version
                            && live.metadata.uid == slice.metadata.uid =>
                    {
                        self.store(&request.slice, slice, dry_run)
                    }
                    Some(_) => CONFLICT,
                }
            }
            Operation::Delete(deletion) => match live {
                None => Executed {
                    response: Some(Response::Deleted),
                    committed: false,
                },
                Some(live)
                    if live.metadata.resource_version == deletion.resource_version
                        && live.metadata.uid == deletion.uid =>
                {
                    let committed = self.delete(Resource::Slices, &request.slice);
                    let held = self.slice(&request.slice);
                    let held = held.map(|slice| Response::Stored(Box::new(EndpointSlice::clone(slice))));
                    Executed {
                        response: Some(held.unwrap_or(Response::Deleted)),
                        committed,
                    }
                }
                Some(_) => CONFLICT,
            },
        }
    }

    /// Executes a request about the lease of a controller.
    pub(crate) fn execute_lease(&mut self, role: Role, step: &Step) -> LeaseResponse {
        let stored = self.state.leases.get(&role);
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        let (written, is_current) = match step {
            Step::Wait(_) | Step::Read => return LeaseResponse::Read(stored.cloned()),
            Step::Create(lease) => (lease, stored.is_none()),
            Step::Replace(lease) => (lease, stored.is_some_and(|stored| version(stored) == version(lease))),
        };
        if !is_current {
            return LeaseResponse::Failed;
        }
        // Not the write that the request is based on: its version has been repeated since a restore.
        let is_other = stored.is_some_and(|stored| stored.metadata.generation != written.metadata.generation);
        self.lease_epoch += u32::from(is_other);
        self.lease_writes += 1;
        self.state.version += 1;
        let mut lease = Lease::clone(written);
        lease.metadata.generation = Some(self.lease_writes);
        lease.metadata.resource_version = Some(self.state.version.to_string());
        self.state.leases.insert(role, lease.clone());
        LeaseResponse::Written(lease)
    }

    /// Reads a slice after a conflict.
    pub(crate) fn read_live(&self, name: &Name) -> Response {
        match self.slice(name) {
            Some(slice) if is_undecodable(&slice.metadata) => {
                Response::UndecodableConflict(Box::new(ObjectRef::from(&slice.metadata)))
            }
            slice => Response::Conflict(slice.map(|slice| Box::new(EndpointSlice::clone(slice)))),
        }
    }

    fn store(&mut self, name: &Name, mut slice: EndpointSlice, dry_run: bool) -> Executed {
        slice.metadata.namespace = Some(name.namespace.to_owned());
        if let Some(rewrite) = self.webhook {
            rewrite.apply(&mut slice);
        }
        if dry_run {
            return Executed {
                response: Some(Response::Stored(Box::new(slice))),
                committed: false,
            };
        }
        let response = match self.put(Object::Slice(Arc::new(slice.clone()))) {
            Some(Object::Slice(stored)) => Response::Stored(Box::new(EndpointSlice::clone(&stored))),
            _ => Response::Stored(Box::new(slice)),
        };
        Executed {
            response: Some(response),
            committed: true,
        }
    }
}

/// The body of the response to a create in a terminating namespace.
pub(crate) const NAMESPACE_TERMINATING: &str = r#"{"kind": "Status", "code": 403, "reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}"#;

fn has_finalizers(metadata: &ObjectMeta) -> bool {
    let finalizers = metadata.finalizers.as_deref();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
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
