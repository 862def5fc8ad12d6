//! What is seen after a step on each side by itself: two sides on which nothing happens are equal as well.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use serde_json::{Value, json};

/// What is to be seen.
#[derive(Clone, Debug)]
pub(super) enum Expectation {
    /// As many slices as there are patterns, each pattern fitting one. A pattern fits what has at least its fields, and
    /// lists of as many elements in any order; `null` fits what is absent.
    Slices(Vec<Value>),
    /// Whom a client on a node in a zone reaches. Nobody connects: this is what the hints tell a proxy to do (H68).
    Reaches {
        node: String,
        zone: &'static str,
        addresses: Vec<&'static str>,
    },
}

impl Expectation {
    /// What is seen instead, if it is something else.
    pub(super) fn unmet(&self, slices: &[EndpointSlice]) -> Option<String> {
        match self {
            Self::Slices(patterns) => {
                let seen: Vec<Value> = slices.iter().map(|slice| json!(slice)).collect();
                let patterns: Vec<&Value> = patterns.iter().collect();
                let fit = one_to_one(&patterns, &seen.iter().collect::<Vec<_>>());
                (!fit).then(|| format!("expected slices {}, found {}", json!(patterns), json!(seen)))
            }
            Self::Reaches { node, zone, addresses } => {
                let seen = reached(slices, node, zone);
                let expected: BTreeSet<&str> = addresses.iter().copied().collect();
                (seen != expected).then(|| format!("a client on {node} in {zone:?} reaches {seen:?}, not {expected:?}"))
            }
        }
    }
}

fn fits(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::Object(pattern), Value::Object(value)) => pattern
            .iter()
            .all(|(field, pattern)| fits(pattern, value.get(field).unwrap_or(&Value::Null))),
        (Value::Array(patterns), Value::Array(values)) => {
            one_to_one(&patterns.iter().collect::<Vec<_>>(), &values.iter().collect::<Vec<_>>())
        }
        _ => pattern == value,
    }
}

/// Whether each pattern can have a value of its own, and none is left.
fn one_to_one(patterns: &[&Value], values: &[&Value]) -> bool {
    let Some((first, rest)) = patterns.split_first() else {
        return values.is_empty();
    };
    (0..values.len()).any(|place| {
        let mut others = values.to_vec();
        fits(first, others.remove(place)) && one_to_one(rest, &others)
    })
}

/// H68: by node if all have such hints and one is for here, else by zone likewise, else everybody who is ready.
fn reached<'a>(slices: &'a [EndpointSlice], node: &str, zone: &str) -> BTreeSet<&'a str> {
    let all = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
    let is_ready = |endpoint: &&Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    };
    let ready: Vec<&Endpoint> = all.filter(is_ready).collect();
    let close = by_hints(&ready, node, for_nodes).or_else(|| by_hints(&ready, zone, for_zones));
    let reached = close.unwrap_or(ready);
    reached
        .iter()
        .flat_map(|endpoint| &endpoint.addresses)
        .map(String::as_str)
        .collect()
}

fn by_hints<'a>(ready: &[&'a Endpoint], here: &str, hints: fn(&Endpoint) -> Vec<&str>) -> Option<Vec<&'a Endpoint>> {
    let all_have_hints = ready.iter().all(|endpoint| !hints(endpoint).is_empty());
    let close = ready.iter().filter(|endpoint| hints(endpoint).contains(&here));
    let close: Vec<&Endpoint> = close.copied().collect();
    (all_have_hints && !close.is_empty()).then_some(close)
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
    fn a_pattern_fits_what_has_at_least_its_fields() {
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
            assert_eq!(fits(&pattern, &value), expected, "{pattern}");
        }
    }

    /// H68 to H70.
    #[test]
    fn hints_lead_to_the_node_then_to_the_zone_and_count_only_if_all_have_them() {
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
            let slices = [serde_json::from_value(slice).expect("a slice")];
            let expectation = Expectation::Reaches {
                node: node.to_owned(),
                zone,
                addresses: expected.to_vec(),
            };
            assert_eq!(expectation.unmet(&slices), None, "{endpoints:?}");
        }
    }
}
