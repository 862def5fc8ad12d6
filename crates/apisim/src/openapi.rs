//! A minimal `OpenAPI` v3 document. kubectl reads it before a write to detect server-side field validation.

use serde_json::{Map, Value, json};

use crate::resources::{self, Resource};

/// The index of the documents, one per group.
pub(crate) fn index(groups: &[&str]) -> Value {
    let entry = |path: &str| json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
    let mut paths: Map<String, Value> = Map::new();
    paths.insert("api/v1".into(), entry("api/v1"));
    for group in groups {
        let path = format!("apis/{group}/v1");
        paths.insert(path.clone(), entry(&path));
    }
    json!({"paths": paths})
}

/// The document of a group.
pub(crate) fn document(group: &str) -> Value {
    let resources = resources::all().iter().filter(|resource| resource.group == group);
    let paths: Map<String, Value> = resources
        .map(|resource| (path(resource), operations(resource)))
        .collect();
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.4"}, "paths": paths})
}

fn path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    let scope = if resource.namespaced {
        "namespaces/{namespace}/"
    } else {
        ""
    };
    format!("/{root}/{}/{scope}{}/{{name}}", resource.api_version(), resource.plural)
}

fn operations(resource: &Resource) -> Value {
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let parameters = json!([
        {"name": "dryRun", "in": "query", "schema": {"type": "string"}},
        {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}},
    ]);
    json!({"patch": {"parameters": parameters, "responses": {}, "x-kubernetes-group-version-kind": kind}})
}
