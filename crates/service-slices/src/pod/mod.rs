//! Compact form of a Pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use slice_core::{AddressType, Interner, TargetIdentity, container_ports};

use crate::{PodAddresses, Service, pod_addresses::looks_like_ipv6};

/// Protocol of a port without one.
pub(crate) const DEFAULT_PROTOCOL: &str = "TCP";

/// Compact form of a Pod: the fields that its endpoints are derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace, name and uid, shared with its endpoints. Here and below, an empty string of the API is `None`.
    pub identity: Arc<TargetIdentity>,
    /// Whether it can be an endpoint: it has not finished, and it has an address (R57).
    pub eligible: bool,
    /// Whether its `Ready` condition is true (R58).
    pub ready: bool,
    /// Whether it has a deletionTimestamp.
    pub terminating: bool,
    /// Name of the node it runs on.
    pub node: Option<Arc<str>>,
    /// Its addresses.
    pub addresses: PodAddresses,
    /// Its hostname, published if `subdomain` is the name of the Service.
    pub hostname: Option<Arc<str>>,
    /// Its subdomain; `None` without a hostname.
    pub subdomain: Option<Arc<str>>,
    /// Named container ports, for named target ports; the first match wins. Pods with equal ports should share one
    /// allocation, which makes grouping faster.
    pub named_ports: Option<Arc<Vec<NamedPort>>>,
}

// Memory per pod is limited: there is one for each pod of the cluster.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Pod>() <= 128);

/// A container port with a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPort {
    /// Its name.
    pub name: Arc<str>,
    /// Its protocol.
    pub protocol: Arc<str>,
    /// The container port; host ports are not used.
    pub port: i32,
}

impl Pod {
    /// Converts an API object, with interned strings.
    pub fn from_k8s(pod: &api::Pod, interner: &mut Interner) -> Self {
        let addresses = PodAddresses::parse(ips(pod));
        let named_ports = pod.spec.as_ref().and_then(|spec| named_ports(spec, interner));
        Self::convert(pod, addresses, named_ports, interner)
    }

    /// Converts an API object for one Service only, for a caller that does not cache pods: named ports only if the Service has
    /// a named target port, addresses only of its families.
    pub fn for_service(pod: &api::Pod, service: &Service, interner: &mut Interner) -> Self {
        let has_ipv6 = service.families.address_types().contains(&AddressType::IPv6);
        let addresses = PodAddresses::parse(ips(pod).filter(|text| has_ipv6 || !looks_like_ipv6(text)));
        let spec = pod.spec.as_ref().filter(|_| service.has_named_targets());
        let named_ports = spec.and_then(|spec| named_ports(spec, interner));
        Self::convert(pod, addresses, named_ports, interner)
    }

    fn convert(
        pod: &api::Pod,
        addresses: PodAddresses,
        named_ports: Option<Arc<Vec<NamedPort>>>,
        interner: &mut Interner,
    ) -> Self {
        let metadata = &pod.metadata;
        let [namespace, name, uid] = [&metadata.namespace, &metadata.name, &metadata.uid].map(non_empty);
        let spec = pod.spec.as_ref();
        let spec_field = |field: fn(&api::PodSpec) -> &Option<String>| spec.and_then(|spec| non_empty(field(spec)));
        let hostname = spec_field(|spec| &spec.hostname);
        let subdomain = hostname.and_then(|_| spec_field(|spec| &spec.subdomain));
        let mut intern = |text: Option<&str>| text.map(|text| interner.intern(text));
        Self {
            node: intern(spec_field(|spec| &spec.node_name)),
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

    /// Its namespace; empty if it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.identity.namespace.as_deref().unwrap_or_default()
    }

    /// Its name; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.identity.name.as_deref().unwrap_or_default()
    }

    /// Its named ports, in lookup order.
    pub(crate) fn named_ports(&self) -> &[NamedPort] {
        self.named_ports.as_ref().map_or(&[], |ports| ports)
    }

    /// The hostname that a Service publishes for the pod (R64). It does not depend on whether the Service is headless.
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

/// The string, if it is present and not empty: the API treats both alike.
#[expect(clippy::ref_option, reason = "fields of k8s_openapi types have this type")]
pub(crate) fn non_empty(text: &Option<String>) -> Option<&str> {
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

/// Whether the pod has not finished and has an address (R57). A pod with only `podIP` is eligible, although that address is
/// never published.
fn is_eligible(pod: &api::Pod) -> bool {
    let Some(status) = &pod.status else { return false };
    let finished = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    !finished && (!pod_ips(pod).is_empty() || non_empty(&status.pod_ip).is_some())
}

/// Whether the first `Ready` condition is true (R58).
fn is_ready(pod: &api::Pod) -> bool {
    conditions(pod)
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .is_some_and(|condition| condition.status == "True")
}

/// Named ports in lookup order: regular containers, then sidecars (R69).
fn named_ports(spec: &api::PodSpec, interner: &mut Interner) -> Option<Arc<Vec<NamedPort>>> {
    let named = container_ports(spec).filter_map(|port| {
        Some(NamedPort {
            name: interner.intern(non_empty(&port.name)?),
            protocol: interner.intern(non_empty(&port.protocol).unwrap_or(DEFAULT_PROTOCOL)),
            port: port.container_port,
        })
    });
    let named: Vec<NamedPort> = named.collect();
    (!named.is_empty()).then(|| Arc::new(named))
}

#[cfg(test)]
mod tests;
