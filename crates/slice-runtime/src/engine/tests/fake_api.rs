//! A small API server: versions, generations, preconditions, and a log of events for each resource.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use slice_controller::ObjectRef;
use slice_reconciler::Operation;

use crate::api::WriteResult;

/// The watch of our slices.
pub(super) const SLICES: &str = "endpointslices";

/// The watches of the controller in their order, and then that of our slices.
pub(super) const KINDS: [&str; 4] = ["nodes", "pods", "services", SLICES];

#[derive(Debug, Default)]
pub(super) struct World {
    version: u64,
    objects: BTreeMap<(&'static str, String), Value>,
    events: BTreeMap<&'static str, Vec<(bool, Value)>>,
}

pub(super) fn object_ref(object: &Value) -> ObjectRef {
    serde_json::from_value(object["metadata"].clone()).unwrap()
}

impl World {
    /// All objects of a kind, their version, and the place in the log from which to go on.
    pub(super) fn list(&self, kind: &'static str) -> (Vec<Value>, String, usize) {
        let objects = self.objects.iter().filter(|((of, _), _)| *of == kind);
        let position = self.events.get(kind).map_or(0, Vec::len);
        (
            objects.map(|(_, object)| object.clone()).collect(),
            self.version.to_string(),
            position,
        )
    }

    pub(super) fn event(&self, kind: &'static str, position: usize) -> Option<(bool, Value)> {
        self.events.get(kind)?.get(position).cloned()
    }

    pub(super) fn get(&self, kind: &'static str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, name.to_owned()))
    }

    pub(super) fn slices(&self) -> impl Iterator<Item = &Value> {
        self.objects
            .iter()
            .filter(|((kind, _), _)| *kind == SLICES)
            .map(|(_, object)| object)
    }

    /// Creates an object, or replaces it.
    pub(super) fn put(&mut self, kind: &'static str, mut object: Value) -> Value {
        self.version += 1;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let before = self.objects.get(&(kind, name.clone()));
        let metadata = &mut object["metadata"];
        metadata["uid"] = before.map_or_else(
            || json!(format!("uid-{}", self.version)),
            |before| before["metadata"]["uid"].clone(),
        );
        let generation = before.map_or(0, |before| before["metadata"]["generation"].as_i64().unwrap());
        metadata["generation"] = json!(generation);
        metadata["resourceVersion"] = json!(self.version.to_string());
        let says_the_same = before.is_some_and(|before| without_annotations(before) == without_annotations(&object));
        object["metadata"]["generation"] = json!(generation + i64::from(!says_the_same));
        self.objects.insert((kind, name), object.clone());
        self.events.entry(kind).or_default().push((false, object.clone()));
        object
    }

    pub(super) fn delete(&mut self, kind: &'static str, name: &str) -> bool {
        let Some(mut object) = self.objects.remove(&(kind, name.to_owned())) else {
            return false;
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.events.entry(kind).or_default().push((true, object));
        true
    }

    /// Collects one slice whose owner is gone, if there is one.
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

    /// Carries out a write as the real server would.
    pub(super) fn write(&mut self, namespace: &str, operation: &Operation) -> WriteResult {
        assert_eq!(namespace, "ns");
        match operation {
            Operation::Create(slice) => {
                let slice = serde_json::to_value(slice.to_k8s()).unwrap();
                match self.get(SLICES, &object_ref(&slice).name) {
                    Some(found) => changed(Some(found)),
                    None => stored(&self.put(SLICES, slice)),
                }
            }
            Operation::Update(slice) => {
                let slice = serde_json::to_value(slice.to_k8s()).unwrap();
                let sent = object_ref(&slice);
                assert!(!sent.resource_version.is_empty(), "I8: an update carries a version");
                match self.get(SLICES, &sent.name) {
                    Some(found) if object_ref(found) == sent => {
                        assert!(!says_the_same(found, &slice), "I6: a write that changes nothing");
                        stored(&self.put(SLICES, slice))
                    }
                    found => changed(found),
                }
            }
            Operation::Delete(deletion) => {
                assert!(
                    deletion.uid.is_some() && deletion.resource_version.is_some(),
                    "I8: a delete has preconditions"
                );
                match self.get(SLICES, &deletion.name) {
                    None => WriteResult::Deleted,
                    Some(found)
                        if Some(&*object_ref(found).resource_version) == deletion.resource_version.as_deref() =>
                    {
                        self.delete(SLICES, &deletion.name);
                        WriteResult::Deleted
                    }
                    found => changed(found),
                }
            }
        }
    }

    /// Addresses of all endpoints in the slices of a Service, with whether they are ready.
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

fn says_the_same(a: &Value, b: &Value) -> bool {
    without_annotations(a) == without_annotations(b) && a["metadata"]["annotations"] == b["metadata"]["annotations"]
}

fn stored(object: &Value) -> WriteResult {
    WriteResult::Stored(Box::new(read(object)))
}

fn changed(found: Option<&Value>) -> WriteResult {
    WriteResult::Conflict(found.map(|found| Box::new(read(found))))
}

fn read(object: &Value) -> EndpointSlice {
    serde_json::from_value(object.clone()).unwrap()
}
