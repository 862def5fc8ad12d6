//! As much of an `OpenAPI` description as kubectl reads before it writes: that field validation is the server's work.

use serde_json::{Map, Value, json};

use crate::resources::{self, Resource};

/// Where the descriptions of the groups are.
pub(crate) fn index(groups: &[&str]) -> Value {
    let address = |path: &str| json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
    let mut paths: Map<String, Value> = Map::new();
    paths.insert("api/v1".into(), address("api/v1"));
    for group in groups {
        let path = format!("apis/{group}/v1");
        paths.insert(path.clone(), address(&path));
    }
    json!({"paths": paths})
}

/// The description of a group.
pub(crate) fn document(group: &str) -> Value {
    let resources = resources::all().iter().filter(|resource| resource.group == group);
    let paths: Map<String, Value> = resources
        .map(|resource| (path(resource), operations(resource)))
        .collect();
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.4"}, "paths": paths})
}

fn path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    let place = if resource.namespaced {
        "namespaces/{namespace}/"
    } else {
        ""
    };
    format!("/{root}/{}/{place}{}/{{name}}", resource.api_version(), resource.plural)
}

fn operations(resource: &Resource) -> Value {
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let parameters = json!([
        {"name": "dryRun", "in": "query", "schema": {"type": "string"}},
        {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}},
    ]);
    json!({"patch": {"parameters": parameters, "responses": {}, "x-kubernetes-group-version-kind": kind}})
}
