//! What is seen of the slices of a namespace, without what differs between clusters: names, uids, times, packing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Map, Value, json};
use slice_core::well_known::{SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION};

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
    let mut ports: Vec<Value> = slice.ports.iter().flatten().map(|port| json!(port)).collect();
    ports.sort_by_key(ToString::to_string);
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
    let (frames, only_theirs, only_ours) = pair(theirs.keys(), ours.keys(), is_same_set);
    for (their, our) in frames {
        let set = format!("{} slices with ports {}", their["type"], their["ports"]);
        describe(&set, &their, &our, &mut lines);
        let found = |picture: &Picture, frame: &Value| picture.get(&frame.to_string()).cloned().unwrap_or_default();
        let (their, our) = (found(theirs, &their), found(ours, &our));
        let (endpoints, only_theirs, only_ours) = pair(&their, &our, is_same_endpoint);
        for (their, our) in endpoints {
            describe(&format!("endpoint {}", their["addresses"]), &their, &our, &mut lines);
        }
        tell("", &only_theirs, &only_ours, &mut lines);
    }
    tell("slices ", &only_theirs, &only_ours, &mut lines);
    lines
}

/// Whether two frames are meant for the same, with whatever labels.
fn is_same_set(their: &Value, our: &Value) -> bool {
    let service = |frame: &Value| frame["labels"][SERVICE_NAME_LABEL].clone();
    ["type", "ports"].iter().all(|field| their[field] == our[field]) && service(their) == service(our)
}

fn is_same_endpoint(their: &Value, our: &Value) -> bool {
    their["addresses"] == our["addresses"]
}

type Pairs = Vec<(Value, Value)>;

/// Pairs what is equal, then what is alike; answers the pairs, and what either side has alone.
fn pair<'a>(
    theirs: impl IntoIterator<Item = &'a String>,
    ours: impl IntoIterator<Item = &'a String>,
    alike: fn(&Value, &Value) -> bool,
) -> (Pairs, Vec<Value>, Vec<Value>) {
    let read = |texts: &mut dyn Iterator<Item = &'a String>| -> Vec<Value> {
        texts.map(|text| text.parse().unwrap_or_else(|_| json!(text))).collect()
    };
    let mut left = read(&mut theirs.into_iter());
    let mut ours = read(&mut ours.into_iter());
    let mut pairs = Pairs::new();
    for fits in [Value::eq as fn(&Value, &Value) -> bool, alike] {
        let mut alone = Vec::new();
        for their in left {
            match ours.iter().position(|our| fits(&their, our)) {
                Some(place) => pairs.push((their, ours.remove(place))),
                None => alone.push(their),
            }
        }
        left = alone;
    }
    (pairs, left, ours)
}

/// In which fields two things differ, objects within objects included.
fn describe(what: &str, their: &Value, our: &Value, lines: &mut Vec<String>) {
    match (their.as_object(), our.as_object()) {
        (Some(their), Some(our)) => {
            let fields: BTreeSet<&String> = their.keys().chain(our.keys()).collect();
            for field in fields {
                let of = |object: &Map<String, Value>| object.get(field).cloned().unwrap_or_default();
                describe(&format!("{what}, {field}"), &of(their), &of(our), lines);
            }
        }
        _ if their != our => lines.push(format!("{what}: upstream has {their}, we have {our}")),
        _ => {}
    }
}

fn tell(what: &str, only_theirs: &[Value], only_ours: &[Value], lines: &mut Vec<String>) {
    lines.extend(
        only_theirs
            .iter()
            .map(|found| format!("only upstream has {what}{found}")),
    );
    lines.extend(only_ours.iter().map(|found| format!("only we have {what}{found}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::with;

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
        vec![with(&slice("x", &["1", "2"]), pointer, value)]
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
                r#"only upstream has {"addresses":["2"],…"#,
            ),
            (
                "an endpoint more",
                vec![slice("x", &["1", "2", "3"])],
                r#"only we have {"addresses":["3"],…"#,
            ),
            (
                "an endpoint twice",
                vec![slice("x", &["1", "2", "2"])],
                r#"only we have {"addresses":["2"],…"#,
            ),
            (
                "an endpoint in two slices",
                vec![slice("x", &["1", "2"]), slice("y", &["2"])],
                r#"only we have {"addresses":["2"],…"#,
            ),
            (
                "no hints",
                changed("/endpoints/0/hints", Value::Null),
                r#"endpoint ["1"], hints: upstream has {"forZones":[{"name":"a"}]}, we have null"#,
            ),
            (
                "a condition",
                changed("/endpoints/0/conditions", json!({"ready": false})),
                r#"endpoint ["1"], conditions, ready: upstream has true, we have false"#,
            ),
            (
                "another pod",
                changed("/endpoints/0/targetRef/uid", json!("u9")),
                r#"endpoint ["1"], targetRef, uid: upstream has "Pod p", we have "of nothing that exists""#,
            ),
            (
                "a label more",
                changed("/metadata/labels/more", json!("x")),
                r#"…, labels, more: upstream has null, we have "x""#,
            ),
            (
                "no time",
                changed("/metadata/annotations", json!({})),
                r#"…-trigger-time: upstream has "some time", we have null"#,
            ),
            (
                "another owner",
                changed("/metadata/ownerReferences/0/uid", json!("u9")),
                r#"…"uid":"of nothing that exists"}]"#,
            ),
            (
                "a finalizer",
                changed("/metadata/finalizers", json!(["x"])),
                r#"…, finalizers: upstream has null, we have ["x"]"#,
            ),
            (
                "an empty slice more",
                vec![slice("x", &["1", "2"]), with(&slice("y", &[]), "/ports", json!([]))],
                "only we have slices {…",
            ),
            ("nothing", vec![], "only upstream has slices {…"),
        ] {
            let lines = difference(&theirs, &drawn(&ours, ["u1", "u2"]));
            let is_so = |line: &String| match (expected.strip_prefix('…'), expected.strip_suffix('…')) {
                (Some(end), _) => line.ends_with(end),
                (_, Some(beginning)) => line.starts_with(beginning),
                _ => line == expected,
            };
            assert!(lines.len() == 1 && is_so(&lines[0]), "{what}: {lines:#?}");
        }
        for (pointer, value) in [("/ports/0/port", json!(9)), ("/addressType", json!("IPv6"))] {
            let lines = difference(&theirs, &drawn(&changed(pointer, value), ["u1", "u2"]));
            assert_eq!(lines.len(), 2, "{pointer} tells slices apart: {lines:#?}");
        }
    }
}
