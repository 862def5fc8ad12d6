use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::{super::topology_nodes, endpoints};
use crate::kinds::{ClusterIps, Kind};

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Id, old endpoints, new endpoints, expected node names.
type Case<'a> = (&'a str, &'a [Value], &'a [Value], &'a [Option<&'a str>]);

fn on(node: &str) -> Value {
    json!({ "deprecatedTopology": { HOSTNAME: node } })
}

fn named(node: &str, topology: &str) -> Value {
    json!({ "nodeName": node, "deprecatedTopology": { HOSTNAME: topology } })
}

fn nodes(slice: &EndpointSlice) -> Vec<Option<&str>> {
    slice
        .endpoints
        .iter()
        .flatten()
        .map(|endpoint| endpoint.node_name.as_deref())
        .collect()
}

fn has_topology(slice: &EndpointSlice) -> bool {
    slice
        .endpoints
        .iter()
        .flatten()
        .any(|endpoint| endpoint.deprecated_topology.is_some())
}

#[test]
fn t_api_10_and_12_a_new_slice_has_no_topology() {
    for fields in [
        json!({}),
        json!({ "deprecatedTopology": { "key": "value", HOSTNAME: "node-1" } }),
    ] {
        let mut slice = endpoints(&[fields]);
        slice.prepare_create(&mut ClusterIps::default());
        assert_eq!((has_topology(&slice), nodes(&slice)), (false, vec![None]));
    }
}

#[test]
fn t_api_14_unchanged_endpoints_keep_their_topology() {
    let old = endpoints(&[on("node-1")]);
    let mut new = old.clone();
    new.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    new.prepare_update(&old);
    assert_eq!(new.endpoints, old.endpoints);
}

/// A change of the endpoints drops the topology; a hostname in the old topology becomes the nodeName.
#[test]
fn t_api_16_and_18_to_24_changed_endpoints() {
    let other = json!({ "deprecatedTopology": { HOSTNAME: "node-1", "other": "x" } });
    let both = [on("node-1"), on("node-2")];
    let cases: [Case<'_>; 8] = [
        ("16", &[json!({})], &[on("node-1")], &[None]),
        (
            "18",
            std::slice::from_ref(&other),
            &[other.clone(), json!({})],
            &[Some("node-1"), None],
        ),
        (
            "19",
            &[on("node-1")],
            &[on("node-1"), json!({})],
            &[Some("node-1"), None],
        ),
        (
            "20",
            &both,
            &[on("node-2"), on("node-1")],
            &[Some("node-2"), Some("node-1")],
        ),
        ("21", &both, &[on("node-3"), on("node-1")], &[None, Some("node-1")]),
        (
            "22",
            &both,
            &[on("node-1"), named("node-2", "node-1")],
            &[Some("node-1"), Some("node-2")],
        ),
        (
            "23",
            &both,
            &[named("node-1", "node-2"), named("node-2", "node-1")],
            &[Some("node-1"), Some("node-2")],
        ),
        (
            "24",
            &[on("valid-node-1"), on("invalid node-2")],
            &[
                on("valid-node-1"),
                on("invalid node-2"),
                named("node-3", "x"),
                named("node-4", "x"),
            ],
            &[Some("valid-node-1"), None, Some("node-3"), Some("node-4")],
        ),
    ];
    for (id, old, new, expected) in cases {
        let mut slice = endpoints(new);
        slice.prepare_update(&endpoints(old));
        assert_eq!(
            (has_topology(&slice), nodes(&slice)),
            (false, expected.to_vec()),
            "T-API-{id}"
        );
    }
}

#[test]
fn t_api_25_to_27_nodes_of_the_old_topology() {
    let cases: [(&[&str], &[&str]); 3] = [
        (&["node-1", "node-2"], &["node-1", "node-2"]),
        (&["node-1", "node-3", "node-3"], &["node-1", "node-3"]),
        (&[], &[]),
    ];
    for (hosts, expected) in cases {
        let fields: Vec<_> = hosts.iter().map(|host| on(host)).collect();
        let found = topology_nodes(&endpoints(&fields));
        assert!(
            found.iter().map(String::as_str).eq(expected.iter().copied()),
            "{found:?}"
        );
    }
}
