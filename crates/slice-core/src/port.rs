//! Ports, and the key under which endpoints with the same ports share slices.

use std::sync::Arc;

use k8s_openapi::{
    api::{core::v1::ServicePort, discovery::v1::EndpointPort},
    apimachinery::pkg::util::intstr::IntOrString,
};
use serde::Serialize;

use crate::{
    limits::PORTS_PER_SLICE_MAX,
    validation::{is_dns1123_label, is_qualified_name},
};

const DEFAULT_PROTOCOL: &str = "TCP";
const PROTOCOLS: [&str; 3] = [DEFAULT_PROTOCOL, "UDP", "SCTP"];

/// One port of a slice, with the API's defaults filled in: what is left out and what is spelled out are the same port (G7).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Unique in its slice; empty is a name like any other.
    pub name: Arc<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Arc<str>,
    /// The number; `None` means all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// The protocol spoken, as a hint to readers. Absent and empty are different.
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

    /// The port that endpoints of a Service have for one of its ports; none if the target is a name, which only a pod
    /// resolves.
    #[must_use]
    pub fn for_service_port(port: &ServicePort) -> Option<Self> {
        let number = match &port.target_port {
            Some(IntOrString::Int(number)) => *number,
            Some(IntOrString::String(_)) => return None,
            None => port.port,
        };
        Some(Self {
            name: port.name.as_deref().unwrap_or_default().into(),
            protocol: port.protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL).into(),
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

/// A set of ports, whatever their order (R72, M66). Endpoints of one key share slices; those of different keys never do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PortMapKey(Arc<[Port]>);

impl PortMapKey {
    /// The key of these ports.
    pub fn new(ports: impl IntoIterator<Item = Port>) -> Self {
        let mut ports: Vec<Port> = ports.into_iter().collect();
        ports.sort_unstable();
        Self(ports.into())
    }

    /// The key of the ports of a stored slice; none and an empty list are the same.
    #[must_use]
    pub fn from_k8s(ports: Option<&[EndpointPort]>) -> Self {
        Self::new(ports.unwrap_or_default().iter().map(Port::from))
    }

    /// The ports, in an order that only depends on what they are.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.0
    }

    /// Why the API server would refuse a slice with these ports, if it would (R143, R145). No endpoint can be published with
    /// them then.
    pub fn validate(&self) -> Result<(), InvalidPorts> {
        let ports = self.ports();
        if ports.len() > PORTS_PER_SLICE_MAX {
            return Err(InvalidPorts::TooMany(ports.len()));
        }
        // They are in the order of their names.
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

/// Why no slice may have a set of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPorts {
    /// There are too many.
    #[error("there are {0} ports, and {PORTS_PER_SLICE_MAX} is the most")]
    TooMany(usize),
    /// Two have the same name, which may be the empty one.
    #[error("two ports have the name {0:?}")]
    SameName(String),
    /// A name is neither empty nor a DNS label.
    #[error("the port name {0:?} is not a DNS label")]
    Name(String),
    /// A protocol is not known.
    #[error("the protocol {0:?} is none of TCP, UDP, SCTP")]
    Protocol(String),
    /// An application protocol is not a qualified name; empty is none either, while absent is fine.
    #[error("the application protocol {0:?} is not a qualified name")]
    AppProtocol(String),
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use serde_json::{Value, json};

    use super::*;

    fn key(ports: Value) -> PortMapKey {
        let ports: Option<Vec<EndpointPort>> = serde_json::from_value(ports).unwrap();
        PortMapKey::from_k8s(ports.as_deref())
    }

    /// T-CUT-53, T-MIR-80, T-HASH-03, trap 23.
    #[test]
    fn no_ports_and_an_empty_list_are_the_same() {
        assert_eq!(key(Value::Null), key(json!([])));
    }

    /// R73, R72, G-26.
    #[test]
    fn the_order_of_ports_does_not_matter() {
        let (http, https) = (
            json!({"name": "http", "port": 80}),
            json!({"name": "https", "port": 443}),
        );
        assert_eq!(key(json!([http, https])), key(json!([https, http])));
        assert_eq!(key(json!([https, http])).ports()[0].port, Some(80));
    }

    /// G7: unlike upstream, which would rewrite such a slice on every sync.
    #[test]
    fn defaults_left_out_and_spelled_out_are_the_same() {
        let spelled_out = json!([{"name": "", "protocol": "TCP", "port": 80}]);
        assert_eq!(key(json!([{"port": 80}])), key(spelled_out));
    }

    #[test]
    fn every_field_counts() {
        let base = key(json!([{"name": "a", "port": 80}]));
        for other in [
            json!([]),
            json!([{"name": "b", "port": 80}]),
            json!([{"name": "a", "port": 81}]),
            json!([{"name": "a"}]),
            json!([{"name": "a", "port": 80, "protocol": "UDP"}]),
            json!([{"name": "a", "port": 80, "appProtocol": ""}]),
            json!([{"name": "a", "port": 80}, {"name": "a", "port": 80}]),
        ] {
            assert_ne!(key(other.clone()), base, "{other}");
        }
    }

    /// F25, R143, R145.
    #[test]
    fn what_the_api_server_refuses_is_known_before() {
        let numbered = |count: i32| (0..count).map(|n| json!({"name": format!("p{n}"), "port": n}));
        for (ports, expected) in [
            (json!([]), ""),
            (
                json!([{"port": 0}, {"name": "a", "protocol": "SCTP", "appProtocol": "example.com/a"}]),
                "",
            ),
            (numbered(20_000).collect(), ""),
            (
                numbered(20_001).collect(),
                "there are 20001 ports, and 20000 is the most",
            ),
            (
                json!([{"name": "a", "port": 1}, {"name": "b"}, {"name": "a", "port": 2}]),
                "two ports have the name \"a\"",
            ),
            (
                json!([{"port": 1}, {"name": "", "port": 2}]),
                "two ports have the name \"\"",
            ),
            (json!([{"name": "A"}]), "the port name \"A\" is not a DNS label"),
            (
                json!([{"protocol": "tcp"}]),
                "the protocol \"tcp\" is none of TCP, UDP, SCTP",
            ),
            (
                json!([{"appProtocol": ""}]),
                "the application protocol \"\" is not a qualified name",
            ),
        ] {
            let refused = key(ports).validate().err();
            assert_eq!(refused.map(|reason| reason.to_string()).unwrap_or_default(), expected);
        }
    }

    /// M66, T-CUT-51…52, T-MIR-81…82, T-HASH-01…02: by value, wherever the values are; nothing is printed to be
    /// compared.
    #[test]
    fn a_key_equals_itself_made_anew_and_no_other() {
        let http = json!({"name": "http", "protocol": "TCP", "port": 17, "appProtocol": "http"});
        let samples = [
            json!([]),
            json!([{}]),
            json!([{"name": "http"}]),
            json!([{"port": 17}]),
            json!([{"port": 22}]),
            json!([{"port": -1}]),
            json!([{"protocol": "UDP"}]),
            json!([{"appProtocol": ""}]),
            json!([{"appProtocol": "http"}]),
            json!([http]),
            json!([http, http]),
            json!([http, {"port": 17}]),
            json!([http, {"port": 22}]),
        ];
        for _ in 0..100 {
            let hasher = RandomState::new();
            for (first, sample) in samples.iter().enumerate() {
                for (second, other) in samples.iter().enumerate() {
                    let (one, two) = (key(sample.clone()), key(other.clone()));
                    assert_eq!(one == two, first == second, "{sample} {other}");
                    assert!(one != two || hasher.hash_one(&one) == hasher.hash_one(&two), "{sample}");
                }
            }
        }
    }

    #[test]
    fn a_service_port_with_a_number_as_its_target_is_a_port() {
        let read = |port: Value| Port::for_service_port(&serde_json::from_value(port).unwrap());
        assert_eq!(
            read(json!({"name": "http", "port": 80, "targetPort": 8080})),
            Some(Port::tcp("http", 8080))
        );
        assert_eq!(read(json!({"port": 53, "protocol": "UDP"})), Some(Port::udp("", 53)));
        assert_eq!(read(json!({"port": 80, "targetPort": "http"})), None);
    }

    #[test]
    fn a_port_survives_the_way_there_and_back() {
        let port = json!({"name": "a", "protocol": "UDP", "port": 53, "appProtocol": "dns"});
        let stored: EndpointPort = serde_json::from_value(port).unwrap();
        let port = serde_json::to_value(Port::from(&stored)).unwrap();
        assert_eq!(port, serde_json::to_value(&stored).unwrap());
    }
}
