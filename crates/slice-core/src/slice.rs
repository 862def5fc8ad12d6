//! The compact form of an EndpointSlice, complete enough to be written back.

use std::sync::Arc;

use k8s_openapi::{api::discovery::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::{Serialize, Serializer};

use crate::{
    Address, AddressType, Conditions, Endpoint, HintInterner, Hints, Interner, PortMapKey, Target, UnknownAddressType,
};

/// The compact form of an EndpointSlice. Its metadata is complete, so that a write keeps the fields of other clients.
///
/// Serializes as the API object, so that it can be the body of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSlice {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// The address type; an error for types of old objects that the API no longer has.
    pub address_type: Result<AddressType, UnknownAddressType>,
    /// The ports of all its endpoints.
    pub ports: PortMapKey,
    /// Its endpoints, in order.
    pub endpoints: Vec<Endpoint>,
}

impl CompactSlice {
    /// The compact form of an API object, with interned strings.
    pub fn from_k8s(slice: &api::EndpointSlice, interner: &mut Interner) -> Self {
        // A `Vec` or an `Option` of one, depending on the API version that the program selects.
        let endpoints: Option<&Vec<api::Endpoint>> = (&slice.endpoints).into();
        let endpoints = endpoints.map_or(&[][..], Vec::as_slice);
        let mut hints = HintInterner::default();
        Self {
            metadata: slice.metadata.clone(),
            address_type: slice.address_type.parse(),
            ports: PortMapKey::from_k8s(slice.ports.as_deref()),
            endpoints: endpoints
                .iter()
                .map(|endpoint| endpoint_from_k8s(endpoint, interner, &mut hints))
                .collect(),
        }
    }

    /// The API object.
    ///
    /// # Panics
    /// Never: the compact form serializes as the API object.
    #[must_use]
    pub fn to_k8s(&self) -> api::EndpointSlice {
        let slice = serde_json::to_value(self).expect("all keys are strings");
        serde_json::from_value(slice).expect("the compact form serializes as the API object")
    }
}

impl From<&api::EndpointSlice> for CompactSlice {
    fn from(slice: &api::EndpointSlice) -> Self {
        Self::from_k8s(slice, &mut Interner::default())
    }
}

impl Serialize for CompactSlice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct EndpointSlice<'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: &'a ObjectMeta,
            address_type: &'a str,
            ports: &'a PortMapKey,
            endpoints: &'a [Endpoint],
        }
        let slice = EndpointSlice {
            api_version: "discovery.k8s.io/v1",
            kind: "EndpointSlice",
            metadata: &self.metadata,
            address_type: match &self.address_type {
                Ok(known) => known.as_str(),
                Err(UnknownAddressType(text)) => text,
            },
            ports: &self.ports,
            endpoints: &self.endpoints,
        };
        slice.serialize(serializer)
    }
}

fn endpoint_from_k8s(endpoint: &api::Endpoint, interner: &mut Interner, hints: &mut HintInterner) -> Endpoint {
    let conditions = endpoint.conditions.as_ref();
    let mut intern = |text: &Option<String>| text.as_deref().map(|text| interner.intern(text));
    Endpoint {
        addresses: endpoint
            .addresses
            .iter()
            .map(|text| Address::from_canonical(text))
            .collect(),
        conditions: Conditions {
            ready: conditions.and_then(|conditions| conditions.ready),
            serving: conditions.and_then(|conditions| conditions.serving),
            terminating: conditions.and_then(|conditions| conditions.terminating),
        },
        hostname: intern(&endpoint.hostname),
        node_name: intern(&endpoint.node_name),
        zone: intern(&endpoint.zone),
        target: endpoint
            .target_ref
            .as_ref()
            .map(|target| Target::from_k8s(target, interner)),
        hints: endpoint
            .hints
            .as_ref()
            .map(|given| hints_from_k8s(given, interner, hints)),
        deprecated_topology: endpoint.deprecated_topology.clone().map(Box::new),
    }
}

