//! A slice as it is stored, compact, and whole enough to be written back.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{core::v1::ObjectReference, discovery::v1 as api},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{
    Address, AddressType, Addresses, Conditions, Endpoint, EndpointRef, Hints, HintsRef, KnownHints, PortMapKey, Share,
    TargetRef, Text, UnknownAddressType,
};

/// A slice. Its metadata is kept whole: what others put there survives when we write it back.
///
/// `Slice` is to be kept; `Slice<&str>` borrows its strings from the API's object and is read far faster, for who reads slices
/// to plan once.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T: Text = Arc<str>> {
    /// Everything about it but its content.
    pub metadata: ObjectMeta,
    /// What its addresses are; old objects may hold a type that is no longer known.
    pub address_type: Result<AddressType, UnknownAddressType>,
    /// The ports of all its endpoints.
    pub ports: PortMapKey,
    /// Its endpoints, in order.
    pub endpoints: Vec<Endpoint<T>>,
}

impl<'a> Slice<&'a str> {
    /// Reads a slice of the API without copying its strings.
    #[must_use]
    pub fn borrowed(slice: &'a api::EndpointSlice) -> Self {
        Self::from_api_with(slice, |text| text)
    }
}

impl<T: Text> Slice<T> {
    /// Reads a slice of the API, its strings made by `share`, which can make one of equal ones.
    pub fn from_api_with<'a>(slice: &'a api::EndpointSlice, mut share: impl FnMut(&'a str) -> T) -> Self {
        Self::from_api_sharing(slice, &mut share)
    }

    /// The same, and names of objects can be shared too.
    pub fn from_api_sharing<'a>(slice: &'a api::EndpointSlice, share: &mut impl Share<&'a str, T>) -> Self {
        let mut reader = Reader {
            share,
            known_hints: KnownHints::default(),
        };
        // A list, or an option of one: that depends on the version of the API that the program chose.
        let endpoints: Option<&Vec<api::Endpoint>> = (&slice.endpoints).into();
        let endpoints = endpoints.map_or(&[][..], Vec::as_slice);
        Self {
            metadata: slice.metadata.clone(),
            address_type: slice.address_type.parse(),
            ports: PortMapKey::of(slice.ports.as_deref()),
            endpoints: endpoints.iter().map(|endpoint| reader.endpoint(endpoint)).collect(),
        }
    }

    /// The same slice in other strings. To keep many, [read](Self::from_api_sharing) them so that they share names.
    pub fn map<'a, U: Text>(&'a self, mut to: impl FnMut(&'a T) -> U) -> Slice<U> {
        Slice {
            metadata: self.metadata.clone(),
            address_type: self.address_type.clone(),
            ports: self.ports.clone(),
            endpoints: self.endpoints.iter().map(|endpoint| endpoint.map(&mut to)).collect(),
        }
    }

    /// The slice as the API has it.
    #[must_use]
    pub fn to_api(&self) -> api::EndpointSlice {
        let endpoints = self.endpoints.iter();
        let endpoints = endpoints.map(|endpoint| {
            let hints = endpoint.hints.as_ref().map(Hints::view);
            let deprecated = endpoint.deprecated_topology.as_deref();
            write_endpoint(&endpoint.view(), hints, deprecated)
        });
        let endpoints = endpoints.collect();
        write_slice(self.metadata.clone(), &self.address_type, &self.ports, endpoints)
    }
}

impl From<&api::EndpointSlice> for Slice {
    fn from(slice: &api::EndpointSlice) -> Self {
        Self::from_api_with(slice, Arc::from)
    }
}

/// Reads the endpoints of one slice.
struct Reader<'r, S> {
    share: &'r mut S,
    known_hints: KnownHints,
}

impl<S> Reader<'_, S> {
    fn endpoint<'a, T: Text>(&mut self, endpoint: &'a api::Endpoint) -> Endpoint<T>
    where
        S: Share<&'a str, T>,
    {
        let conditions = endpoint.conditions.as_ref();
        let share = &mut *self.share;
        let mut read = |text: &'a Option<String>| text.as_deref().map(|text| share.text(text));
        Endpoint {
            addresses: read_addresses(&endpoint.addresses),
            conditions: Conditions {
                ready: conditions.and_then(|conditions| conditions.ready),
                serving: conditions.and_then(|conditions| conditions.serving),
                terminating: conditions.and_then(|conditions| conditions.terminating),
            },
            hostname: read(&endpoint.hostname),
            node_name: read(&endpoint.node_name),
            zone: read(&endpoint.zone),
            target: endpoint
                .target_ref
                .as_ref()
                .map(|target| TargetRef::from(target).to_target(share)),
            hints: endpoint.hints.as_ref().map(|hints| self.hints(hints)),
            deprecated_topology: endpoint.deprecated_topology.clone().map(Box::new),
        }
    }

    #[inline]
    fn hints<'a, T: Text>(&mut self, hints: &'a api::EndpointHints) -> Hints<T>
    where
        S: Share<&'a str, T>,
    {
        let zones = hints.for_zones.as_deref().unwrap_or_default();
        let nodes = hints.for_nodes.as_deref().unwrap_or_default();
        if let ([zone], []) = (zones, nodes) {
            return Hints::Zone(self.share.text(&zone.name));
        }
        let zones = zones.iter().map(|zone| &*zone.name);
        let nodes = nodes.iter().map(|node| &*node.name);
        let share = &mut *self.share;
        Hints::Other(self.known_hints.get(zones, nodes, |name| share.text(name).into()))
    }
}

