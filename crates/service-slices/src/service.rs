//! Compact form of a Service.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::util::intstr::IntOrString};
use slice_core::{
    Address, AddressType, Port,
    well_known::{HEADLESS_LABEL, MANAGED_BY_LABEL, SERVICE_NAME_LABEL},
};
use slice_reconciler::{Annotations, MetadataPolicy, Owner, hints::HintMode};

use crate::{
    MANAGED_BY, NamedPort,
    pod::{DEFAULT_PROTOCOL, non_empty},
};

/// Label keys of a slice that the controller sets. Labels of a Service with these keys are not copied (R110).
pub const RESERVED_LABELS: [&str; 3] = [HEADLESS_LABEL, MANAGED_BY_LABEL, SERVICE_NAME_LABEL];

/// Compact form of a Service: the fields that its slices are derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid. A Service that is deleted and created again has another one.
    pub uid: Arc<str>,
    /// Whether it has a deletionTimestamp.
    pub terminating: bool,
    /// Its labels, copied to its slices.
    pub labels: BTreeMap<String, String>,
    /// Whether it has no cluster IP.
    pub headless: bool,
    /// Its IP families, the address types of its slices.
    pub families: IpFamilies,
    /// Whether all endpoints are published as ready.
    pub publish_not_ready_addresses: bool,
    /// Its ports, in order.
    pub ports: Vec<ServicePort>,
    /// Its hint mode, from an annotation or `trafficDistribution`.
    pub hints: HintMode,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    /// Its name, which may be empty.
    pub name: Arc<str>,
    /// Its protocol.
    pub protocol: Arc<str>,
    /// Its application protocol. Absent and empty are different.
    pub app_protocol: Option<Arc<str>>,
    /// Its target port.
    pub target: TargetPort,
}

/// Target port of a Service port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPort {
    /// A port number; its range is not checked.
    Number(i32),
    /// The name of a container port.
    Named(Arc<str>),
}

/// IP families of a Service, the address types of its slices (R56a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpFamilies {
    /// IPv4 only.
    IPv4,
    /// IPv6 only.
    IPv6,
    /// Dual-stack.
    Both,
}

impl IpFamilies {
    /// Determines the families from `spec.ipFamilies` and `spec.clusterIP`. Pass no cluster IP for a headless Service.
    pub fn from_spec<'t>(ip_families: impl IntoIterator<Item = &'t str>, cluster_ip: Option<&str>) -> Self {
        let (mut v4, mut v6) = (false, false);
        for family in ip_families {
            v4 |= family == "IPv4";
            v6 |= family == "IPv6";
        }
        match (v4, v6, cluster_ip.map(Address::parse_ip)) {
            (false, true, _) | (false, false, Some(Some(Address::V6(_)))) => Self::IPv6,
            (true, true, _) | (false, false, None) => Self::Both,
            (true, false, _) | (false, false, Some(_)) => Self::IPv4,
        }
    }

    /// The address types, in order.
    #[must_use]
    pub fn address_types(self) -> &'static [AddressType] {
        match self {
            Self::IPv4 => &[AddressType::IPv4],
            Self::IPv6 => &[AddressType::IPv6],
            Self::Both => &[AddressType::IPv4, AddressType::IPv6],
        }
    }
}

impl Service {
    /// Whether it has a named target port, so that pods can differ in their ports.
    #[must_use]
    pub fn has_named_targets(&self) -> bool {
        let mut ports = self.ports.iter();
        ports.any(|port| matches!(port.target, TargetPort::Named(_)))
    }

    /// The Service as the owner of its slices.
    #[must_use]
    pub fn owner(&self) -> Owner<'_> {
        Owner {
            api_version: "v1",
            kind: "Service",
            namespace: &self.namespace,
            name: &self.name,
            uid: &self.uid,
            terminating: self.terminating,
        }
    }

    /// Desired metadata of its slices.
    #[must_use]
    pub fn metadata_policy(&self) -> MetadataPolicy {
        let mut labels = self.slice_labels();
        MetadataPolicy {
            managed_labels: RESERVED_LABELS.map(|key| (key.to_owned(), labels.remove(key))).into(),
            copied_labels: labels,
            keep_other_labels: false,
            annotations: Annotations::Preserve,
        }
    }

    /// Desired labels of its slices (R110).
    #[must_use]
    pub fn slice_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.remove(HEADLESS_LABEL);
        labels.insert(SERVICE_NAME_LABEL.to_owned(), self.name.to_string());
        labels.insert(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned());
        if self.headless {
            labels.insert(HEADLESS_LABEL.to_owned(), String::new());
        }
        labels
    }
}

