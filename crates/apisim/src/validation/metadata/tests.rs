use serde_json::{Value, json};

use super::*;
use crate::kinds::fixtures::{object, summary};

const RULES: MetaRules = MetaRules::new(true, names::dns1123_subdomain);

fn meta(fields: &Value) -> ObjectMeta {
    let mut json = json!({ "name": "a", "namespace": "ns" });
    json_patch::merge(&mut json, fields);
    object(json)
}

#[test]
fn metadata_validation() {
    let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "A", "name": name, "uid": "1", "controller": true });
    let event = json!({ "apiVersion": "v1", "kind": "Event", "name": "e", "uid": "1" });
    let cases: [(Value, &[&str]); 9] = [
        (json!({}), &[]),
        (json!({ "namespace": "A" }), &["namespace FieldValueInvalid"]),
        (json!({ "generateName": "Web-" }), &["generateName FieldValueInvalid"]),
        (json!({ "generateName": "web-" }), &[]),
        (
            json!({ "labels": { "-a": "b c" } }),
            &["labels FieldValueInvalid", "labels FieldValueInvalid"],
        ),
        (
            json!({ "annotations": { "A_b": "x", "x y": "", "big": "y".repeat(ANNOTATIONS_BYTES_MAX) } }),
            &["annotations FieldValueInvalid", "annotations FieldValueTooLong"],
        ),
        (
            json!({ "finalizers": ["plain", "a/b/c", "a/b", "orphan", "foregroundDeletion"] }),
            &[
                "finalizers FieldValueInvalid",
                "finalizers FieldValueInvalid",
                "finalizers[0] FieldValueInvalid",
            ],
        ),
        (
            json!({ "ownerReferences": [owner("a"), owner("b")] }),
            &["ownerReferences FieldValueInvalid"],
        ),
        (
            json!({ "ownerReferences": [event] }),
            &["ownerReferences FieldValueInvalid"],
        ),
    ];
    for (fields, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|error| format!("metadata.{error}")).collect();
        assert_eq!(summary(&RULES.validate(&meta(&fields))), expected, "{fields}");
    }
}

#[test]
fn terminating_object_cannot_get_new_finalizers() {
    let old = meta(&json!({ "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b"] }));
    let new = meta(&json!({ "finalizers": ["a/b", "a/c"] }));
    assert_eq!(
        summary(&validate_change(&new, &old)),
        ["metadata.finalizers FieldValueForbidden"]
    );
    assert_eq!(validate_change(&meta(&json!({})), &old), []);
}
