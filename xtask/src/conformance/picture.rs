//! What is seen of the slices of a namespace, without what differs between clusters: names, uids, times, packing.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use slice_core::names::TRIGGER_TIME_ANNOTATION;

/// Endpoints by what their slices have in common.
pub(super) type Picture = BTreeMap<String, Vec<String>>;

/// Draws the picture. `uids` names the objects of the cluster by uid.
pub(super) fn draw(slices: &[EndpointSlice], uids: &HashMap<String, String>) -> Picture {
    let mut picture = Picture::new();
    for slice in slices {
        let endpoints = slice.endpoints.iter().flatten().map(|endpoint| {
            let mut endpoint = json!(endpoint);
            name_uid(&mut endpoint["targetRef"], uids);
            endpoint.to_string()
        });
        picture.entry(frame(slice, uids)).or_default().extend(endpoints);
    }
    picture.values_mut().for_each(|endpoints| endpoints.sort());
    picture
}

/// What all slices of a set have in common.
fn frame(slice: &EndpointSlice, uids: &HashMap<String, String>) -> String {
    let metadata = &slice.metadata;
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    if let Some(time) = annotations.get_mut(TRIGGER_TIME_ANNOTATION) {
        // That there is one can be compared, when it was cannot.
        "some time".clone_into(time);
    }
    let mut owners = json!(metadata.owner_references);
    for owner in owners.as_array_mut().into_iter().flatten() {
        name_uid(owner, uids);
    }
    let mut ports: Vec<String> = slice
        .ports
        .iter()
        .flatten()
        .map(|port| json!(port).to_string())
        .collect();
    ports.sort();
    json!({
        "type": slice.address_type, "ports": ports, "labels": metadata.labels, "annotations": annotations,
        "owners": owners, "finalizers": metadata.finalizers, "terminating": metadata.deletion_timestamp.is_some(),
    })
    .to_string()
}

fn name_uid(reference: &mut Value, uids: &HashMap<String, String>) {
    if let Some(uid) = reference.get_mut("uid") {
        let name = uid.as_str().and_then(|uid| uids.get(uid));
        *uid = json!(name.map_or("of nothing that exists", |name| name));
    }
}

/// What one picture has and the other does not, in lines for people.
pub(super) fn difference(theirs: &Picture, ours: &Picture) -> Vec<String> {
    let mut lines = Vec::new();
    for (frame, endpoints) in theirs {
        let found = ours.get(frame);
        if found.is_none() {
            lines.push(format!("only upstream has slices {frame}"));
        }
        for endpoint in endpoints
            .iter()
            .filter(|endpoint| !found.is_some_and(|found| found.contains(endpoint)))
        {
            lines.push(format!("only upstream has {endpoint}"));
        }
    }
    for (frame, endpoints) in ours {
        let found = theirs.get(frame);
        if found.is_none() {
            lines.push(format!("only we have slices {frame}"));
        }
        for endpoint in endpoints
            .iter()
            .filter(|endpoint| !found.is_some_and(|found| found.contains(endpoint)))
        {
            lines.push(format!("only we have {endpoint}"));
        }
        if let Some(found) = found
            && found.len() != endpoints.len()
            && lines.is_empty()
        {
            lines.push(format!(
                "upstream has {} endpoints and we have {} in slices {frame}",
                found.len(),
                endpoints.len()
            ));
        }
    }
    lines
}
