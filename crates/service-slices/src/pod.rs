//! What matters of a Pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use slice_core::{AddressType, Interner, TargetIdentity};

use crate::{PodAddresses, Service, pod_addresses::is_plainly_v6};

/// Protocol of a port that does not have one.
pub(crate) const DEFAULT_PROTOCOL: &str = "TCP";

/// What matters of a Pod, in compact form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace, name and uid, shared with its endpoints. Like the rest, never empty: absent is `None`.
    pub identity: Arc<TargetIdentity>,
    /// Whether it can be an endpoint at all: it has not come to its end, and it has an address (R57).
    pub eligible: bool,
    /// Whether it is ready (R58).
    pub ready: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// The node it runs on.
    pub node: Option<Arc<str>>,
    /// Its addresses.
    pub addresses: PodAddresses,
    /// Its hostname, published when `subdomain` names the Service.
    pub hostname: Option<Arc<str>>,
    /// The Service under whose name its hostname can be found; `None` without one.
    pub subdomain: Option<Arc<str>>,
    /// Where named target ports are looked up: first match wins. Pods with equal ports best share one allocation; those
    /// without any need none.
    pub named_ports: Option<Arc<Vec<NamedPort>>>,
}

// Memory per pod is a promise of the programs.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Pod>() <= 128);

/// A container port that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPort {
    /// Its name.
    pub name: Arc<str>,
    /// Its protocol.
    pub protocol: Arc<str>,
    /// The container's port; host ports are not used.
    pub port: i32,
}

impl Pod {
    /// The compact form of an object of the API, with interned strings.
    pub fn from_k8s(pod: &api::Pod, interner: &mut Interner) -> Self {
        let addresses = PodAddresses::parse(ips(pod));
        let named_ports = pod.spec.as_ref().and_then(|spec| named_ports(spec, interner));
        Self::read(pod, addresses, named_ports, interner)
    }

    /// What matters of a pod to one Service, for a caller that keeps no pods: named ports only if the Service refers to one,
    /// addresses only of its families.
    pub fn for_service(pod: &api::Pod, service: &Service, interner: &mut Interner) -> Self {
        let takes_v6 = service.families.address_types().contains(&AddressType::IPv6);
        let addresses = PodAddresses::parse(ips(pod).filter(|text| takes_v6 || !is_plainly_v6(text)));
        let spec = pod.spec.as_ref().filter(|_| service.has_named_targets());
        let named_ports = spec.and_then(|spec| named_ports(spec, interner));
        Self::read(pod, addresses, named_ports, interner)
    }

    fn read(
        pod: &api::Pod,
        addresses: PodAddresses,
        named_ports: Option<Arc<Vec<NamedPort>>>,
        interner: &mut Interner,
    ) -> Self {
        let metadata = &pod.metadata;
        let [namespace, name, uid] = [&metadata.namespace, &metadata.name, &metadata.uid].map(given);
        let spec = pod.spec.as_ref();
        let spec_text = |field: fn(&api::PodSpec) -> &Option<String>| spec.and_then(|spec| given(field(spec)));
        let hostname = spec_text(|spec| &spec.hostname);
        let subdomain = hostname.and_then(|_| spec_text(|spec| &spec.subdomain));
        let mut intern = |text: Option<&str>| text.map(|text| interner.intern(text));
        Self {
            node: intern(spec_text(|spec| &spec.node_name)),
            hostname: intern(hostname),
            subdomain: intern(subdomain),
            named_ports,
            identity: interner.intern_identity(namespace, name, uid),
            addresses,
            eligible: is_eligible(pod),
            ready: is_ready(pod),
            terminating: metadata.deletion_timestamp.is_some(),
        }
    }