impl ServicePort {
    /// The slice port for this target port number.
    #[must_use]
    pub fn to_port(&self, number: i32) -> Port {
        Port {
            name: Arc::clone(&self.name),
            protocol: Arc::clone(&self.protocol),
            port: Some(number),
            app_protocol: self.app_protocol.clone(),
        }
    }

    /// The target port number for a pod with these named ports; `None` if the pod lacks the named port (R69).
    #[must_use]
    pub fn resolve_target_port(&self, named_ports: &[NamedPort]) -> Option<i32> {
        match &self.target {
            TargetPort::Number(number) => Some(*number),
            TargetPort::Named(name) => named_ports
                .iter()
                .find(|port| *port.name == **name && *port.protocol == *self.protocol)
                .map(|port| port.port),
        }
    }
}

impl From<&api::Service> for Service {
    fn from(service: &api::Service) -> Self {
        let metadata = &service.metadata;
        let spec = service.spec.as_ref();
        let cluster_ip = spec.and_then(|spec| spec.cluster_ip.as_deref());
        let cluster_ip = cluster_ip.filter(|ip| !ip.is_empty() && *ip != "None");
        let ip_families = spec.iter().flat_map(|spec| spec.ip_families.iter().flatten());
        let ports = spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
            name: metadata.name.as_deref().unwrap_or_default().into(),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            terminating: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.clone().unwrap_or_default(),
            headless: cluster_ip.is_none(),
            families: IpFamilies::from_spec(ip_families.map(String::as_str), cluster_ip),
            publish_not_ready_addresses: spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true),
            ports: ports.map(ServicePort::from).collect(),
            hints: hint_mode(service),
        }
    }
}

fn hint_mode(service: &api::Service) -> HintMode {
    let annotations = service.metadata.annotations.as_ref();
    let distribution = service
        .spec
        .as_ref()
        .and_then(|spec| spec.traffic_distribution.as_deref());
    HintMode::of(|key| annotations?.get(key).map(String::as_str), distribution, true)
}

