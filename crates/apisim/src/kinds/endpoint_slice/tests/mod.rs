//! The API tests of the specification (T-API, T-VAL), without those for disabled feature gates and
//! removed API versions.

mod generation;
mod topology;
mod validation;
mod warnings;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::kinds::{Kind, fixtures::object};

/// An IPv4 slice merged with these fields, after defaulting.
fn slice(fields: &Value) -> EndpointSlice {
    let mut json = json!({
        "metadata": { "name": "web-abc", "namespace": "ns" },
        "addressType": "IPv4",
    });
    json_patch::merge(&mut json, fields);
    let mut slice: EndpointSlice = object(json);
    Kind::set_defaults(&mut slice);
    slice
}

/// A slice with one endpoint per element. Each endpoint has a default address.
fn endpoints(fields: &[Value]) -> EndpointSlice {
    let endpoints = fields.iter().map(|fields| {
        let mut endpoint = json!({ "addresses": ["10.1.2.3"] });
        json_patch::merge(&mut endpoint, fields);
        endpoint
    });
    slice(&json!({ "endpoints": endpoints.collect::<Vec<_>>() }))
}
