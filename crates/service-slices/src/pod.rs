//! What matters of a Pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use slice_core::{InPlace, ObjectName, Share, Text};

use crate::{PodAddresses, Service};

/// Protocol of a port that does not say.
pub(crate) const DEFAULT_PROTOCOL: &str = "TCP";

/// What matters of a Pod, in strings of the caller's choice: `Pod` is compact and kept, and can [share](Self::share) its strings
/// with others; `Pod<&str>` is borrowed from the API's object and costs next to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod<T: Text = Arc<str>> {
    /// Its names, which its endpoints share. Like the rest, never empty: `None` says that.
    pub object: T::Held<ObjectName<T>>,
    /// Whether it can be an endpoint at all: it has not come to its end, and it has an address (R57).
    pub eligible: bool,
    /// Whether it is ready (R58).
    pub ready: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// The node it runs on.
    pub node: Option<T>,
    /// Where it is.
    pub addresses: PodAddresses,
    /// Its hostname, published when `subdomain` names the Service.
    pub hostname: Option<T>,
    /// The Service under whose name its hostname can be found; `None` without one.
    pub subdomain: Option<T>,
    /// Where named target ports are looked up: first match wins. Pods with equal ports best share one allocation; those
    /// without any need none.
    pub named_ports: Option<Arc<Vec<NamedPort<T>>>>,
}

/// A container port that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPort<T = Arc<str>> {
    /// Its name.
    pub name: T,
    /// Its protocol.
    pub protocol: T,
    /// The container's port; what the host or a host address does with it is of no interest.
    pub port: i32,
}

impl<T: Text> Pod<T> {
    /// The same pod in other strings.
    pub fn map<'a, U: Text>(&'a self, mut to: impl FnMut(&'a T) -> U) -> Pod<U> {
        self.share(&mut to)
    }

    /// The same pod in strings, and with names, that others may share.
    pub fn share<'a, U: Text>(&'a self, share: &mut impl Share<&'a T, U>) -> Pod<U> {
        let object = share.object(self.object.map(|text| text));
        let named_ports = self.named_ports.as_ref().map(|ports| {
            let ports = ports.iter().map(|port| NamedPort {
                name: share.text(&port.name),
                protocol: share.text(&port.protocol),
                port: port.port,
            });
            Arc::new(ports.collect())
        });
        let mut text = |text: &'a Option<T>| text.as_ref().map(|text| share.text(text));
        Pod {
            object,
            eligible: self.eligible,
            ready: self.ready,
            terminating: self.terminating,
            node: text(&self.node),
            addresses: self.addresses.clone(),
            hostname: text(&self.hostname),
            subdomain: text(&self.subdomain),
            named_ports,
        }
    }

    /// Its namespace; empty without one.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or_default()
    }

    /// Its name; empty without one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object.name.as_deref().unwrap_or_default()
    }

    /// Its named ports, in the order in which they are looked up.
    pub(crate) fn named_ports(&self) -> &[NamedPort<T>] {
        self.named_ports.as_ref().map_or(&[], |ports| ports)
    }

    /// The hostname under which a Service publishes the pod (R64). Whether the Service is headless does not matter.
    #[must_use]
    pub fn hostname_for(&self, namespace: &str, service: &str) -> Option<&str> {
        let hostname = self.hostname.as_deref()?;
        (self.subdomain.as_deref() == Some(service) && self.namespace() == namespace).then_some(hostname)
    }
}

impl<'a> Pod<&'a str> {
    /// Reads what matters of a pod to one Service: its ports only if the Service asks for them by name, its addresses only as
    /// far as they may be of a family that the Service has.
    #[must_use]
    pub fn for_service(pod: &'a api::Pod, service: &Service) -> Self {
        let spec = pod.spec.as_ref().filter(|_| service.has_named_targets());
        let addresses = PodAddresses::read_of(ips(pod), service.families.address_types());
        Self::read(pod, addresses, spec.and_then(named_ports))
    }

    fn read(pod: &'a api::Pod, addresses: PodAddresses, named_ports: Option<Arc<Vec<NamedPort<&'a str>>>>) -> Self {
        let metadata = &pod.metadata;
        let spec = pod.spec.as_ref();
        let spec_text = |field: fn(&api::PodSpec) -> &Option<String>| spec.and_then(|spec| given(field(spec)));
        let hostname = spec_text(|spec| &spec.hostname);
        Self {
            object: InPlace(ObjectName {
                namespace: given(&metadata.namespace),
                name: given(&metadata.name),
                uid: given(&metadata.uid),
            }),
            node: spec_text(|spec| &spec.node_name),
            hostname,
            subdomain: hostname.and_then(|_| spec_text(|spec| &spec.subdomain)),
            addresses,
            named_ports,
            eligible: is_eligible(pod),
            ready: is_ready(pod),
            terminating: metadata.deletion_timestamp.is_some(),
        }
    }
}

impl<'a> From<&'a api::Pod> for Pod<&'a str> {
    fn from(pod: &'a api::Pod) -> Self {
        let named_ports = pod.spec.as_ref().and_then(named_ports);
        Self::read(pod, PodAddresses::read(ips(pod)), named_ports)
    }
}

impl From<&api::Pod> for Pod {
    fn from(pod: &api::Pod) -> Self {
        Pod::<&str>::from(pod).map(|text| Arc::from(*text))
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

pub(crate) fn pod_ips(pod: &api::Pod) -> &[api::PodIP] {
    let status = pod.status.as_ref();
    status.and_then(|status| status.pod_ips.as_deref()).unwrap_or_default()
}

pub(crate) fn conditions(pod: &api::Pod) -> &[api::PodCondition] {
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
fn named_ports(spec: &api::PodSpec) -> Option<Arc<Vec<NamedPort<&str>>>> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| container.ports.iter().flatten());
    let named = ports.filter_map(|port| {
        Some(NamedPort {
            name: given(&port.name)?,
            protocol: given(&port.protocol).unwrap_or(DEFAULT_PROTOCOL),
            port: port.container_port,
        })
    });
    let mut named = named.peekable();
    named.peek().is_some().then(|| Arc::new(named.collect()))
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
    fn a_compact_pod_holds_what_a_borrowed_one_does() {
        let pod: api::Pod = serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": "pod0", "uid": "u"},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}], "nodeName": "n"},
            "status": {"podIPs": [{"ip": "10.0.0.1"}]},
        }))
        .unwrap();
        let borrowed = Pod::<&str>::from(&pod);
        let compact: Pod = Pod::from(&pod);
        assert_eq!(compact.map(|text| &**text), borrowed);
        assert_eq!(
            borrowed.named_ports(),
            [NamedPort {
                name: "http",
                protocol: "TCP",
                port: 80
            }]
        );
    }
}
