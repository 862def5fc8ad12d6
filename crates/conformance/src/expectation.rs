//! Expected state of each cluster after a step. Comparison alone would also pass if neither controller did anything.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use serde_json::{Value, json};

/// An expected state.
#[derive(Clone, Debug)]
pub(super) enum Expectation {
    /// One slice per pattern. A pattern matches an object that has at least its fields, and a list of the same length in any
    /// order; `null` matches an absent field.
    Slices(Vec<Value>),
    /// Addresses that a client on a node in a zone can reach. Computed from the hints as a proxy would; no connection is made
    /// (H68).
    Reachable {
        node: String,
        zone: &'static str,
        addresses: Vec<&'static str>,
    },
}

impl Expectation {
    /// Returns a message with the actual state, if it is not as expected.
    pub(super) fn mismatch(&self, slices: &[EndpointSlice]) -> Option<String> {
        match self {
            Self::Slices(patterns) => {
                let found: Vec<Value> = slices.iter().map(|slice| json!(slice)).collect();
                let patterns: Vec<&Value> = patterns.iter().collect();
                let all_match = match_one_to_one(&patterns, &found.iter().collect::<Vec<_>>());
                (!all_match).then(|| format!("expected slices {}, found {}", json!(patterns), json!(found)))
            }
            Self::Reachable { node, zone, addresses } => {
                let found = reachable(slices, node, zone);
                let expected: BTreeSet<&str> = addresses.iter().copied().collect();
                (found != expected)
                    .then(|| format!("a client on {node} in {zone:?} reaches {found:?}, expected {expected:?}"))
            }
        }
    }
}

fn matches_pattern(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::Object(pattern), Value::Object(value)) => pattern
            .iter()
            .all(|(field, pattern)| matches_pattern(pattern, value.get(field).unwrap_or(&Value::Null))),
        (Value::Array(patterns), Value::Array(values)) => {
            match_one_to_one(&patterns.iter().collect::<Vec<_>>(), &values.iter().collect::<Vec<_>>())
        }
        _ => pattern == value,
    }
}

/// Whether patterns and values can be matched one to one.
fn match_one_to_one(patterns: &[&Value], values: &[&Value]) -> bool {
    let Some((first, rest)) = patterns.split_first() else {
        return values.is_empty();
    };
    (0..values.len()).any(|index| {
        let mut others = values.to_vec();
        matches_pattern(first, others.remove(index)) && match_one_to_one(rest, &others)
    })
}

/// Addresses that a proxy would use: hinted for the node if all endpoints have node hints and one matches, else hinted for the
/// zone likewise, else all ready endpoints (H68).
fn reachable<'a>(slices: &'a [EndpointSlice], node: &str, zone: &str) -> BTreeSet<&'a str> {
    let all = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
    let is_ready = |endpoint: &&Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    };
    let ready: Vec<&Endpoint> = all.filter(is_ready).collect();
    let hinted = select_by_hints(&ready, node, for_nodes).or_else(|| select_by_hints(&ready, zone, for_zones));
    let selected = hinted.unwrap_or(ready);
    selected
        .iter()
        .flat_map(|endpoint| &endpoint.addresses)
        .map(String::as_str)
        .collect()
}

fn select_by_hints<'a>(
    ready: &[&'a Endpoint],
    name: &str,
    hints: fn(&Endpoint) -> Vec<&str>,
) -> Option<Vec<&'a Endpoint>> {
    let all_have_hints = ready.iter().all(|endpoint| !hints(endpoint).is_empty());
    let hinted = ready.iter().filter(|endpoint| hints(endpoint).contains(&name));
    let hinted: Vec<&Endpoint> = hinted.copied().collect();
    (all_have_hints && !hinted.is_empty()).then_some(hinted)
}

fn for_zones(endpoint: &Endpoint) -> Vec<&str> {
    let hints = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    hints.map(|hint| hint.name.as_str()).collect()
}

fn for_nodes(endpoint: &Endpoint) -> Vec<&str> {
    let hints = endpoint.hints.iter().flat_map(|hints| hints.for_nodes.iter().flatten());
    hints.map(|hint| hint.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_objects_with_at_least_its_fields() {
        let value = json!({"a": 1, "list": [{"x": 1, "y": 1}, {"x": 1, "y": 2}]});
        for (pattern, expected) in [
            (json!({}), true),
            (json!({"a": 1, "b": null}), true),
            (json!({"a": null}), false),
            (json!({"a": 2}), false),
            (json!({"b": 1}), false),
            (json!({"list": [{"x": 1}, {"y": 1}]}), true),
            (json!({"list": [{"x": 1}]}), false),
            (json!({"list": [{"y": 2}, {"y": 2}]}), false),
            (json!({"list": []}), false),
        ] {
            assert_eq!(matches_pattern(&pattern, &value), expected, "{pattern}");
        }
    }

    /// Hints count only if all ready endpoints have them (H68 to H70).
    #[test]
    fn node_hints_come_before_zone_hints_and_both_need_all_endpoints() {
        let endpoint = |ip: &str, ready: bool, zone: &str, node: &str| {
            let hint = |name: &str| {
                if name.is_empty() {
                    json!([])
                } else {
                    json!([{"name": name}])
                }
            };
            json!({
                "addresses": [ip], "conditions": {"ready": ready},
                "hints": {"forZones": hint(zone), "forNodes": hint(node)},
            })
        };
        let by_node = [endpoint("a", true, "z1", "n1"), endpoint("b", true, "z1", "n2")];
        let by_zone = [endpoint("a", true, "z1", ""), endpoint("b", true, "z2", "")];
        let one_without = [endpoint("a", true, "z1", ""), endpoint("b", true, "", "")];
        let unready_without = [
            endpoint("a", true, "z1", ""),
            endpoint("b", true, "z2", ""),
            endpoint("c", false, "", ""),
        ];
        for (endpoints, node, zone, expected) in [
            (&by_node[..], "n1", "z1", &["a"][..]),
            (&by_node, "n3", "z1", &["a", "b"]),
            (&by_node, "n3", "z9", &["a", "b"]),
            (&by_zone, "n1", "z2", &["b"]),
            (&by_zone, "n1", "z9", &["a", "b"]),
            (&one_without, "n1", "z1", &["a", "b"]),
            (&unready_without, "n1", "z1", &["a"]),
        ] {
            let slice = json!({"addressType": "IPv4", "metadata": {}, "endpoints": endpoints});
            let slices = [serde_json::from_value(slice).expect("a valid EndpointSlice")];
            let expectation = Expectation::Reachable {
                node: node.to_owned(),
                zone,
                addresses: expected.to_vec(),
            };
            assert_eq!(expectation.mismatch(&slices), None, "{endpoints:?}");
        }
    }
}
