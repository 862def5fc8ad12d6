//! Ports, and the key under which endpoints with the same ports share slices.

use std::sync::Arc;

use k8s_openapi::api::discovery::v1::EndpointPort;

const DEFAULT_PROTOCOL: &str = "TCP";

/// One port of a slice, with the API's defaults filled in: what is left out and what is spelled out are the same port (G7).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// Unique in its slice; empty is a name like any other.
    pub name: Arc<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Arc<str>,
    /// The number; `None` means all ports.
    pub port: Option<i32>,
    /// The protocol spoken, as a hint to readers. Absent and empty are different.
    pub app_protocol: Option<Arc<str>>,
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

impl From<&Port> for EndpointPort {
    fn from(port: &Port) -> Self {
        Self {
            name: Some(port.name.to_string()),
            protocol: Some(port.protocol.to_string()),
            port: port.port,
            app_protocol: port.app_protocol.as_deref().map(Into::into),
        }
    }
}

/// A set of ports, whatever their order (R72, M66). Endpoints of one key share slices; those of different keys never do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    pub fn of(ports: Option<&[EndpointPort]>) -> Self {
        Self::new(ports.unwrap_or_default().iter().map(Port::from))
    }

    /// The ports, in an order that only depends on what they are.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key(ports: Value) -> PortMapKey {
        let ports: Option<Vec<EndpointPort>> = serde_json::from_value(ports).unwrap();
        PortMapKey::of(ports.as_deref())
    }

    /// T-CUT-53, T-MIR-80, T-HASH-03, trap 23.
    #[test]
    fn no_ports_and_an_empty_list_are_the_same() {
        assert_eq!(key(Value::Null), key(json!([])));
    }

    /// R72, G-26.
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

    #[test]
    fn a_port_survives_the_way_there_and_back() {
        let port = json!({"name": "a", "protocol": "UDP", "port": 53, "appProtocol": "dns"});
        let stored: EndpointPort = serde_json::from_value(port).unwrap();
        assert_eq!(EndpointPort::from(&Port::from(&stored)), stored);
    }
}
