//! The cells of a table row.

use serde_json::Value;

use super::age;
use crate::resources::Table;

const NONE: &str = "<none>";
/// Maximum number of values in a cell.
const VALUES_MAX: usize = 3;

/// The cells of an object, in the order of the columns.
pub(super) fn of(table: Table, object: &Value) -> Vec<Value> {
    let name = text(object, "/metadata/name").unwrap_or_default();
    let age = age::since(text(object, "/metadata/creationTimestamp"));
    let or_none = |pointer: &str| {
        text(object, pointer)
            .filter(|text| !text.is_empty())
            .unwrap_or(NONE)
            .to_owned()
    };
    let plain = |pointer: &str| text(object, pointer).unwrap_or_default().to_owned();
    let cells = match table {
        Table::Namespaces => vec![name.to_owned(), plain("/status/phase"), age],
        Table::Leases => vec![name.to_owned(), plain("/spec/holderIdentity"), age],
        Table::EndpointSlices => vec![
            name.to_owned(),
            plain("/addressType"),
            some_of(&list(object, "/ports").map(port).collect::<Vec<_>>(), "<unset>"),
            some_of(
                &list(object, "/endpoints").flat_map(addresses).collect::<Vec<_>>(),
                "<unset>",
            ),
            age,
        ],
        Table::Endpoints => vec![name.to_owned(), some_of(&subset_addresses(object), NONE), age],
        Table::Services => vec![
            name.to_owned(),
            plain("/spec/type"),
            or_none("/spec/clusterIPs/0"),
            external_ip(object),
            service_ports(object),
            age,
            selector(object),
        ],
        Table::Nodes => vec![
            name.to_owned(),
            node_status(object),
            node_roles(object),
            age,
            plain("/status/nodeInfo/kubeletVersion"),
            node_address(object, "InternalIP"),
            node_address(object, "ExternalIP"),
            or_unknown(object, "/status/nodeInfo/osImage"),
            or_unknown(object, "/status/nodeInfo/kernelVersion"),
            or_unknown(object, "/status/nodeInfo/containerRuntimeVersion"),
        ],
        Table::Pods => vec![
            name.to_owned(),
            ready_containers(object),
            pod_status(object),
            restarts(object),
            age,
            or_none("/status/podIP"),
            or_none("/spec/nodeName"),
            or_none("/status/nominatedNodeName"),
            NONE.to_owned(),
        ],
        Table::Events => vec![
            age::since(text(object, "/lastTimestamp").or(text(object, "/eventTime"))),
            plain("/type"),
            plain("/reason"),
            involved(object),
            plain("/involvedObject/fieldPath"),
            plain("/source/component"),
            plain("/message").trim().to_owned(),
            age::since(text(object, "/firstTimestamp").or(text(object, "/eventTime"))),
            object.pointer("/count").map_or_else(|| "1".into(), Value::to_string),
            name.to_owned(),
        ],
    };
    cells.into_iter().map(Value::from).collect()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer)?.as_str()
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Joins the first values and appends the number of further ones.
fn some_of(values: &[String], none: &str) -> String {
    let more = values.len().saturating_sub(VALUES_MAX);
    let joined = values[..values.len() - more].join(",");
    match (joined.is_empty(), more) {
        (true, _) => none.to_owned(),
        (false, 0) => joined,
        (false, more) => format!("{joined} + {more} more..."),
    }
}

fn port(port: &Value) -> String {
    let name = || {
        port["name"]
            .as_str()
            .filter(|name| !name.is_empty())
            .unwrap_or("*")
            .to_owned()
    };
    port["port"].as_i64().map_or_else(name, |number| number.to_string())
}

fn addresses(endpoint: &Value) -> Vec<String> {
    list(endpoint, "/addresses")
        .filter_map(Value::as_str)
        .map(Into::into)
        .collect()
}

fn subset_addresses(object: &Value) -> Vec<String> {
    let mut addresses = Vec::new();
    for subset in list(object, "/subsets") {
        let ips: Vec<&str> = list(subset, "/addresses")
            .filter_map(|address| address["ip"].as_str())
            .collect();
        let ports: Vec<String> = list(subset, "/ports").map(port).collect();
        if ports.is_empty() {
            addresses.extend(ips.iter().map(ToString::to_string));
        }
        for port in &ports {
            addresses.extend(ips.iter().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                }
            }));
        }
    }
    addresses
}

