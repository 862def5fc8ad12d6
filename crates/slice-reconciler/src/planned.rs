//! A slice to be written, whose endpoints are still borrowed from existing slices and from the desired state.

use std::{collections::BTreeMap, ptr, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{
    Address, AddressType, CompactSlice, Conditions, Endpoint, EndpointSource, Hints, PortMapKey, TargetView,
    UnknownAddressType,
};

/// A slice to be written. Its endpoints are copied once, when the plan is complete.
#[derive(Clone, Debug)]
pub(crate) struct PlannedSlice<'a, E> {
    pub(crate) metadata: ObjectMeta,
    pub(crate) address_type: Result<AddressType, UnknownAddressType>,
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<PlannedEndpoint<'a, E>>,
}

/// An endpoint of a slice to be written, and its hints.
#[derive(Clone, Debug)]
pub(crate) struct PlannedEndpoint<'a, E> {
    origin: Origin<'a, E>,
    pub(crate) hints: Option<Arc<Hints>>,
}

#[derive(Clone, Copy, Debug)]
enum Origin<'a, E> {
    /// As it is desired.
    Desired(E),
    /// As it exists, without `deprecatedTopology`, which only old API versions wrote (R67).
    Existing(&'a Endpoint),
    /// As it exists, with all fields: its slice is written for other reasons.
    Verbatim(&'a Endpoint),
}

impl<'a, E: EndpointSource> PlannedSlice<'a, E> {
    /// An existing slice with its endpoints as they are.
    pub(crate) fn unchanged(slice: &'a CompactSlice) -> Self {
        let verbatim = |endpoint: &'a Endpoint| PlannedEndpoint {
            origin: Origin::Verbatim(endpoint),
            hints: endpoint.hints.clone(),
        };
        Self::replacing(
            slice,
            slice.ports.clone(),
            slice.endpoints.iter().map(verbatim).collect(),
        )
    }

    /// An existing slice with other content.
    pub(crate) fn replacing(slice: &CompactSlice, ports: PortMapKey, endpoints: Vec<PlannedEndpoint<'a, E>>) -> Self {
        Self {
            metadata: slice.metadata.clone(),
            address_type: slice.address_type.clone(),
            ports,
            endpoints,
        }
    }

    /// The slice to send.
    pub(crate) fn into_slice(self) -> CompactSlice {
        CompactSlice {
            endpoints: self.endpoints.into_iter().map(PlannedEndpoint::into_endpoint).collect(),
            metadata: self.metadata,
            address_type: self.address_type,
            ports: self.ports,
        }
    }
}

impl<'a, E: EndpointSource> PlannedEndpoint<'a, E> {
    /// An endpoint as it is desired, without hints.
    pub(crate) fn from_desired(endpoint: E) -> Self {
        Self {
            origin: Origin::Desired(endpoint),
            hints: None,
        }
    }

    /// An endpoint as it exists, without hints.
    pub(crate) fn from_existing(endpoint: &'a Endpoint) -> Self {
        Self {
            origin: Origin::Existing(endpoint),
            hints: None,
        }
    }

    /// Whether this replaces or keeps an existing endpoint. Kept endpoints are compared by pointer.
    pub(crate) fn replaces(&self, existing: &Endpoint) -> bool {
        match &self.origin {
            Origin::Desired(desired) => desired.same_identity(existing),
            Origin::Existing(own) | Origin::Verbatim(own) => ptr::eq(*own, existing),
        }
    }

    fn into_endpoint(self) -> Endpoint {
        let deprecated_topology = self.deprecated_topology().cloned().map(Box::new);
        Endpoint {
            deprecated_topology,
            hints: self.hints,
            ..match self.origin {
                Origin::Desired(desired) => desired.to_endpoint(),
                Origin::Existing(existing) | Origin::Verbatim(existing) => existing.to_endpoint(),
            }
        }
    }

    fn deprecated_topology(&self) -> Option<&'a BTreeMap<String, String>> {
        match self.origin {
            Origin::Desired(_) | Origin::Existing(_) => None,
            Origin::Verbatim(verbatim) => verbatim.deprecated_topology.as_deref(),
        }
    }
}

/// Reads a field from the origin of an endpoint.
macro_rules! read {
    ($endpoint:expr, $field:ident) => {
        match &$endpoint.origin {
            Origin::Desired(desired) => desired.$field(),
            Origin::Existing(existing) | Origin::Verbatim(existing) => EndpointSource::$field(*existing),
        }
    };
}

impl<E: EndpointSource> EndpointSource for PlannedEndpoint<'_, E> {
    fn addresses(&self) -> &[Address] {
        read!(self, addresses)
    }

    fn conditions(&self) -> Conditions {
        read!(self, conditions)
    }

    fn hostname(&self) -> Option<&str> {
        read!(self, hostname)
    }

    fn node_name(&self) -> Option<&str> {
        read!(self, node_name)
    }

    fn zone(&self) -> Option<&str> {
        read!(self, zone)
    }

    fn target(&self) -> Option<TargetView<'_>> {
        read!(self, target)
    }

    fn to_endpoint(&self) -> Endpoint {
        read!(self, to_endpoint)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn planned_slices_are_written_as_planned() {
        let endpoint = |ip: &str| {
            json!({
                "addresses": [ip], "nodeName": "node", "targetRef": {"kind": "Pod", "name": ip, "uid": "1"},
                "hints": {"forZones": [{"name": "zone"}]}, "deprecatedTopology": {"old": "value"},
            })
        };
        let slice = CompactSlice::from(
            &serde_json::from_value(json!({
                "metadata": {"name": "web-a", "annotations": {"other": "yes"}}, "addressType": "IPv4",
                "ports": [{"name": "http", "port": 80}],
                "endpoints": [endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.3")],
            }))
            .unwrap(),
        );
        let unchanged: PlannedSlice<'_, &Endpoint> = PlannedSlice::unchanged(&slice);
        assert_eq!(unchanged.into_slice(), slice);

        let [a, b, c] = &slice.endpoints[..] else { panic!() };
        let changed = Endpoint {
            node_name: Some("other".into()),
            ..b.clone()
        };
        let mut endpoints = vec![
            PlannedEndpoint::from_existing(a),
            PlannedEndpoint::from_desired(&changed),
        ];
        assert!(endpoints[0].replaces(a) && endpoints[1].replaces(b));
        assert!(!endpoints[0].replaces(c) && !endpoints[1].replaces(c));
        endpoints[1].hints = Some(Hints::zone("other"));
        let replaced = PlannedSlice::replacing(&slice, PortMapKey::new([]), endpoints);
        let expected = CompactSlice {
            ports: PortMapKey::new([]),
            endpoints: vec![
                a.to_endpoint(),
                Endpoint {
                    hints: Some(Hints::zone("other")),
                    ..changed.to_endpoint()
                },
            ],
            ..slice.clone()
        };
        assert_eq!(replaced.into_slice(), expected);
    }
}