fn hints_from_k8s(given: &api::EndpointHints, interner: &mut Interner, hints: &mut HintInterner) -> Arc<Hints> {
    let zones = given.for_zones.iter().flatten().map(|zone| &*zone.name);
    let nodes = given.for_nodes.iter().flatten().map(|node| &*node.name);
    hints.get(zones, nodes, |name| interner.intern(name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(slice: &Value) -> CompactSlice {
        CompactSlice::from(&serde_json::from_value(slice.clone()).unwrap())
    }

    #[test]
    fn slice_round_trips_through_the_compact_form() {
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "web-abcde", "namespace": "ns", "uid": "1", "resourceVersion": "2", "generation": 3,
                "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/e"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "4"}],
            },
            "addressType": "IPv6",
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "appProtocol": "http"}],
            "endpoints": [
                {
                    "addresses": ["fd00::1", "fd00::2"],
                    "conditions": {"ready": true, "serving": true, "terminating": false},
                    "hostname": "web-0", "nodeName": "node", "zone": "zone",
                    "targetRef": {
                        "kind": "Pod", "namespace": "ns", "name": "web-0", "uid": "5", "apiVersion": "v1",
                        "fieldPath": "spec", "resourceVersion": "6",
                    },
                    "hints": {"forZones": [{"name": "zone"}], "forNodes": [{"name": "node"}]},
                    "deprecatedTopology": {"f": "g"},
                },
                {"addresses": ["FD00::3"], "conditions": {"ready": false}, "hints": {}},
                {"addresses": ["fd00::4"], "conditions": {}, "hints": {"forZones": [{"name": "zone"}]}},
            ],
        });
        assert_eq!(serde_json::to_value(read(&slice)).unwrap(), slice);
        let stored: api::EndpointSlice = serde_json::from_value(slice.clone()).unwrap();
        assert_eq!(read(&slice).to_k8s(), stored);
    }

    /// The API server returns empty lists as `null` (R148, G-27, service-slices.md §21, 23).
    #[test]
    fn null_lists_are_empty_lists() {
        let null = json!({"metadata": {}, "addressType": "IPv4", "endpoints": null, "ports": null});
        let empty = json!({"metadata": {}, "addressType": "IPv4", "endpoints": [], "ports": []});
        assert_eq!(read(&null), read(&empty));
    }

    /// Old clusters have slices with address types that the API no longer has (R56a).
    #[test]
    fn unknown_address_type_is_preserved() {
        let slice = read(&json!({"metadata": {}, "addressType": "IP"}));
        assert_eq!(slice.address_type, Err(UnknownAddressType("IP".into())));
        assert_eq!(slice.to_k8s().address_type, "IP");
    }

    #[test]
    fn equal_hints_of_one_slice_are_shared() {
        let hinted = |zone: &str, node: &str| {
            let (zones, nodes) = (json!([{"name": zone}]), json!([{"name": node}]));
            json!({"addresses": ["10.0.0.1"], "hints": {"forZones": zones, "forNodes": nodes}})
        };
        let endpoints = [hinted("a", "1"), hinted("b", "1"), hinted("a", "2"), hinted("a", "1")];
        let slice = json!({"metadata": {}, "addressType": "IPv4", "endpoints": endpoints});
        let slice = read(&slice);
        let hints: Vec<Arc<Hints>> = slice
            .endpoints
            .iter()
            .filter_map(|endpoint| endpoint.hints.clone())
            .collect();
        assert!(Arc::ptr_eq(&hints[0], &hints[3]));
        let texts = |names: &Arc<Hints>| [names.for_zones[0].to_string(), names.for_nodes[0].to_string()];
        assert_eq!(
            hints.iter().map(texts).collect::<Vec<_>>(),
            [["a", "1"], ["b", "1"], ["a", "2"], ["a", "1"],]
        );
    }

    #[test]
    fn equal_strings_of_a_slice_are_shared() {
        let endpoint = json!({"addresses": ["10.0.0.1"], "nodeName": "node"});
        let slice = json!({"metadata": {}, "addressType": "IPv4", "endpoints": [endpoint, endpoint]});
        let mut interner = Interner::default();
        let slice = CompactSlice::from_k8s(&serde_json::from_value(slice).unwrap(), &mut interner);
        // References: two endpoints, the interner, and the one returned here.
        assert_eq!(Arc::strong_count(&interner.intern("node")), 4);
        drop(slice);
    }
}
