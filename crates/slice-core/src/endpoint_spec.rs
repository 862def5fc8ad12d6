//! A builder for desired endpoints.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::{ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{Address, AddressType, Endpoint, Target};

/// A desired endpoint with one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSpec {
    endpoint: Endpoint,
    /// `None` if the address is invalid.
    address_type: Option<AddressType>,
}

impl EndpointSpec {
    /// An endpoint with an IP address. The reconciler rejects and reports invalid ones.
    #[must_use]
    pub fn new(ip: &str) -> Self {
        let address = Address::parse_ip(ip);
        let address_type = address.as_ref().map(Address::address_type);
        Self::with_address(address.unwrap_or_else(|| Address::Other(ip.into())), address_type)
    }

    /// An endpoint with a fully qualified domain name.
    #[must_use]
    pub fn fqdn(name: &str) -> Self {
        Self::with_address(Address::Other(name.into()), Some(AddressType::Fqdn))
    }

    /// An endpoint with an address of a pod. Conditions, node and target are those of the pod.
    #[must_use]
    pub fn for_pod(ip: &str, pod: &Pod) -> Self {
        let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready = conditions.find(|condition| condition.type_ == "Ready");
        let serving = ready.is_some_and(|condition| condition.status == "True");
        let terminating = pod.metadata.deletion_timestamp.is_some();
        let mut spec = Self::new(ip)
            .ready(serving && !terminating)
            .serving(serving)
            .terminating(terminating)
            .target("Pod", &pod.metadata);
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        spec.endpoint.node_name = node.filter(|node| !node.is_empty()).map(Arc::from);
        spec
    }

    fn with_address(address: Address, address_type: Option<AddressType>) -> Self {
        Self {
            endpoint: Endpoint {
                addresses: [address].into_iter().collect(),
                ..Endpoint::default()
            },
            address_type,
        }
    }

    /// The endpoint and its address type; `None` if the IP address is invalid.
    #[must_use]
    pub fn into_parts(self) -> (Endpoint, Option<AddressType>) {
        (self.endpoint, self.address_type)
    }

    /// Sets whether it accepts new connections.
    #[must_use]
    pub fn ready(mut self, ready: bool) -> Self {
        self.endpoint.conditions.ready = Some(ready);
        self
    }

    /// Sets whether it serves requests, even while terminating.
    #[must_use]
    pub fn serving(mut self, serving: bool) -> Self {
        self.endpoint.conditions.serving = Some(serving);
        self
    }

    /// Sets whether it is terminating.
    #[must_use]
    pub fn terminating(mut self, terminating: bool) -> Self {
        self.endpoint.conditions.terminating = Some(terminating);
        self
    }

    /// Sets the DNS hostname.
    #[must_use]
    pub fn hostname(mut self, hostname: impl Into<Arc<str>>) -> Self {
        self.endpoint.hostname = Some(hostname.into());
        self
    }

    /// Sets the node it runs on.
    #[must_use]
    pub fn node(mut self, node: impl Into<Arc<str>>) -> Self {
        self.endpoint.node_name = Some(node.into());
        self
    }

    /// Sets the zone it is in.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<Arc<str>>) -> Self {
        self.endpoint.zone = Some(zone.into());
        self
    }

    /// Sets the object behind the endpoint, such as a `Pod`. The target is part of the identity: endpoints with equal
    /// addresses and different targets are different endpoints.
    #[must_use]
    pub fn target(mut self, kind: &str, metadata: &ObjectMeta) -> Self {
        self.endpoint.target = Some(Target::from(&ObjectReference {
            kind: Some(kind.to_owned()),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        }));
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pod_endpoint_has_conditions_node_and_target() {
        let pod = |status: &str, deleted: Option<&str>| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"namespace": "ns", "name": "web-0", "uid": "1", "deletionTimestamp": deleted},
                "spec": {"nodeName": "node", "containers": []},
                "status": {"conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": status}]},
            }))
            .unwrap()
        };
        let now = Some("2026-01-02T03:04:05Z");
        for (status, deleted, ready, serving) in [
            ("True", None, true, true),
            ("True", now, false, true),
            ("False", None, false, false),
            ("Unknown", now, false, false),
        ] {
            let (endpoint, address_type) = EndpointSpec::for_pod("10.0.0.1", &pod(status, deleted)).into_parts();
            let expected = json!({
                "addresses": ["10.0.0.1"], "nodeName": "node",
                "conditions": {"ready": ready, "serving": serving, "terminating": deleted.is_some()},
                "targetRef": {"kind": "Pod", "namespace": "ns", "name": "web-0", "uid": "1"},
            });
            assert_eq!(
                serde_json::to_value(endpoint).unwrap(),
                expected,
                "{status} {deleted:?}"
            );
            assert_eq!(address_type, Some(AddressType::IPv4));
        }
        let (endpoint, _) = EndpointSpec::for_pod("10.0.0.1", &Pod::default()).into_parts();
        assert_eq!(endpoint.node_name, None);
    }

    #[test]
    fn invalid_ip_address_has_no_address_type() {
        let address_type = |spec: EndpointSpec| spec.into_parts().1;
        assert_eq!(address_type(EndpointSpec::new("fd00::1")), Some(AddressType::IPv6));
        assert_eq!(address_type(EndpointSpec::new("10.0.0.256")), None);
        assert_eq!(
            address_type(EndpointSpec::fqdn("db.example.com")),
            Some(AddressType::Fqdn)
        );
    }
}
