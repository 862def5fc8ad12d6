//! Ports of slices, and the key by which endpoints are grouped into slices.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        core::v1::{ContainerPort, PodSpec, ServicePort},
        discovery::v1::EndpointPort,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use serde::Serialize;

use crate::{
    limits::PORTS_PER_SLICE_MAX,
    validation::{is_dns1123_label, is_qualified_name},
};

const DEFAULT_PROTOCOL: &str = "TCP";
const PROTOCOLS: [&str; 3] = [DEFAULT_PROTOCOL, "UDP", "SCTP"];

/// A port of a slice, with the API's defaults filled in: absent fields equal explicit defaults (G7).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The name, unique in its slice; it may be empty.
    pub name: Arc<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Arc<str>,
    /// The port number; `None` means all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// The application protocol. An absent value differs from an empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Arc<str>>,
}

impl Port {
    /// A TCP port.
    pub fn tcp(name: impl Into<Arc<str>>, port: u16) -> Self {
        Self::with_protocol("TCP", name.into(), port)
    }

    /// A UDP port.
    pub fn udp(name: impl Into<Arc<str>>, port: u16) -> Self {
        Self::with_protocol("UDP", name.into(), port)
    }

    /// The port of a pod's endpoints for a Service port. A target port that is a name is looked up by name and protocol in the
    /// [`container_ports`] of the pod; `None` if the pod has no such port.
    #[must_use]
    pub fn for_service_port(port: &ServicePort, pod_ports: &[ContainerPort]) -> Option<Self> {
        let protocol = port.protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL);
        let number = match &port.target_port {
            Some(IntOrString::Int(number)) => *number,
            Some(IntOrString::String(name)) => {
                let has_name = |pod_port: &&ContainerPort| {
                    let pod_protocol = pod_port.protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL);
                    pod_port.name.as_ref() == Some(name) && pod_protocol == protocol
                };
                pod_ports.iter().find(has_name)?.container_port
            }
            None => port.port,
        };
        Some(Self {
            name: port.name.as_deref().unwrap_or_default().into(),
            protocol: protocol.into(),
            port: Some(number),
            app_protocol: port.app_protocol.as_deref().map(Into::into),
        })
    }

    fn with_protocol(protocol: &str, name: Arc<str>, port: u16) -> Self {
        Self {
            name,
            protocol: protocol.into(),
            port: Some(port.into()),
            app_protocol: None,
        }
    }
}

impl From<&EndpointPort> for Port {
    fn from(port: &EndpointPort) -> Self {
        Self {
            name: port.name.as_deref().unwrap_or_default().into(),
            protocol: port.protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL).into(),
            port: port.port,
            app_protocol: port.app_protocol.as_deref().map(Into::into),
        }
    }
}

/// The ports of a pod in the order in which a name is looked up: regular containers, then sidecars (R69).
pub fn container_ports(pod: &PodSpec) -> impl Iterator<Item = &ContainerPort> {
    let sidecars = pod.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let containers = pod.containers.iter().chain(sidecars);
    containers.flat_map(|container| container.ports.iter().flatten())
}

/// A set of ports in canonical order (R72, M66). Endpoints with equal keys share slices; others never do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PortMapKey(Arc<[Port]>);

impl PortMapKey {
    /// The key of these ports.
    pub fn new(ports: impl IntoIterator<Item = Port>) -> Self {
        let mut ports: Vec<Port> = ports.into_iter().collect();
        ports.sort_unstable();
        Self(ports.into())
    }

    /// The key of the ports of an API object. No list and an empty one are equal.
    #[must_use]
    pub fn from_k8s(ports: Option<&[EndpointPort]>) -> Self {
        Self::new(ports.unwrap_or_default().iter().map(Port::from))
    }

    /// The ports in canonical order.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.0
    }

    /// Validates the ports as the API server does (R143, R145). It rejects every slice with invalid ports.
    pub fn validate(&self) -> Result<(), InvalidPorts> {
        let ports = self.ports();
        if ports.len() > PORTS_PER_SLICE_MAX {
            return Err(InvalidPorts::TooMany(ports.len()));
        }
        // Ports are sorted by name first.
        if let Some(same) = ports.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(InvalidPorts::SameName(same[0].name.to_string()));
        }
        ports.iter().try_for_each(Port::validate)
    }
}

impl Port {
    fn validate(&self) -> Result<(), InvalidPorts> {
        let app_protocol = self.app_protocol.as_deref();
        if !self.name.is_empty() && !is_dns1123_label(&self.name) {
            Err(InvalidPorts::Name(self.name.to_string()))
        } else if !PROTOCOLS.contains(&&*self.protocol) {
            Err(InvalidPorts::Protocol(self.protocol.to_string()))
        } else if let Some(protocol) = app_protocol.filter(|protocol| !is_qualified_name(protocol)) {
            Err(InvalidPorts::AppProtocol(protocol.to_owned()))
        } else {
            Ok(())
        }
    }
}

/// Why the API server rejects a set of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPorts {
    /// Too many ports.
    #[error("{0} ports exceed the limit of {PORTS_PER_SLICE_MAX}")]
    TooMany(usize),
    /// Two ports have the same name, possibly the empty one.
    #[error("two ports have the name {0:?}")]
    SameName(String),
    /// A port name is neither empty nor a DNS-1123 label.
    #[error("the port name {0:?} is not a DNS label")]
    Name(String),
    /// A protocol is unknown.
    #[error("the protocol {0:?} is none of TCP, UDP, SCTP")]
    Protocol(String),
    /// An application protocol is not a qualified name. It may be absent, but not empty.
    #[error("the application protocol {0:?} is not a qualified name")]
    AppProtocol(String),
}

#[cfg(test)]
mod tests;
