//! Normalised state of the slices of a namespace, without values that differ between clusters: names, uids, times, packing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Map, Value, json};
use slice_core::well_known::{SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION};

/// Endpoints by the normalised attributes of their slices ([`slice_key`]), as JSON text.
pub(super) type Snapshot = BTreeMap<String, Vec<String>>;

/// Takes the snapshot of slices. `uids` maps the uids of existing objects to kind and name.
pub(super) fn snapshot(slices: &[EndpointSlice], uids: &HashMap<String, String>) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for slice in slices {
        let endpoints = slice.endpoints.iter().flatten().map(|endpoint| {
            let mut endpoint = json!(endpoint);
            if let Some(target) = endpoint.get_mut("targetRef") {
                replace_uid(target, uids);
            }
            endpoint.to_string()
        });
        snapshot.entry(slice_key(slice, uids)).or_default().extend(endpoints);
    }
    for endpoints in snapshot.values_mut() {
        endpoints.sort();
    }
    snapshot
}

/// The normalised attributes of a slice except its endpoints, as JSON text. Slices with equal keys are compared together.
fn slice_key(slice: &EndpointSlice, uids: &HashMap<String, String>) -> String {
    let metadata = &slice.metadata;
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    if let Some(time) = annotations.get_mut(TRIGGER_TIME_ANNOTATION) {
        // The presence is compared, the value is not.
        "some time".clone_into(time);
    }
    let mut owners = json!(metadata.owner_references);
    for owner in owners.as_array_mut().into_iter().flatten() {
        replace_uid(owner, uids);
    }
    let mut ports: Vec<Value> = slice.ports.iter().flatten().map(|port| json!(port)).collect();
    ports.sort_by_key(ToString::to_string);
    json!({
        "type": slice.address_type, "ports": ports, "labels": metadata.labels, "annotations": annotations,
        "owners": owners, "finalizers": metadata.finalizers, "terminating": metadata.deletion_timestamp.is_some(),
    })
    .to_string()
}

/// Replaces the uid of a reference by kind and name of the object.
fn replace_uid(reference: &mut Value, uids: &HashMap<String, String>) {
    if let Some(uid) = reference.get_mut("uid") {
        let name = uid.as_str().and_then(|uid| uids.get(uid));
        *uid = json!(name.map_or("unknown object", |name| name));
    }
}

/// Describes the differences of two snapshots, one per line.
pub(super) fn difference(theirs: &Snapshot, ours: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let (keys, only_theirs, only_ours) = pair(theirs.keys(), ours.keys(), is_same_set);
    for (their, our) in keys {
        let set = format!("{} slices with ports {}", their["type"], their["ports"]);
        describe_difference(&set, &their, &our, &mut lines);
        let endpoints_of =
            |snapshot: &Snapshot, key: &Value| snapshot.get(&key.to_string()).cloned().unwrap_or_default();
        let (their, our) = (endpoints_of(theirs, &their), endpoints_of(ours, &our));
        let (endpoints, only_theirs, only_ours) = pair(&their, &our, is_same_endpoint);
        for (their, our) in endpoints {
            describe_difference(&format!("endpoint {}", their["addresses"]), &their, &our, &mut lines);
        }
        describe_unpaired("", &only_theirs, &only_ours, &mut lines);
    }
    describe_unpaired("slices ", &only_theirs, &only_ours, &mut lines);
    lines
}

/// Whether two slice keys have the same Service, address type and ports.
fn is_same_set(their: &Value, our: &Value) -> bool {
    let service = |key: &Value| key["labels"][SERVICE_NAME_LABEL].clone();
    ["type", "ports"].iter().all(|field| their[field] == our[field]) && service(their) == service(our)
}

fn is_same_endpoint(their: &Value, our: &Value) -> bool {
    their["addresses"] == our["addresses"]
}

type Pairs = Vec<(Value, Value)>;

/// Pairs equal values, then similar ones. Returns the pairs, and the unpaired values of both sides.
fn pair<'a>(
    theirs: impl IntoIterator<Item = &'a String>,
    ours: impl IntoIterator<Item = &'a String>,
    similar: fn(&Value, &Value) -> bool,
) -> (Pairs, Vec<Value>, Vec<Value>) {
    let parse = |texts: &mut dyn Iterator<Item = &'a String>| -> Vec<Value> {
        texts.map(|text| text.parse().unwrap_or_else(|_| json!(text))).collect()
    };
    let mut unpaired = parse(&mut theirs.into_iter());
    let mut ours = parse(&mut ours.into_iter());
    let mut pairs = Pairs::new();
    for matches in [Value::eq as fn(&Value, &Value) -> bool, similar] {
        let mut rest = Vec::new();
        for their in unpaired {
            match ours.iter().position(|our| matches(&their, our)) {
                Some(index) => pairs.push((their, ours.remove(index))),
                None => rest.push(their),
            }
        }
        unpaired = rest;
    }
    (pairs, unpaired, ours)
}

/// Describes the fields in which two values differ, recursively.
fn describe_difference(what: &str, their: &Value, our: &Value, lines: &mut Vec<String>) {
    match (their.as_object(), our.as_object()) {
        (Some(their), Some(our)) => {
            let fields: BTreeSet<&String> = their.keys().chain(our.keys()).collect();
            for field in fields {
                let of = |object: &Map<String, Value>| object.get(field).cloned().unwrap_or_default();
                describe_difference(&format!("{what}, {field}"), &of(their), &of(our), lines);
            }
        }
        _ if their != our => lines.push(format!("{what}: upstream has {their}, we have {our}")),
        _ => {}
    }
}

fn describe_unpaired(what: &str, only_theirs: &[Value], only_ours: &[Value], lines: &mut Vec<String>) {
    lines.extend(
        only_theirs
            .iter()
            .map(|found| format!("only upstream has {what}{found}")),
    );
    lines.extend(only_ours.iter().map(|found| format!("only we have {what}{found}")));
}

#[cfg(test)]
mod tests;
