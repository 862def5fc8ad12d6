//! The files of `deploy/` as kubectl, Helm and kube-apiserver read them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod api_server;
mod deployed;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod flow_control;
mod pods;
mod readme;
mod tools;

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde_json::Value;

/// Objects by kind, namespace and name, to compare two sets of them.
fn by_id(objects: impl IntoIterator<Item = DynamicObject>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for object in objects {
        let id = id(&object);
        let duplicate = found.insert(id.clone(), serde_json::to_value(object).unwrap());
        assert!(duplicate.is_none(), "{id} twice");
    }
    found
}

fn id(object: &DynamicObject) -> String {
    let metadata = &object.metadata;
    format!(
        "{} {}/{}",
        object.types.as_ref().unwrap().kind,
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap()
    )
}