    /// Its namespace; empty without one.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.identity.namespace.as_deref().unwrap_or_default()
    }

    /// Its name; empty without one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.identity.name.as_deref().unwrap_or_default()
    }

    /// Its named ports, in the order in which they are looked up.
    pub(crate) fn named_ports(&self) -> &[NamedPort] {
        self.named_ports.as_ref().map_or(&[], |ports| ports)
    }

    /// The hostname under which a Service publishes the pod (R64). Whether the Service is headless does not matter.
    #[must_use]
    pub fn hostname_for(&self, namespace: &str, service: &str) -> Option<&str> {
        let hostname = self.hostname.as_deref()?;
        (self.subdomain.as_deref() == Some(service) && self.namespace() == namespace).then_some(hostname)
    }
}

impl From<&api::Pod> for Pod {
    fn from(pod: &api::Pod) -> Self {
        Self::from_k8s(pod, &mut Interner::default())
    }
}

/// In the API, empty is absent.
#[expect(clippy::ref_option, reason = "it is how the API's types hold their fields")]
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn ips(pod: &api::Pod) -> impl Iterator<Item = &str> + Clone {
    pod_ips(pod).iter().map(|ip| ip.ip.as_str())
}

fn pod_ips(pod: &api::Pod) -> &[api::PodIP] {
    let status = pod.status.as_ref();
    status.and_then(|status| status.pod_ips.as_deref()).unwrap_or_default()
}

fn conditions(pod: &api::Pod) -> &[api::PodCondition] {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default()
}

/// R57. A pod that only has `podIP` counts, although its address is never published.
fn is_eligible(pod: &api::Pod) -> bool {
    let Some(status) = &pod.status else { return false };
    let finished = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    !finished && (!pod_ips(pod).is_empty() || given(&status.pod_ip).is_some())
}

/// R58: the first condition of the type decides.
fn is_ready(pod: &api::Pod) -> bool {
    conditions(pod)
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .is_some_and(|condition| condition.status == "True")
}

