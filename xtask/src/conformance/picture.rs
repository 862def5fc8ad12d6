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
            if let Some(target) = endpoint.get_mut("targetRef") {
                name_uid(target, uids);
            }
            endpoint.to_string()
        });
        picture.entry(frame(slice, uids)).or_default().extend(endpoints);
    }
    for endpoints in picture.values_mut() {
        endpoints.sort();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(ip: &str) -> Value {
        json!({
            "addresses": [ip], "conditions": {"ready": true}, "hints": {"forZones": [{"name": "a"}]},
            "targetRef": {"kind": "Pod", "name": "p", "uid": "u1"},
        })
    }

    fn slice(name: &str, ips: &[&str]) -> Value {
        json!({
            "metadata": {
                "name": name, "uid": name, "resourceVersion": "1", "labels": {"app": "web"},
                "annotations": {TRIGGER_TIME_ANNOTATION: "2026-01-02T03:04:05Z"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u2"}],
            },
            "addressType": "IPv4", "endpoints": ips.iter().map(|ip| endpoint(ip)).collect::<Vec<_>>(),
            "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}],
        })
    }

    fn drawn(slices: &[Value], uids: [&str; 2]) -> Picture {
        let slices = slices.iter().map(|slice| serde_json::from_value(slice.clone()));
        let slices: Vec<EndpointSlice> = slices.collect::<Result<_, _>>().expect("slices");
        let uids = uids.into_iter().zip(["Pod p", "Service web"]);
        draw(
            &slices,
            &uids.map(|(uid, name)| (uid.to_owned(), name.to_owned())).collect(),
        )
    }

    fn changed(pointer: &str, value: Value) -> Vec<Value> {
        vec![crate::conformance::scenario::with(
            &slice("x", &["1", "2"]),
            pointer,
            value,
        )]
    }

    #[test]
    fn names_uids_times_order_and_packing_are_no_difference() {
        let theirs = drawn(&[slice("x", &["1", "2"])], ["u1", "u2"]);
        let with_other_uids = |mut slice: Value| {
            for endpoint in slice["endpoints"].as_array_mut().into_iter().flatten() {
                endpoint["targetRef"]["uid"] = json!("v1");
            }
            slice["metadata"]["ownerReferences"][0]["uid"] = json!("v2");
            vec![slice]
        };
        for (what, ours, uids) in [
            ("a name", vec![slice("y", &["1", "2"])], ["u1", "u2"]),
            ("the order of endpoints", vec![slice("x", &["2", "1"])], ["u1", "u2"]),
            ("packing", vec![slice("x", &["1"]), slice("y", &["2"])], ["u1", "u2"]),
            (
                "uids of the same objects",
                with_other_uids(slice("x", &["1", "2"])),
                ["v1", "v2"],
            ),
            (
                "the order of ports",
                changed("/ports", json!([{"name": "b", "port": 2}, {"name": "a", "port": 1}])),
                ["u1", "u2"],
            ),
            (
                "a version",
                changed("/metadata/resourceVersion", json!("2")),
                ["u1", "u2"],
            ),
            (
                "a time",
                changed(
                    "/metadata/annotations",
                    json!({TRIGGER_TIME_ANNOTATION: "2027-01-02T03:04:05Z"}),
                ),
                ["u1", "u2"],
            ),
        ] {
            assert_eq!(difference(&theirs, &drawn(&ours, uids)), Vec::<String>::new(), "{what}");
        }
    }

    #[expect(clippy::too_many_lines, reason = "a list")]
    #[test]
    fn what_readers_see_is_a_difference() {
        let theirs = drawn(&[slice("x", &["1", "2"])], ["u1", "u2"]);
        for (what, ours, expected) in [
            (
                "an endpoint less",
                vec![slice("x", &["1"])],
                r#"only upstream has {"addresses":["2"]"#,
            ),
            (
                "an endpoint more",
                vec![slice("x", &["1", "2", "3"])],
                r#"only we have {"addresses":["3"]"#,
            ),
            (
                "an endpoint twice",
                vec![slice("x", &["1", "2", "2"])],
                "upstream has 2 endpoints and we have 3",
            ),
            (
                "an endpoint in two slices",
                vec![slice("x", &["1", "2"]), slice("y", &["2"])],
                "upstream has 2 endpoints and we have 3",
            ),
            (
                "no hints",
                changed("/endpoints/0/hints", Value::Null),
                r#"only we have {"addresses":["1"],"conditions":{"ready":true},"targetRef""#,
            ),
            (
                "a condition",
                changed("/endpoints/0/conditions", json!({"ready": false})),
                r#""conditions":{"ready":false}"#,
            ),
            (
                "another pod",
                changed("/endpoints/0/targetRef/uid", json!("u9")),
                "of nothing that exists",
            ),
            (
                "a label more",
                changed("/metadata/labels/more", json!("x")),
                "only we have slices",
            ),
            (
                "no time",
                changed("/metadata/annotations", json!({})),
                r#""annotations":{}"#,
            ),
            (
                "another owner",
                changed("/metadata/ownerReferences/0/uid", json!("u9")),
                "of nothing that exists",
            ),
            ("another port", changed("/ports/0/port", json!(9)), r#"\"port\":9"#),
            (
                "another type",
                changed("/addressType", json!("IPv6")),
                r#""type":"IPv6""#,
            ),
            (
                "a finalizer",
                changed("/metadata/finalizers", json!(["x"])),
                r#""finalizers":["x"]"#,
            ),
            (
                "an empty slice more",
                vec![slice("x", &["1", "2"]), {
                    let mut empty = slice("y", &[]);
                    empty["ports"] = json!([]);
                    empty
                }],
                "only we have slices",
            ),
            ("nothing", vec![], "only upstream has slices"),
        ] {
            let lines = difference(&theirs, &drawn(&ours, ["u1", "u2"]));
            assert!(lines.iter().any(|line| line.contains(expected)), "{what}: {lines:#?}");
        }
    }
}