impl From<&api::ServicePort> for ServicePort {
    fn from(port: &api::ServicePort) -> Self {
        Self {
            name: port.name.as_deref().unwrap_or_default().into(),
            protocol: non_empty(&port.protocol).unwrap_or(DEFAULT_PROTOCOL).into(),
            app_protocol: port.app_protocol.as_deref().map(Into::into),
            target: match &port.target_port {
                Some(IntOrString::Int(number)) => TargetPort::Number(*number),
                Some(IntOrString::String(name)) if !name.is_empty() => TargetPort::Named(name.as_str().into()),
                // The default of the API server.
                Some(IntOrString::String(_)) | None => TargetPort::Number(port.port),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(metadata: &Value, spec: &Value) -> Service {
        let service = json!({"metadata": metadata, "spec": spec});
        Service::from(&serde_json::from_value::<api::Service>(service).unwrap())
    }

    /// Upstream's cases (T-UTL-37…46, T-SAT-01…10).
    #[test]
    fn r56a_address_types() {
        use IpFamilies::{Both, IPv4, IPv6};
        let none: [&str; 0] = [];
        for (families, cluster_ip, expected) in [
            (&none[..], json!("10.0.0.10"), IPv4),
            (&none, json!("2000::1"), IPv6),
            (&["IPv4"], json!("10.0.0.10"), IPv4),
            (&["IPv6"], json!("2000::1"), IPv6),
            (&["IPv4", "IPv6"], json!("10.0.0.10"), Both),
            (&["IPv6", "IPv4"], json!("2000::1"), Both),
            (&none, json!("None"), Both),
            (&["IPv4", "IPv6"], json!("None"), Both),
            // Not covered upstream: ipFamilies take precedence, and unknown families are ignored.
            (&["IPv6"], json!("10.0.0.10"), IPv6),
            (&["IPv4"], json!("None"), IPv4),
            (&["IPv5", "IPv6"], json!("None"), IPv6),
            (&["IPv5"], json!("2000::1"), IPv6),
            (&none, json!("garbage"), IPv4),
            (&none, json!("::ffff:10.0.0.10"), IPv4),
            (&none, json!(""), Both),
            (&none, Value::Null, Both),
        ] {
            for selector in [Value::Null, json!({"foo": "bar"})] {
                let spec = json!({"ipFamilies": families, "clusterIP": cluster_ip, "selector": selector});
                assert_eq!(service(&json!({}), &spec).families, expected, "{spec}");
            }
        }
        assert_eq!(Both.address_types(), [AddressType::IPv4, AddressType::IPv6]);
    }

    /// Upstream's cases of labels (T-UTL-01…06) and of desired labels (T-UTL-24…36; the comparison is tested in the reconciler).
    #[test]
    fn r110_labels_of_slices() {
        let (sn, mb, headless) = (SERVICE_NAME_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL);
        let ours = json!({sn: "foo", mb: MANAGED_BY});
        let ours_foo = json!({sn: "foo", mb: MANAGED_BY, "foo": "bar"});
        let ours_headless = json!({sn: "foo", mb: MANAGED_BY, headless: ""});
        let ours_headless_foo = json!({sn: "foo", mb: MANAGED_BY, headless: "", "foo": "bar"});
        let ours_two = json!({sn: "foo", mb: MANAGED_BY, "foo": "bar", "foo2": "bar2"});
        for (cluster_ip, labels, expected) in [
            ("1.1.1.1", Value::Null, &ours),
            ("1.1.1.1", json!({"foo": "bar"}), &ours_foo),
            ("None", json!({"foo": "bar"}), &ours_headless_foo),
            ("None", json!({}), &ours_headless),
            ("", json!({}), &ours_headless),
            ("1.1.1.1", json!({"foo": "bar", "foo2": "bar2"}), &ours_two),
            ("1.1.1.1", json!({sn: "bad", mb: "actor", "foo": "bar"}), &ours_foo),
            ("1.1.1.1", json!({headless: ""}), &ours),
            ("1.1.1.1", json!({sn: "bad", mb: "actor", headless: "x"}), &ours),
            ("None", json!({headless: "x"}), &ours_headless),
        ] {
            let metadata = json!({"name": "foo", "labels": labels, "annotations": {"foo": "bar"}});
            let service = service(&metadata, &json!({"clusterIP": cluster_ip}));
            assert_eq!(json!(service.slice_labels()), *expected, "{cluster_ip} {labels}");
        }
    }

    /// The older hint annotation is read, the owner has the uid, and reserved labels are not copied (R94, R109, R110).
    #[test]
    fn owner_metadata_and_hint_mode_of_a_service() {
        let metadata = json!({
            "namespace": "ns", "name": "foo", "uid": "1", "deletionTimestamp": "2024-01-02T03:04:05Z",
            "labels": {"foo": "bar", HEADLESS_LABEL: "x"},
            "annotations": {"service.kubernetes.io/topology-aware-hints": "auto"},
        });
        let service = service(
            &metadata,
            &json!({"clusterIP": "1.1.1.1", "trafficDistribution": "PreferClose"}),
        );
        assert_eq!(service.hints, HintMode::Auto);
        let owner = Owner {
            api_version: "v1",
            kind: "Service",
            namespace: "ns",
            name: "foo",
            uid: "1",
            terminating: true,
        };
        assert_eq!(service.owner(), owner);
        let policy = service.metadata_policy();
        assert_eq!(json!(policy.copied_labels), json!({"foo": "bar"}));
        let reserved = json!({HEADLESS_LABEL: null, MANAGED_BY_LABEL: MANAGED_BY, SERVICE_NAME_LABEL: "foo"});
        assert_eq!(json!(policy.managed_labels), reserved);
        assert_eq!(policy.annotations, Annotations::Preserve);
    }

    /// Defaults of the API server are applied (R68).
    #[test]
    fn r68_service_port_defaults() {
        let target = |target: Value| {
            let port = json!({"port": 80, "targetPort": target});
            ServicePort::from(&serde_json::from_value::<api::ServicePort>(port).unwrap())
        };
        let expected = |target| ServicePort {
            name: "".into(),
            protocol: "TCP".into(),
            app_protocol: None,
            target,
        };
        assert_eq!(target(json!(8080)), expected(TargetPort::Number(8080)));
        assert_eq!(target(json!(0)), expected(TargetPort::Number(0)));
        assert_eq!(target(json!("http")), expected(TargetPort::Named("http".into())));
        assert_eq!(target(json!("")), expected(TargetPort::Number(80)));
        assert_eq!(target(Value::Null), expected(TargetPort::Number(80)));
    }
}
