//! A fake API server: resourceVersions, generations, preconditions, and an event log per resource.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use slice_controller::ObjectRef;
use slice_core::CompactSlice;
use slice_reconciler::Operation;

use crate::api::WriteResult;

/// The resource of the slice watch.
pub(super) const SLICES: &str = "endpointslices";

/// The watches of the controller in their order, then the slice watch.
pub(super) const RESOURCES: [&str; 4] = ["nodes", "pods", "services", SLICES];

#[derive(Debug, Default)]
pub(super) struct FakeApi {
    version: u64,
    objects: BTreeMap<(&'static str, String), Value>,
    events: BTreeMap<&'static str, Vec<(bool, Value)>>,
    /// A mutating webhook for slices that are created or updated.
    pub(super) webhook: Option<fn(&mut Value)>,
}

pub(super) fn object_ref(object: &Value) -> ObjectRef {
    serde_json::from_value(object["metadata"].clone()).unwrap()
}

impl FakeApi {
    /// All objects of a resource, the resourceVersion, and the position in the event log.
    pub(super) fn list(&self, resource: &'static str) -> (Vec<Value>, String, usize) {
        let objects = self.objects.iter().filter(|((stored, _), _)| *stored == resource);
        let position = self.events.get(resource).map_or(0, Vec::len);
        (
            objects.map(|(_, object)| object.clone()).collect(),
            self.version.to_string(),
            position,
        )
    }

    pub(super) fn event(&self, resource: &'static str, position: usize) -> Option<(bool, Value)> {
        self.events.get(resource)?.get(position).cloned()
    }

    pub(super) fn get(&self, resource: &'static str, name: &str) -> Option<&Value> {
        self.objects.get(&(resource, name.to_owned()))
    }

    pub(super) fn slices(&self) -> impl Iterator<Item = &Value> {
        self.objects
            .iter()
            .filter(|((resource, _), _)| *resource == SLICES)
            .map(|(_, object)| object)
    }

    /// Creates or replaces an object.
    pub(super) fn put(&mut self, resource: &'static str, mut object: Value) -> Value {
        self.version += 1;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let before = self.objects.get(&(resource, name.clone()));
        let metadata = &mut object["metadata"];
        metadata["uid"] = before.map_or_else(
            || json!(format!("uid-{}", self.version)),
            |before| before["metadata"]["uid"].clone(),
        );
        let generation = before.map_or(0, |before| before["metadata"]["generation"].as_i64().unwrap());
        metadata["generation"] = json!(generation);
        metadata["resourceVersion"] = json!(self.version.to_string());
        let same_spec = before.is_some_and(|before| without_annotations(before) == without_annotations(&object));
        object["metadata"]["generation"] = json!(generation + i64::from(!same_spec));
        self.objects.insert((resource, name), object.clone());
        self.events.entry(resource).or_default().push((false, object.clone()));
        object
    }

    pub(super) fn delete(&mut self, resource: &'static str, name: &str) -> bool {
        let Some(mut object) = self.objects.remove(&(resource, name.to_owned())) else {
            return false;
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.events.entry(resource).or_default().push((true, object));
        true
    }

    /// Garbage collection: deletes one slice whose owner does not exist. Returns whether there is one.
    pub(super) fn collect_garbage(&mut self) -> bool {
        let services: Vec<String> = self
            .list("services")
            .0
            .iter()
            .map(|service| object_ref(service).uid.to_string())
            .collect();
        let orphan = self.slices().find(|slice| {
            let owner = slice["metadata"]["ownerReferences"][0]["uid"]
                .as_str()
                .unwrap_or_default();
            !services.iter().any(|uid| uid == owner)
        });
        let orphan = orphan.map(|slice| object_ref(slice).name.to_string());
        orphan.is_some_and(|name| self.delete(SLICES, &name))
    }

    /// A slice as sent, after admission.
    fn admit(&self, slice: &CompactSlice) -> Value {
        let mut slice = serde_json::to_value(slice.to_k8s()).unwrap();
        if let Some(webhook) = self.webhook {
            webhook(&mut slice);
        }
        slice
    }

    /// Executes a write as a real API server does.
    pub(super) fn write(&mut self, namespace: &str, operation: &Operation, dry_run: bool) -> WriteResult {
        assert_eq!(namespace, "ns");
        match operation {
            Operation::Create(slice) => {
                let slice = self.admit(slice);
                match self.get(SLICES, &object_ref(&slice).name) {
                    Some(found) => conflict(Some(found)),
                    None if dry_run => stored(&slice),
                    None => stored(&self.put(SLICES, slice)),
                }
            }
            Operation::Update(slice) => {
                let slice = self.admit(slice);
                let sent = object_ref(&slice);
                assert!(
                    !sent.resource_version.is_empty(),
                    "an update without a resourceVersion (I8)"
                );
                match self.get(SLICES, &sent.name) {
                    Some(found) if object_ref(found) == sent && dry_run => stored(&slice),
                    Some(found) if object_ref(found) == sent => {
                        assert!(!is_unchanged(found, &slice), "a write that changes nothing (I6)");
                        stored(&self.put(SLICES, slice))
                    }
                    found => conflict(found),
                }
            }
            Operation::Delete(deletion) => {
                assert!(!dry_run, "deletes are not probed");
                assert!(
                    deletion.uid.is_some() && deletion.resource_version.is_some(),
                    "a delete without preconditions (I8)"
                );
                match self.get(SLICES, &deletion.name) {
                    None => WriteResult::Deleted,
                    Some(found)
                        if Some(&*object_ref(found).resource_version) == deletion.resource_version.as_deref() =>
                    {
                        self.delete(SLICES, &deletion.name);
                        WriteResult::Deleted
                    }
                    found => conflict(found),
                }
            }
        }
    }

    /// The addresses of all endpoints in the slices of a Service, with their readiness.
    pub(super) fn published(&self, service: &str) -> Vec<(String, bool)> {
        let slices = self
            .slices()
            .filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service);
        let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().unwrap());
        let mut published: Vec<_> = endpoints
            .map(|endpoint| {
                let address = endpoint["addresses"][0].as_str().unwrap().to_owned();
                (address, endpoint["conditions"]["ready"].as_bool().unwrap())
            })
            .collect();
        published.sort();
        published
    }
}

fn without_annotations(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["annotations", "resourceVersion", "generation"] {
        metadata.remove(field);
    }
    object
}

fn is_unchanged(a: &Value, b: &Value) -> bool {
    without_annotations(a) == without_annotations(b) && a["metadata"]["annotations"] == b["metadata"]["annotations"]
}

fn stored(object: &Value) -> WriteResult {
    WriteResult::Stored(Box::new(to_slice(object)))
}

fn conflict(found: Option<&Value>) -> WriteResult {
    WriteResult::Conflict(found.map(|found| Box::new(to_slice(found))))
}

fn to_slice(object: &Value) -> EndpointSlice {
    serde_json::from_value(object.clone()).unwrap()
}