/// One at a time would be slow, and nearly all endpoints have one.
fn read_addresses(addresses: &[String]) -> Addresses {
    match addresses {
        [one] => Addresses::from_buf([Address::stored(one)]),
        addresses => addresses.iter().map(|address| Address::stored(address)).collect(),
    }
}

pub(crate) fn write_slice(
    metadata: ObjectMeta,
    address_type: &Result<AddressType, UnknownAddressType>,
    ports: &PortMapKey,
    endpoints: Vec<api::Endpoint>,
) -> api::EndpointSlice {
    api::EndpointSlice {
        metadata,
        address_type: match address_type {
            Ok(known) => known.to_string(),
            Err(UnknownAddressType(text)) => text.clone(),
        },
        ports: Some(ports.ports().iter().map(Into::into).collect()),
        endpoints: endpoints.into(),
    }
}

#[inline]
pub(crate) fn write_endpoint(
    endpoint: &EndpointRef<'_>,
    hints: Option<HintsRef<'_>>,
    deprecated_topology: Option<&BTreeMap<String, String>>,
) -> api::Endpoint {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let Conditions {
        ready,
        serving,
        terminating,
    } = endpoint.conditions;
    api::Endpoint {
        addresses: endpoint.addresses.iter().map(Address::to_string).collect(),
        conditions: Some(api::EndpointConditions {
            ready,
            serving,
            terminating,
        }),
        hostname: text(endpoint.hostname),
        node_name: text(endpoint.node_name),
        zone: text(endpoint.zone),
        target_ref: endpoint.target.map(|target| ObjectReference {
            kind: text(target.kind),
            namespace: text(target.namespace),
            name: text(target.name),
            uid: text(target.uid),
            api_version: text(target.api_version),
            field_path: text(target.field_path),
            resource_version: text(target.resource_version),
        }),
        hints: hints.map(write_hints),
        deprecated_topology: deprecated_topology.cloned(),
    }
}

#[inline]
fn write_hints(hints: HintsRef<'_>) -> api::EndpointHints {
    // The API leaves an empty list out.
    fn list<'a, T>(names: impl Iterator<Item = &'a str>, write: impl Fn(String) -> T) -> Option<Vec<T>> {
        let list: Vec<T> = names.map(|name| write(name.to_owned())).collect();
        (!list.is_empty()).then_some(list)
    }
    let zone = |name| api::ForZone { name };
    match hints {
        HintsRef::Zone(name) => api::EndpointHints {
            for_zones: Some(vec![zone(name.to_owned())]),
            for_nodes: None,
        },
        HintsRef::Other(_) => api::EndpointHints {
            for_zones: list(hints.zones(), zone),
            for_nodes: list(hints.nodes(), |name| api::ForNode { name }),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::HintedNames;

    fn read(slice: &Value) -> Slice {
        Slice::from(&serde_json::from_value(slice.clone()).unwrap())
    }

    #[test]
    fn a_slice_survives_the_way_there_and_back() {
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
        assert_eq!(serde_json::to_value(read(&slice).to_api()).unwrap(), slice);
        let stored: api::EndpointSlice = serde_json::from_value(slice.clone()).unwrap();
        let borrowed = Slice::borrowed(&stored);
        assert_eq!(borrowed.to_api(), stored);
        assert_eq!(borrowed.map(|text| Arc::from(*text)), read(&slice));
    }

    /// R148, G-27, trap 23.
    #[test]
    fn null_lists_are_empty_lists() {
        let null = json!({"metadata": {}, "addressType": "IPv4", "endpoints": null, "ports": null});
        let empty = json!({"metadata": {}, "addressType": "IPv4", "endpoints": [], "ports": []});
        assert_eq!(read(&null), read(&empty));
    }

    /// R56a: such slices are found in old clusters.
    #[test]
    fn a_type_that_is_no_longer_known_is_kept() {
        let slice = read(&json!({"metadata": {}, "addressType": "IP"}));
        assert_eq!(slice.address_type, Err(UnknownAddressType("IP".into())));
        assert_eq!(slice.to_api().address_type, "IP");
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
        let names = |endpoint: &Endpoint| match endpoint.hints.clone() {
            Some(Hints::Other(names)) => names,
            hints => panic!("{hints:?}"),
        };
        let hints: Vec<Arc<HintedNames>> = slice.endpoints.iter().map(names).collect();
        assert!(Arc::ptr_eq(&hints[0], &hints[3]));
        let texts = |names: &Arc<HintedNames>| [names.for_zones[0].to_string(), names.for_nodes[0].to_string()];
        assert_eq!(
            hints.iter().map(texts).collect::<Vec<_>>(),
            [["a", "1"], ["b", "1"], ["a", "2"], ["a", "1"],]
        );
    }

    #[test]
    fn equal_strings_are_shared_when_asked_to() {
        let endpoint = json!({"addresses": ["10.0.0.1"], "nodeName": "node"});
        let slice = json!({"metadata": {}, "addressType": "IPv4", "endpoints": [endpoint, endpoint]});
        let node: Arc<str> = "node".into();
        let slice = Slice::from_api_with(&serde_json::from_value(slice).unwrap(), |_| node.clone());
        assert_eq!(Arc::strong_count(&node), 3);
        drop(slice);
    }
}
