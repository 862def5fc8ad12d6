//! Fixtures: Endpoints objects and groups in a one-line notation, `addresses :ports; addresses :ports`.
//!
//! An address is `[!]ip[/uid][@pod]`, `!` for not ready; a port is `[name/]number[/protocol][~appProtocol]`.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference};
use slice_core::{EndpointSource as _, Port, TargetView};
use slice_reconciler::Group;

use crate::SubsetEndpoint;

/// Parses an Endpoints object, without metadata.
pub(crate) fn endpoints(subsets: &str) -> Endpoints {
    let subsets = subsets.split(';').filter(|line| !line.is_empty());
    Endpoints {
        subsets: Some(subsets.map(subset).collect()),
        ..Endpoints::default()
    }
}

fn subset(line: &str) -> EndpointSubset {
    // The last " :": an IPv6 address may begin with a colon.
    let (addresses, ports) = line.rsplit_once(" :").unwrap();
    let (not_ready, ready): (Vec<&str>, Vec<&str>) = addresses.split_whitespace().partition(|a| a.starts_with('!'));
    let list = |addresses: Vec<&str>| Some(addresses.into_iter().map(address).collect());
    EndpointSubset {
        addresses: list(ready),
        not_ready_addresses: list(not_ready),
        ports: Some(ports.split_whitespace().map(port).collect()),
    }
}

fn address(text: &str) -> EndpointAddress {
    let (text, name) = split(text.trim_start_matches('!'), '@');
    let (ip, uid) = split(text, '/');
    EndpointAddress {
        ip: ip.into(),
        target_ref: (uid.is_some() || name.is_some()).then(|| ObjectReference {
            uid,
            name,
            ..ObjectReference::default()
        }),
        ..EndpointAddress::default()
    }
}

fn port(text: &str) -> EndpointPort {
    let (text, app_protocol) = split(text, '~');
    let (name, number, protocol) = match text.split('/').collect::<Vec<_>>()[..] {
        [number] => (None, number, None),
        [name, number] => (Some(name.into()), number, None),
        [name, number, protocol] => (Some(name.into()), number, Some(protocol.into())),
        _ => panic!("not a port: {text}"),
    };
    EndpointPort {
        name,
        protocol,
        port: number.parse().unwrap(),
        app_protocol,
    }
}

/// `named` ports with unique names, and `unnamed` ports with the empty name.
pub(crate) fn many_ports(named: i32, unnamed: i32) -> Vec<EndpointPort> {
    let port = |name: Option<String>, number| EndpointPort {
        name,
        port: number,
        ..EndpointPort::default()
    };
    let named = (1..=named).map(|number| port(Some(format!("p{number}")), number));
    named.chain((1..=unnamed).map(|number| port(None, number))).collect()
}

fn split(text: &str, separator: char) -> (&str, Option<String>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after.to_owned())),
        None => (text, None),
    }
}

/// Formats ports in the notation of this module.
pub(crate) fn ports(ports: &[Port]) -> String {
    let format_port = |port: &Port| {
        let name = Some(&*port.name)
            .filter(|name| !name.is_empty())
            .map(|name| format!("{name}/"));
        let protocol = Some(&*port.protocol)
            .filter(|protocol| *protocol != "TCP")
            .map(|p| format!("/{p}"));
        let app = port.app_protocol.as_deref().map(|app| format!("~{app}"));
        let number = port.port.unwrap();
        format!(
            "{}{number}{}{}",
            name.unwrap_or_default(),
            protocol.unwrap_or_default(),
            app.unwrap_or_default()
        )
    };
    ports.iter().map(format_port).collect::<Vec<_>>().join(" ")
}

/// Formats groups in the notation of this module, each after its address type.
pub(crate) fn groups(groups: Vec<Group<SubsetEndpoint<'_>>>) -> String {
    let format_endpoint = |endpoint: &SubsetEndpoint<'_>| {
        let [address] = endpoint.addresses() else {
            panic!("an endpoint has one address")
        };
        let mark = if endpoint.conditions().ready == Some(false) {
            "!"
        } else {
            ""
        };
        let name = endpoint.target().and_then(TargetView::name);
        format!(
            "{mark}{address}{}",
            name.map(|name| format!("@{name}")).unwrap_or_default()
        )
    };
    let format_group = |group: Group<SubsetEndpoint<'_>>| {
        let endpoints: Vec<String> = group.endpoints.into_sorted().iter().map(format_endpoint).collect();
        let (address_type, ports) = (group.address_type, ports(group.ports.ports()));
        format!("{address_type} {} :{ports}", endpoints.join(" "))
    };
    groups.into_iter().map(format_group).collect::<Vec<_>>().join("; ")
}