/// The order in which names are looked up: regular containers, then sidecars (R69).
fn named_ports(spec: &api::PodSpec, interner: &mut Interner) -> Option<Arc<Vec<NamedPort>>> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| container.ports.iter().flatten());
    let named = ports.filter_map(|port| {
        Some(NamedPort {
            name: interner.intern(given(&port.name)?),
            protocol: interner.intern(given(&port.protocol).unwrap_or(DEFAULT_PROTOCOL)),
            port: port.container_port,
        })
    });
    let named: Vec<NamedPort> = named.collect();
    (!named.is_empty()).then(|| Arc::new(named))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(pod: Value) -> Pod {
        Pod::from(&serde_json::from_value::<api::Pod>(pod).unwrap())
    }

    /// T-CUT-07…10, -12…16, T-SPE-01…04, -06…10; T-CUT-17, T-SPE-11: terminating pods are always included.
    #[test]
    fn r57_which_pods_can_be_endpoints() {
        let ip = json!([{"ip": "1.2.3.4"}]);
        let both = json!([{"ip": "1.2.3.4"}, {"ip": "fd00::4"}]);
        for (phase, restart, pod_ip, pod_ips, expected) in [
            ("Failed", "Never", "1.2.3.4", ip.clone(), false),
            ("Succeeded", "Never", "1.2.3.4", ip.clone(), false),
            ("Succeeded", "OnFailure", "1.2.3.4", ip.clone(), false),
            ("Running", "Never", "", json!([]), false),
            ("Running", "Never", "", Value::Null, false),
            ("Failed", "Always", "1.2.3.4", ip.clone(), false),
            ("Pending", "Never", "1.2.3.4", ip.clone(), true),
            ("Unknown", "OnFailure", "1.2.3.4", ip.clone(), true),
            ("", "Never", "1.2.3.4", ip.clone(), true),
            ("Running", "Never", "1.2.3.4", ip.clone(), true),
            ("Running", "Never", "", both, true),
            ("Running", "Never", "1.2.3.4", Value::Null, true),
        ] {
            for deleted in [Value::Null, json!("2024-01-02T03:04:05Z")] {
                let pod = pod(json!({
                    "metadata": {"deletionTimestamp": deleted},
                    "spec": {"containers": [], "restartPolicy": restart},
                    "status": {"phase": phase, "podIP": pod_ip, "podIPs": pod_ips},
                }));
                assert_eq!(pod.eligible, expected, "{phase} {restart} {pod_ip} {pod_ips} {deleted}");
                assert_eq!(pod.terminating, deleted != Value::Null);
            }
        }
        assert!(!pod(json!({})).eligible);
    }

    #[test]
    fn r58_the_first_ready_condition_decides() {
        let condition = |kind, status| json!({"type": kind, "status": status});
        for (conditions, expected) in [
            (Value::Null, false),
            (json!([condition("Ready", "True")]), true),
            (json!([condition("Ready", "False")]), false),
            (json!([condition("Ready", "Unknown")]), false),
            (json!([condition("Initialized", "True")]), false),
            (
                json!([condition("Initialized", "False"), condition("Ready", "True")]),
                true,
            ),
            (json!([condition("Ready", "False"), condition("Ready", "True")]), false),
        ] {
            let status = json!({"conditions": conditions});
            assert_eq!(pod(json!({"status": status})).ready, expected, "{conditions}");
        }
    }

    /// T-CUT-18…21, T-HST-01…04, T-UTL-13, T-P2E-07.
    #[test]
    fn r64_when_a_hostname_is_published() {
        for (namespace, hostname, subdomain, expected) in [
            ("ns", "foo", "svc", Some("foo")),
            ("ns", "", "svc", None),
            ("ns", "foo", "other", None),
            ("ns", "foo", "", None),
            ("elsewhere", "foo", "svc", None),
        ] {
            let pod = pod(json!({
                "metadata": {"namespace": namespace},
                "spec": {"containers": [], "hostname": hostname, "subdomain": subdomain},
            }));
            let found = pod.hostname_for("ns", "svc");
            assert_eq!(found, expected, "{namespace} {hostname:?} {subdomain:?}");
        }
    }

    #[test]
    fn a_pod_for_a_service_lacks_what_the_service_does_not_use() {
        let service = |families: Value, target: Value| {
            let spec = json!({"ipFamilies": families, "ports": [{"port": 80, "targetPort": target}]});
            Service::from(&serde_json::from_value::<api::Service>(json!({"spec": spec})).unwrap())
        };
        let pod: api::Pod = serde_json::from_value(json!({
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}]},
            "status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "::ffff:10.0.0.2"}]},
        }))
        .unwrap();
        let both = json!(["IPv4", "IPv6"]);
        for (service, v4, v6, named_ports) in [
            (service(json!(["IPv4"]), json!(80)), 2, 0, 0),
            (service(both, json!("http")), 2, 1, 1),
        ] {
            let pod = Pod::for_service(&pod, &service, &mut Interner::default());
            let count = |address_type| pod.addresses.of(address_type).len();
            assert_eq!((count(AddressType::IPv4), count(AddressType::IPv6)), (v4, v6));
            assert_eq!(pod.named_ports().len(), named_ports);
        }
    }

    #[test]
    fn pods_read_with_one_interner_share_strings() {
        let pod: api::Pod = serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": "pod0", "uid": "u"},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}], "nodeName": "n"},
            "status": {"podIPs": [{"ip": "10.0.0.1"}]},
        }))
        .unwrap();
        let mut interner = Interner::default();
        let [first, second] = [(); 2].map(|()| Pod::from_k8s(&pod, &mut interner));
        assert_eq!(first, Pod::from(&pod));
        assert!(Arc::ptr_eq(&first.identity, &second.identity));
        assert!(Arc::ptr_eq(first.node.as_ref().unwrap(), second.node.as_ref().unwrap()));
        let [port] = first.named_ports() else {
            panic!("one named port")
        };
        assert_eq!((&*port.name, &*port.protocol, port.port), ("http", "TCP", 80));
    }
}
