//! Ports of a slice, and ports of a Service resolved for a pod (R68–R74).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A port. A missing name is the empty name and a missing protocol is TCP, as the API server defaults them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) number: Option<i32>,
    pub(crate) app_protocol: Option<String>,
}

impl Port {
    pub(crate) fn new(
        name: Option<&String>,
        protocol: Option<&String>,
        number: Option<i32>,
        app_protocol: Option<&String>,
    ) -> Self {
        Self {
            name: name.cloned().unwrap_or_default(),
            protocol: protocol.cloned().unwrap_or_else(|| "TCP".to_owned()),
            number,
            app_protocol: app_protocol.cloned(),
        }
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.number.map_or("any".to_owned(), |number| number.to_string());
        write!(out, "{:?} {number}/{}", self.name, self.protocol)?;
        self.app_protocol.as_ref().map_or(Ok(()), |app| write!(out, " ({app})"))
    }
}

/// The ports of a slice.
pub(crate) fn ports_of(slice: &EndpointSlice) -> BTreeSet<Port> {
    let ports = slice.ports.as_deref().unwrap_or_default();
    ports
        .iter()
        .map(|port| {
            Port::new(
                port.name.as_ref(),
                port.protocol.as_ref(),
                port.port,
                port.app_protocol.as_ref(),
            )
        })
        .collect()
}

/// The ports of a Service for a pod; a port whose name the pod lacks is skipped.
pub(crate) fn resolve_ports(service: &Service, pod: &Pod) -> BTreeSet<Port> {
    let spec = service.spec.as_ref();
    let ports = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    ports
        .iter()
        .filter_map(|port| {
            let number = target_port(port, pod)?;
            let (name, protocol) = (port.name.as_ref(), port.protocol.as_ref());
            Some(Port::new(name, protocol, Some(number), port.app_protocol.as_ref()))
        })
        .collect()
}

/// The target port number of a Service port for a pod (R69).
fn target_port(port: &ServicePort, pod: &Pod) -> Option<i32> {
    let name = match &port.target_port {
        None => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    let spec = pod.spec.as_ref()?;
    let init_containers = spec.init_containers.as_deref().unwrap_or_default();
    let sidecars = init_containers
        .iter()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let matches = |found: &&ContainerPort| {
        found.name.as_ref() == Some(name) && protocol(found.protocol.as_ref()) == protocol(port.protocol.as_ref())
    };
    let containers = spec.containers.iter().chain(sidecars);
    containers
        .flat_map(container_ports)
        .find(matches)
        .map(|found| found.container_port)
}

fn container_ports(container: &Container) -> &[ContainerPort] {
    container.ports.as_deref().unwrap_or_default()
}

fn protocol(written: Option<&String>) -> &str {
    written.map_or("TCP", String::as_str)
}
