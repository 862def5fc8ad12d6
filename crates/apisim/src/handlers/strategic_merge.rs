//! Strategic merge patch: lists with a merge key are merged element by element.

use serde_json::{Map, Value};

/// Paths of the merged lists with their merge key; the key is empty for lists of primitives. All other lists are replaced.
const MERGED_LISTS: [(&str, &str); 13] = [
    ("metadata.finalizers", ""),
    ("metadata.ownerReferences", "uid"),
    ("spec.containers", "name"),
    ("spec.initContainers", "name"),
    ("spec.ports", "port"),
    ("spec.readinessGates", "conditionType"),
    ("spec.taints", "key"),
    ("spec.podCIDRs", ""),
    ("spec.volumes", "name"),
    ("status.addresses", "type"),
    ("status.conditions", "type"),
    ("status.hostIPs", "ip"),
    ("status.podIPs", "ip"),
];

const DIRECTIVE: &str = "$patch";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";

/// Merges a patch into an object.
pub(super) fn merge(document: &mut Value, patch: &Value) {
    merge_value(document, patch, "");
}

fn merge_value(target: &mut Value, patch: &Value, field_path: &str) {
    match patch {
        Value::Object(patch) => merge_object(target, patch, field_path),
        Value::Array(patch) => match merge_key(field_path) {
            Some("") => merge_primitives(target, patch),
            Some(key) => merge_keyed(target, patch, key, field_path),
            None => *target = Value::Array(patch.clone()),
        },
        primitive => *target = primitive.clone(),
    }
}

fn merge_object(target: &mut Value, patch: &Map<String, Value>, field_path: &str) {
    if !target.is_object() || directive(patch) == Some("replace") {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    if directive(patch) == Some("delete") {
        fields.clear();
        return;
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE_FROM_LIST) {
            remove_primitives(fields.get_mut(list), value);
        } else if name.starts_with('$') {
            // Directives about element order and unions do not change the content.
        } else if value.is_null() {
            fields.remove(name);
        } else {
            let field_path = if field_path.is_empty() {
                name.clone()
            } else {
                format!("{field_path}.{name}")
            };
            merge_value(fields.entry(name.clone()).or_insert(Value::Null), value, &field_path);
        }
    }
}

fn directive(patch: &Map<String, Value>) -> Option<&str> {
    patch.get(DIRECTIVE).and_then(Value::as_str)
}

fn merge_key(field_path: &str) -> Option<&'static str> {
    MERGED_LISTS
        .into_iter()
        .find(|(list, _)| *list == field_path)
        .map(|(_, key)| key)
}

fn remove_primitives(list: Option<&mut Value>, deleted: &Value) {
    if let (Some(Value::Array(list)), Some(deleted)) = (list, deleted.as_array()) {
        list.retain(|value| !deleted.contains(value));
    }
}

fn merge_primitives(target: &mut Value, patch: &[Value]) {
    let old = target.as_array().cloned().unwrap_or_default();
    *target = Value::Array(in_order(&old, patch, |value| Some(value)));
}

fn merge_keyed(target: &mut Value, patch: &[Value], key: &str, field_path: &str) {
    let mut old = target.as_array().cloned().unwrap_or_default();
    if patch.iter().any(|element| element[DIRECTIVE] == "replace") {
        old.clear();
    }
    let mut patched = Vec::new();
    for element in patch {
        let same = |other: &Value| other.get(key).is_some() && other.get(key) == element.get(key);
        match element[DIRECTIVE].as_str() {
            Some("delete") => old.retain(|other| !same(other)),
            Some("replace") if element.get(key).is_none() => {}
            _ => {
                let mut merged = old.iter().find(|other| same(other)).cloned().unwrap_or(Value::Null);
                merge_value(&mut merged, element, field_path);
                patched.push(merged);
            }
        }
    }
    *target = Value::Array(in_order(&old, &patched, |element| element.get(key)));
}

/// Merges two lists: elements of the patch in patch order, other elements at their old positions relative to them. New
/// elements precede the elements that follow.
fn in_order(old: &[Value], patched: &[Value], key: impl Fn(&Value) -> Option<&Value>) -> Vec<Value> {
    let index = |value: &Value| {
        old.iter()
            .position(|other| key(other).is_some() && key(other) == key(value))
    };
    let is_patched = |value: &Value| {
        patched
            .iter()
            .any(|other| key(other).is_some() && key(other) == key(value))
    };
    let mut untouched: Vec<(usize, Value)> = old.iter().cloned().enumerate().rev().collect();
    untouched.retain(|(_, value)| !is_patched(value));
    let mut merged = Vec::new();
    for value in patched {
        let position = index(value);
        while untouched
            .last()
            .is_some_and(|(index, _)| position.is_some_and(|position| *index < position))
        {
            merged.extend(untouched.pop().map(|(_, value)| value));
        }
        merged.push(value.clone());
    }
    merged.extend(untouched.into_iter().rev().map(|(_, value)| value));
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_with_a_merge_key_are_merged_and_others_replaced() {
        for (document, patch, expected) in [
            (
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
                json!({"metadata": {"labels": {"b": null, "c": "3"}}}),
                json!({"metadata": {"labels": {"a": "1", "c": "3"}}}),
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                json!({"status": {"conditions": [{"type": "Disk", "status": "True"}, {"type": "Ready", "reason": "R"}]}}),
                json!({"status": {"conditions": [
                    {"type": "Disk", "status": "True"}, {"type": "Ready", "status": "True", "reason": "R"}]}}),
            ),
            (
                json!({"status": {"conditions": [{"type": "A"}, {"type": "B"}, {"type": "C"}]}}),
                json!({"$setElementOrder/conditions": [], "status": {"conditions": [
                    {"type": "B", "x": 1}, {"type": "A", "$patch": "delete"}]}}),
                json!({"status": {"conditions": [{"type": "B", "x": 1}, {"type": "C"}]}}),
            ),
            (
                json!({"metadata": {"finalizers": ["a/b"]}}),
                json!({"metadata": {"finalizers": ["a/c"]}}),
                json!({"metadata": {"finalizers": ["a/c", "a/b"]}}),
            ),
            (
                json!({"metadata": {"finalizers": ["a/c", "a/b"]}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/c"]}}),
                json!({"metadata": {"finalizers": ["a/b"]}}),
            ),
            (
                json!({"endpoints": [{"addresses": ["1"]}], "ports": [{"port": 1}]}),
                json!({"endpoints": [{"addresses": ["2"]}]}),
                json!({"endpoints": [{"addresses": ["2"]}], "ports": [{"port": 1}]}),
            ),
            (
                json!({"spec": {"selector": {"a": "b"}}}),
                json!({"spec": {"selector": {"$patch": "replace", "c": "d"}}}),
                json!({"spec": {"selector": {"c": "d"}}}),
            ),
        ] {
            let mut merged = document.clone();
            merge(&mut merged, &patch);
            assert_eq!(merged, expected, "{document} + {patch}");
        }
    }
}
