//! Target ports of endpoints, and grouping by ports.

use std::sync::Arc;

use serde_json::{Value, json};
use slice_core::{AddressType, PortMapKey, TargetIdentity};

use super::fixtures::{desired_summary, group, nodes, pod, service};
use crate::{NamedPort, Pod, desired};

/// A container with ports `[name, number, protocol]`.
fn container(ports: &[(&str, i32, &str)]) -> Value {
    let port =
        |(name, port, protocol): &(&str, i32, &str)| json!({"name": name, "containerPort": port, "protocol": protocol});
    json!({"name": "c", "ports": ports.iter().map(port).collect::<Vec<_>>()})
}

fn sidecar(ports: &[(&str, i32, &str)]) -> Value {
    let mut container = container(ports);
    container["restartPolicy"] = json!("Always");
    container
}

fn containers(regular: &[Value], init: &[Value]) -> Value {
    json!({"spec": {"containers": regular, "initContainers": init}})
}

/// The ports that a pod has for a Service with these ports.
fn ports_of(service_ports: &Value, pod_change: Value) -> Vec<(String, String, Option<i32>, Option<String>)> {
    let service = service(json!({"spec": {"ports": service_ports}}));
    let pod = pod(0, pod_change);
    let (pods, nodes) = ([Pod::from(&pod)], nodes(&[("node-1", "")]));
    let group = desired(&service, &pods, &nodes).groups.pop().unwrap();
    let ports = group.ports.ports().iter();
    ports
        .map(|port| {
            let app_protocol = port.app_protocol.as_deref().map(ToOwned::to_owned);
            (
                port.name.to_string(),
                port.protocol.to_string(),
                port.port,
                app_protocol,
            )
        })
        .collect()
}

fn port(name: &str, number: i32, app_protocol: Option<&str>) -> (String, String, Option<i32>, Option<String>) {
    let app_protocol = app_protocol.map(ToOwned::to_owned);
    (name.to_owned(), "TCP".to_owned(), Some(number), app_protocol)
}

/// Upstream's cases (T-UTL-20…23, T-PORT-01…04, R68).
#[test]
fn t_utl_20_to_23_ports_of_a_pod() {
    let http_80 = json!({"name": "http", "port": 80, "targetPort": 80, "protocol": "TCP",
                         "appProtocol": "example.com/custom-protocol"});
    let plain_80 = json!({"name": "http", "port": 80, "targetPort": 80, "protocol": "TCP"});
    let https = json!({"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP", "appProtocol": "https"});
    let sidecar_8080 = json!({"name": "sidecar", "port": 8080, "targetPort": 8080, "protocol": "TCP"});
    let http = json!({"name": "http", "port": 8090, "targetPort": "http", "protocol": "TCP"});
    let tcp = "TCP";
    assert_eq!(
        ports_of(&json!([http_80]), json!({})),
        [port("http", 80, Some("example.com/custom-protocol"))]
    );
    assert_eq!(
        ports_of(
            &json!([plain_80, https]),
            containers(&[container(&[("https", 443, tcp)])], &[])
        ),
        [port("http", 80, None), port("https", 443, Some("https"))]
    );
    assert_eq!(
        ports_of(
            &json!([sidecar_8080, http]),
            containers(
                &[container(&[("http", 8090, tcp)])],
                &[sidecar(&[("sidecar", 8080, tcp)])]
            )
        ),
        [port("http", 8090, None), port("sidecar", 8080, None)]
    );
    assert_eq!(
        ports_of(
            &json!([http]),
            containers(&[container(&[("http", 8090, tcp)])], &[sidecar(&[("http", 8080, tcp)])])
        ),
        [port("http", 8090, None)]
    );
}

/// Upstream's cases (T-UTL-61…74, T-FP-01…14, R69).
#[test]
fn t_utl_61_to_74_target_port_lookup() {
    let (tcp, udp) = ("TCP", "UDP");
    let q = [("", 11, udp), ("p", 22, tcp), ("q", 33, tcp)];
    let extra = |field: Value| {
        let mut port = json!({"name": "a", "containerPort": 11, "protocol": tcp});
        port.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        json!({"name": "c", "ports": [port]})
    };
    for (id, target, regular, init, expected) in [
        (61, json!(93), vec![], vec![], Some(93)),
        (62, json!(93), vec![container(&q)], vec![], Some(93)),
        (63, json!("p"), vec![], vec![], None),
        (64, json!("q"), vec![container(&q)], vec![], Some(33)),
        (
            65,
            json!("q"),
            vec![container(&q[..1]), container(&q[1..])],
            vec![],
            Some(33),
        ),
        (
            66,
            json!("q"),
            vec![container(&[("p", 22, tcp), ("q", 22, tcp), ("q", 23, tcp)])],
            vec![],
            Some(22),
        ),
        (67, json!("a"), vec![container(&[("a", 11, "snmp")])], vec![], None),
        (68, json!("a"), vec![extra(json!({"hostPort": 81}))], vec![], Some(11)),
        (69, json!("a"), vec![extra(json!({"hostPort": -1}))], vec![], Some(11)),
        (70, json!("a"), vec![container(&[("a", -1, tcp)])], vec![], Some(-1)),
        (
            71,
            json!("a"),
            vec![extra(json!({"hostIP": "1.2.3.4"}))],
            vec![],
            Some(11),
        ),
        (72, json!("a"), vec![], vec![sidecar(&[("a", 80, tcp)])], Some(80)),
        (73, json!("a"), vec![], vec![container(&[("a", 80, tcp)])], None),
        (
            74,
            json!("a"),
            vec![container(&[("a", 81, tcp)]), container(&[("a", 82, tcp)])],
            vec![sidecar(&[("a", 80, tcp)])],
            Some(81),
        ),
        // The range is not checked, and the protocol has to match (R69).
        (690, json!(0), vec![], vec![], Some(0)),
        (
            691,
            json!("a"),
            vec![container(&[("a", 1, udp), ("a", 2, tcp)])],
            vec![],
            Some(2),
        ),
    ] {
        let service_ports = json!([{"name": "s", "port": 80, "targetPort": target, "protocol": tcp}]);
        let expected: Vec<_> = expected.map(|number| port("s", number, None)).into_iter().collect();
        assert_eq!(
            ports_of(&service_ports, containers(&regular, &init)),
            expected,
            "T-UTL-{id}"
        );
    }
}

