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

fn snapshot_of(slices: &[Value], uids: [&str; 2]) -> Snapshot {
    let slices = slices.iter().map(|slice| serde_json::from_value(slice.clone()));
    let slices: Vec<EndpointSlice> = slices.collect::<Result<_, _>>().expect("valid EndpointSlices");
    let uids = uids.into_iter().zip(["Pod p", "Service web"]);
    snapshot(
        &slices,
        &uids.map(|(uid, name)| (uid.to_owned(), name.to_owned())).collect(),
    )
}

fn changed(pointer: &str, value: Value) -> Vec<Value> {
    vec![with(&slice("x", &["1", "2"]), pointer, value)]
}

#[test]
fn names_uids_times_order_and_packing_are_not_compared() {
    let theirs = snapshot_of(&[slice("x", &["1", "2"])], ["u1", "u2"]);
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
            "a resourceVersion",
            changed("/metadata/resourceVersion", json!("2")),
            ["u1", "u2"],
        ),
        (
            "a trigger time",
            changed(
                "/metadata/annotations",
                json!({TRIGGER_TIME_ANNOTATION: "2027-01-02T03:04:05Z"}),
            ),
            ["u1", "u2"],
        ),
    ] {
        assert_eq!(
            difference(&theirs, &snapshot_of(&ours, uids)),
            Vec::<String>::new(),
            "{what}"
        );
    }
}

#[expect(clippy::too_many_lines, reason = "a list")]
#[test]
fn endpoints_ports_and_metadata_are_compared() {
    let theirs = snapshot_of(&[slice("x", &["1", "2"])], ["u1", "u2"]);
    for (what, ours, expected) in [
        (
            "one endpoint less",
            vec![slice("x", &["1"])],
            r#"only upstream has {"addresses":["2"],…"#,
        ),
        (
            "one endpoint more",
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
            r#"endpoint ["1"], targetRef, uid: upstream has "Pod p", we have "unknown object""#,
        ),
        (
            "one label more",
            changed("/metadata/labels/more", json!("x")),
            r#"…, labels, more: upstream has null, we have "x""#,
        ),
        (
            "no trigger time",
            changed("/metadata/annotations", json!({})),
            r#"…-trigger-time: upstream has "some time", we have null"#,
        ),
        (
            "another owner",
            changed("/metadata/ownerReferences/0/uid", json!("u9")),
            r#"…"uid":"unknown object"}]"#,
        ),
        (
            "a finalizer",
            changed("/metadata/finalizers", json!(["x"])),
            r#"…, finalizers: upstream has null, we have ["x"]"#,
        ),
        (
            "one empty slice more",
            vec![slice("x", &["1", "2"]), with(&slice("y", &[]), "/ports", json!([]))],
            "only we have slices {…",
        ),
        ("no slices", vec![], "only upstream has slices {…"),
    ] {
        let lines = difference(&theirs, &snapshot_of(&ours, ["u1", "u2"]));
        let is_expected = |line: &String| match (expected.strip_prefix('…'), expected.strip_suffix('…')) {
            (Some(end), _) => line.ends_with(end),
            (_, Some(beginning)) => line.starts_with(beginning),
            _ => line == expected,
        };
        assert!(lines.len() == 1 && is_expected(&lines[0]), "{what}: {lines:#?}");
    }
    for (pointer, value) in [("/ports/0/port", json!(9)), ("/addressType", json!("IPv6"))] {
        let lines = difference(&theirs, &snapshot_of(&changed(pointer, value), ["u1", "u2"]));
        assert_eq!(lines.len(), 2, "{pointer} is part of the slice key: {lines:#?}");
    }
}
