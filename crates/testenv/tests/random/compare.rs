//! What two servers must agree on: everything but what each chooses by itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::generate::Request;
use crate::api::{Answer, Api, text};

/// One of the two servers.
pub(super) struct Side {
    pub(super) api: Api,
}

impl Side {
    pub(super) fn new(api: Api) -> Self {
        Self { api }
    }

    /// Sends a request in the words of this side, the first or the second.
    pub(super) async fn send(&self, request: &Request, side: usize) -> Answer {
        let (resource, body) = (request.resource, &request.bodies[side]);
        let name = request.name.clone().unwrap_or_default();
        match request.verb {
            "create" => self.api.create(resource, body).await,
            "update" => self.api.put(resource, &name, body).await,
            "delete" => self.api.delete(resource, &name, body).await,
            "get" => self.api.get(resource, &name).await,
            "list" => self.api.list(resource, &request.query).await,
            patch => self.api.patch(patch, resource, &name, body).await,
        }
    }

    /// The part of an answer that must be the same at both.
    pub(super) fn comparable(&self, request: &Request, answer: &Answer) -> Value {
        if answer.code >= 400 {
            let prefix = text(&request.bodies[0], "/metadata/generateName");
            let refusal = without_random(&answer.refusal(), &prefix);
            return json!({"refusal": refusal, "causes": answer.causes()});
        }
        let body = answer.body.to_string();
        let body = body.replace(&self.api.namespace, "NAMESPACE");
        let mut body: Value = serde_json::from_str(&body).unwrap();
        if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
            items.iter_mut().for_each(level);
            items.sort_by_key(|item| text(item, "/metadata/name"));
        }
        level(&mut body);
        json!({"code": answer.code, "warnings": answer.warnings.len(), "body": body})
    }
}

/// The text with a star for the random end of a name that was generated from a prefix.
fn without_random(told: &str, prefix: &str) -> String {
    let kept = &prefix[..prefix.len().min(58)];
    match told.split_once(kept) {
        Some((before, after)) if !kept.is_empty() => format!("{before}{kept}*{}", &after[5..]),
        _ => told.to_owned(),
    }
}

/// Where two values differ, as JSON pointers.
pub(super) fn differing(at: &str, one: &Value, other: &Value, places: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                differing(&format!("{at}/{key}"), &one[key], &other[key], places);
            }
        }
        _ if one == other => {}
        _ => places.push(format!("{at}: {one} and {other}")),
    }
}

/// Replaces what a server chooses by a word that says whether it is there.
fn level(object: &mut Value) {
    let prefix = text(object, "/metadata/generateName");
    let name = without_random(&text(object, "/metadata/name"), &prefix);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        for chosen in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "deletionTimestamp",
            "continue",
        ] {
            if metadata.get(chosen).is_some_and(|value| value != "") {
                metadata.insert(chosen.into(), json!("set"));
            }
        }
        if !prefix.is_empty() {
            metadata.insert("name".into(), json!(name));
        }
    }
    if object["kind"] == "Status" {
        object["details"]["uid"] = json!("set");
    }
    level_service(object);
}

/// Cluster addresses are told by their family, node ports by being there.
fn level_service(object: &mut Value) {
    let family = |address: &Value| match address.as_str().unwrap_or_default() {
        chosen if chosen.contains(':') => json!("IPv6"),
        chosen if chosen.contains('.') => json!("IPv4"),
        other => json!(other),
    };
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(address) = spec.get_mut("clusterIP") {
        *address = family(address);
    }
    for address in spec
        .get_mut("clusterIPs")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        *address = family(address);
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if port["nodePort"].is_null() {
            port.as_object_mut().unwrap().remove("nodePort");
        } else {
            port["nodePort"] = json!("set");
        }
    }
}