fn external_ip(object: &Value) -> String {
    let mut ips: Vec<&str> = Vec::new();
    match text(object, "/spec/type") {
        Some("ExternalName") => return text(object, "/spec/externalName").unwrap_or_default().to_owned(),
        Some("LoadBalancer") => ips.extend(
            list(object, "/status/loadBalancer/ingress")
                .filter_map(|ingress| ingress["ip"].as_str().or(ingress["hostname"].as_str())),
        ),
        _ => {}
    }
    ips.extend(list(object, "/spec/externalIPs").filter_map(Value::as_str));
    match text(object, "/spec/type") {
        _ if !ips.is_empty() => ips.join(","),
        Some("LoadBalancer") => "<pending>".into(),
        _ => NONE.into(),
    }
}

fn service_ports(object: &Value) -> String {
    let ports = list(object, "/spec/ports").map(|port| {
        let (number, protocol) = (&port["port"], port["protocol"].as_str().unwrap_or_default());
        match port["nodePort"].as_i64() {
            Some(node_port) => format!("{number}:{node_port}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    });
    let ports: Vec<String> = ports.collect();
    if ports.is_empty() { NONE.into() } else { ports.join(",") }
}

fn selector(object: &Value) -> String {
    let labels = object
        .pointer("/spec/selector")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if labels.is_empty() {
        NONE.into()
    } else {
        labels.join(",")
    }
}

fn node_status(object: &Value) -> String {
    let ready = list(object, "/status/conditions").find(|condition| condition["type"] == "Ready");
    let status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let cordoned = object.pointer("/spec/unschedulable").is_some_and(|value| value == true);
    if cordoned {
        format!("{status},SchedulingDisabled")
    } else {
        status.into()
    }
}

fn node_roles(object: &Value) -> String {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let keys = labels.into_iter().flatten().map(|(key, _)| key);
    let roles: Vec<&str> = keys
        .filter_map(|key| key.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    if roles.is_empty() { NONE.into() } else { roles.join(",") }
}

fn node_address(object: &Value, kind: &str) -> String {
    let found = list(object, "/status/addresses").find(|address| address["type"] == kind);
    found
        .and_then(|address| address["address"].as_str())
        .unwrap_or(NONE)
        .to_owned()
}

fn or_unknown(object: &Value, pointer: &str) -> String {
    text(object, pointer)
        .filter(|text| !text.is_empty())
        .unwrap_or("<unknown>")
        .to_owned()
}

fn ready_containers(object: &Value) -> String {
    let ready = list(object, "/status/containerStatuses")
        .filter(|status| status["ready"] == true)
        .count();
    format!("{ready}/{}", list(object, "/spec/containers").count())
}

fn pod_status(object: &Value) -> String {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "Terminating".into();
    }
    let reason = text(object, "/status/reason").filter(|reason| !reason.is_empty());
    reason.or(text(object, "/status/phase")).unwrap_or_default().to_owned()
}

fn restarts(object: &Value) -> String {
    let counts = list(object, "/status/containerStatuses").filter_map(|status| status["restartCount"].as_i64());
    counts.sum::<i64>().to_string()
}

fn involved(object: &Value) -> String {
    let kind = text(object, "/involvedObject/kind").unwrap_or_default().to_lowercase();
    format!("{kind}/{}", text(object, "/involvedObject/name").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells(table: Table, object: &Value) -> Vec<String> {
        let cells = of(table, object);
        cells
            .iter()
            .map(|cell| cell.as_str().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn endpointslice_row_has_at_most_three_addresses() {
        let slice = json!({
            "metadata": {"name": "a"}, "addressType": "IPv4",
            "ports": [{"name": "http", "port": 80}, {"name": "any"}],
            "endpoints": [{"addresses": ["1", "2"]}, {"addresses": ["3"]}, {"addresses": ["4"]}],
        });
        assert_eq!(
            cells(Table::EndpointSlices, &slice),
            ["a", "IPv4", "80,any", "1,2,3 + 1 more...", "<unknown>"]
        );
    }

    #[test]
    fn service_row_has_addresses_and_ports() {
        let service = json!({"metadata": {"name": "a"}, "spec": {
            "type": "LoadBalancer", "clusterIPs": ["10.0.0.2"], "selector": {"app": "web"},
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
        }});
        assert_eq!(
            cells(Table::Services, &service),
            [
                "a",
                "LoadBalancer",
                "10.0.0.2",
                "<pending>",
                "80:30080/TCP,53/UDP",
                "<unknown>",
                "app=web"
            ]
        );
    }

    #[test]
    fn node_row_has_status_and_roles() {
        let node = json!({
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}],
                       "addresses": [{"type": "InternalIP", "address": "10.2.0.1"}]},
        });
        let row = cells(Table::Nodes, &node);
        assert_eq!(row[..3], ["n", "Ready,SchedulingDisabled", "worker"]);
        assert_eq!(row[5], "10.2.0.1");
    }
}
