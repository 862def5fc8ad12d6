//! Compares responses, except for values that a server chooses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::generate::Request;
use crate::api::{Api, ApiResponse, text};

/// One of the two servers.
pub(super) struct Side {
    pub(super) api: Api,
}

impl Side {
    pub(super) fn new(api: Api) -> Self {
        Self { api }
    }

    /// Sends a request with the body for this side, the first or the second.
    pub(super) async fn send(&self, request: &Request, side: usize) -> ApiResponse {
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

    /// The part of a response that must be equal on both.
    pub(super) fn comparable(&self, request: &Request, response: &ApiResponse) -> Value {
        if response.code >= 400 {
            let prefix = text(&request.bodies[0], "/metadata/generateName");
            let error = without_random(&response.error_summary(), &prefix);
            return json!({"error": error, "causes": response.causes()});
        }
        let body = response.body.to_string();
        let body = body.replace(&self.api.namespace, "NAMESPACE");
        let mut body: Value = serde_json::from_str(&body).unwrap();
        if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
            items.iter_mut().for_each(normalize);
            items.sort_by_key(|item| text(item, "/metadata/name"));
        }
        normalize(&mut body);
        json!({"code": response.code, "warnings": response.warnings.len(), "body": body})
    }
}

/// The text with a star for the random end of a name that was generated from a prefix.
fn without_random(message: &str, prefix: &str) -> String {
    let prefix_end = &prefix[..prefix.len().min(58)];
    match message.split_once(prefix_end) {
        Some((before, after)) if !prefix_end.is_empty() => format!("{before}{prefix_end}*{}", &after[5..]),
        _ => message.to_owned(),
    }
}

/// Where two values differ, as JSON pointers.
pub(super) fn collect_differences(at: &str, one: &Value, other: &Value, differences_at: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                collect_differences(&format!("{at}/{key}"), &one[key], &other[key], differences_at);
            }
        }
        _ if one == other => {}
        _ => differences_at.push(format!("{at}: {one} and {other}")),
    }
}

/// Replaces server-chosen values by a marker of their presence.
fn normalize(object: &mut Value) {
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
    normalize_service(object);
}

/// Replaces cluster addresses by their family, and node ports by a marker of their presence.
fn normalize_service(object: &mut Value) {
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