/// The pod is published, in a group without ports (G-06, R70, R75).
#[test]
fn g06_pod_without_the_named_port() {
    let service = service(json!({"spec": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}));
    let http = |n, number| pod(n, containers(&[container(&[("http", number, "TCP")])], &[]));
    let pods = [http(0, 8080), pod(1, json!({})), http(2, 9090), http(3, 8080)];
    let (groups, skipped) = desired_summary(&service, &pods, &nodes(&[("node-1", "")]));
    assert_eq!(
        groups,
        [
            group("IPv4", &[], &[("pod1", &["1.2.3.5"])]),
            group("IPv4", &[8080], &[("pod0", &["1.2.3.4"]), ("pod3", &["1.2.3.7"])]),
            group("IPv4", &[9090], &[("pod2", &["1.2.3.6"])]),
        ]
    );
    assert_eq!(skipped, [] as [String; 0]);
}

/// The empty set of ports is a set like any other (R71, kubernetes/kubernetes issue 136502).
#[test]
fn r71_service_without_ports() {
    for cluster_ip in ["None", "10.0.0.10"] {
        let service = service(json!({"spec": {"ports": null, "clusterIP": cluster_ip}}));
        let pods = [pod(0, containers(&[container(&[("http", 8080, "TCP")])], &[]))];
        let (groups, _) = desired_summary(&service, &pods, &nodes(&[("node-1", "")]));
        assert_eq!(groups, [group("IPv4", &[], &[("pod0", &["1.2.3.4"])])]);
    }
}

/// Invalid Service with two ports of one name: groups with equal ports are merged.
#[test]
fn equal_ports_form_one_group() {
    let ports = json!([{"port": 1, "targetPort": "a"}, {"port": 2, "targetPort": "b"}]);
    let service = service(json!({"spec": {"ports": ports}}));
    let crossed = |n, a, b| pod(n, containers(&[container(&[("a", a, "TCP"), ("b", b, "TCP")])], &[]));
    let (groups, _) = desired_summary(
        &service,
        &[crossed(0, 1, 2), crossed(1, 2, 1)],
        &nodes(&[("node-1", "")]),
    );
    let endpoints: [(&str, &[&str]); 2] = [("pod0", &["1.2.3.4"]), ("pod1", &["1.2.3.5"])];
    assert_eq!(groups, [group("IPv4", &[1, 2], &endpoints)]);
}

/// Groups do not depend on the order of pods, nor on whether pods share the allocation of their ports.
#[test]
fn shared_port_allocations_do_not_change_groups() {
    let service = service(json!({"spec": {"ports": [{"port": 80, "targetPort": "http"}]}}));
    let (nodes, api_pod) = (nodes(&[("node-1", "")]), pod(0, json!({})));
    let ports = |number| {
        Arc::new(vec![NamedPort {
            name: "http".into(),
            protocol: "TCP".into(),
            port: number,
        }])
    };
    let (shared, other) = (ports(1), ports(2));
    let names = ["a", "b", "c", "d", "e"];
    let named_ports = [&shared, &shared, &other, &shared, &ports(2)];
    let pods: Vec<Pod> = std::iter::zip(names, named_ports)
        .map(|(name, named_ports)| {
            let identity = TargetIdentity {
                name: Some(name.into()),
                ..TargetIdentity::default()
            };
            Pod {
                identity: Arc::new(identity),
                named_ports: Some(Arc::clone(named_ports)),
                ..Pod::from(&api_pod)
            }
        })
        .collect();
    for reversed in [false, true] {
        let mut pods: Vec<&Pod> = pods.iter().collect();
        if reversed {
            pods.reverse();
        }
        let desired = desired(&service, pods, &nodes);
        let sizes: Vec<_> = desired
            .groups
            .iter()
            .map(|group| (port_number(&group.ports), group.endpoints.len()))
            .collect();
        assert_eq!(sizes, [(Some(1), 3), (Some(2), 2)]);
        assert!(
            desired
                .groups
                .iter()
                .all(|group| group.address_type == AddressType::IPv4)
        );
    }
}

fn port_number(ports: &PortMapKey) -> Option<i32> {
    ports.ports()[0].port
}
