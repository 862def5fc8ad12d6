//! Services of every kind, with their nodes, pods and Endpoints.

use serde_json::{Value, json};

/// Enough of them for more than one slice.
const MANY: usize = 130;
/// The last one has many pods, and only some of the Service variants.
const APPS: [&str; 6] = ["web", "mixed", "host-network", "no-pods", "ports", "many"];
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// All objects, in an order in which they can be created.
pub(super) fn all() -> Vec<Value> {
    let mut all: Vec<Value> = ZONES.iter().map(|zone| node(zone)).collect();
    all.extend(pods());
    all.extend(selecting());
    all.extend(mirrored());
    all.extend(ignored());
    all
}

/// Additional objects with this name: a Service with a pod on a new node, and a Service with an Endpoints object.
pub(super) fn additional(name: &str) -> Vec<Value> {
    let metadata = json!({"name": name, "labels": {"app": name}});
    let on_it = with(pod("web", 99), "/metadata", metadata.clone());
    let on_it = with(on_it, "/spec/nodeName", json!(name));
    // Excluded from topology hints.
    let labels = json!({"node-role.kubernetes.io/control-plane": ""});
    let mirror = json!({"name": format!("{name}-mirror")});
    let port = json!([{"port": 80}]);
    vec![
        with(node("zone-a"), "/metadata", json!({"name": name, "labels": labels})),
        on_it,
        json!({"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": name}, "ports": port}}),
        json!({"kind": "Service", "metadata": mirror, "spec": {"ports": port}}),
        json!({"kind": "Endpoints", "metadata": mirror, "subsets": [{"addresses": [{"ip": "10.2.8.1"}], "ports": port}]}),
    ]
}

/// A ready node in a zone.
pub(super) fn node(zone: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": format!("node-{zone}"), "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"},
        },
    })
}

/// A ready pod of an app with an address of each family, on one of the nodes.
pub(super) fn pod(app: &str, number: usize) -> Value {
    let (high, low) = (APPS.iter().position(|other| *other == app).unwrap(), number);
    let node = format!("node-{}", ZONES[number % ZONES.len()]);
    json!({
        "kind": "Pod",
        "metadata": {"name": format!("{app}-{number}"), "labels": {"app": app}},
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 3600,
            "containers": [{"name": "main", "image": "main", "ports": [{"name": "http", "containerPort": 8080}]}],
        },
        "status": {
            "phase": "Running",
            "podIP": format!("10.1.{high}.{low}"),
            "podIPs": [{"ip": format!("10.1.{high}.{low}")}, {"ip": format!("fd00:1::{high:x}:{low:x}")}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// The object with one value replaced.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

fn pods() -> Vec<Value> {
    let mut pods: Vec<Value> = (1..=6).map(|number| pod("web", number)).collect();
    pods.extend((1..=MANY).map(|number| pod("many", number)));
    for number in 1..=3 {
        let shared = format!("192.168.0.{number}");
        let host = with(pod("host-network", number), "/spec/hostNetwork", json!(true));
        let host = with(host, "/status/podIPs", json!([{"ip": shared}]));
        pods.push(with(host, "/status/podIP", json!(shared)));
        // The same name, another number.
        let ports = json!([{"name": "http", "containerPort": 8080 + number}, {"name": "admin", "containerPort": 9090}]);
        let containers = json!([{"name": "main", "image": "main", "ports": ports}]);
        pods.push(with(pod("ports", number), "/spec/containers", containers));
    }
    let mixed = |number| pod("mixed", number);
    pods.push(with(mixed(1), "/spec/hostname", json!("first")));
    pods.push(with(
        mixed(2),
        "/status/conditions",
        json!([{"type": "Ready", "status": "False"}]),
    ));
    pods.push(with(mixed(3), "/status/phase", json!("Succeeded")));
    pods.push(with(mixed(4), "/status/phase", json!("Failed")));
    pods.push(with(mixed(5), "/status", json!({"phase": "Pending"})));
    let named = with(mixed(6), "/spec/hostname", json!("sixth"));
    pods.push(with(named, "/spec/subdomain", json!("mixed-headless")));
    pods.push(with(mixed(7), "/status/podIPs", json!([{"ip": "10.1.1.7"}])));
    pods.push(with(mixed(8), "/metadata/labels/terminating", json!("yes")));
    pods
}

/// Pods that are to be terminating.
pub(super) fn is_to_terminate(object: &Value) -> bool {
    !object["metadata"]["labels"]["terminating"].is_null()
}

fn service(app: &str, name: &str) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"name": format!("{app}-{name}")},
        "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
    })
}

/// A Service variant: name, JSON pointer and merged value.
type Variant = (&'static str, &'static str, Value);

fn variants() -> Vec<Variant> {
    let named = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
    let several = json!([
        {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"},
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "admin", "port": 9090, "targetPort": "admin"},
    ]);
    let headless = |ports: Value| json!({"clusterIP": "None", "ports": ports});
    vec![
        ("plain", "/spec", json!({})),
        ("nameless", "/spec", json!({"ports": [{"port": 80}]})),
        ("named", "/spec", json!({"ports": named})),
        ("several", "/spec", json!({"ports": several})),
        ("headless", "/spec", headless(named.clone())),
        ("no-ports", "/spec", headless(json!([]))),
        ("ipv6", "/spec", json!({"ipFamilies": ["IPv6"]})),
        (
            "both",
            "/spec",
            json!({"ipFamilyPolicy": "RequireDualStack", "ports": named}),
        ),
        ("unready", "/spec", json!({"publishNotReadyAddresses": true})),
        ("same-zone", "/spec", json!({"trafficDistribution": "PreferSameZone"})),
        ("same-node", "/spec", json!({"trafficDistribution": "PreferSameNode"})),
        ("close", "/spec", json!({"trafficDistribution": "PreferClose"})),
        ("node-port", "/spec", json!({"type": "NodePort"})),
        (
            "labels",
            "/metadata",
            json!({"labels": {"team": "x"}, "annotations": {"note": "y"}}),
        ),
        (
            AUTO,
            "/metadata",
            json!({"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}),
        ),
    ]
}

/// Name suffix of the Services with topology hints.
pub(super) const AUTO: &str = "auto";

fn selecting() -> Vec<Value> {
    let is_for_many = |name| ["plain", "both", "headless", "same-zone", AUTO].contains(&name);
    let all = APPS
        .iter()
        .flat_map(|app| variants().into_iter().map(move |variant| (*app, variant)));
    all.filter(|(app, (name, _, _))| *app != "many" || is_for_many(name))
        .map(|(app, (name, place, what))| {
            let mut service = service(app, name);
            let part = service.pointer_mut(place).unwrap().as_object_mut().unwrap();
            part.extend(what.as_object().unwrap().clone());
            service
        })
        .collect()
}

/// Services without a selector, each with an Endpoints object.
fn mirrored() -> Vec<Value> {
    let addresses = |from: usize, count: usize| -> Vec<Value> {
        let numbers = from..from + count;
        numbers
            .map(|number| json!({"ip": format!("10.2.{}.{}", number / 200, number % 200 + 1)}))
            .collect()
    };
    let port = json!([{"name": "http", "port": 80}]);
    let subsets = [
        ("one", json!([{"addresses": addresses(0, 2), "ports": port}])),
        ("none", json!([])),
        (
            "unready",
            json!([{"addresses": addresses(0, 1), "notReadyAddresses": addresses(1, 2), "ports": port}]),
        ),
        (
            "both",
            json!([{"addresses": [{"ip": "10.2.0.1"}, {"ip": "fd00:2::1"}], "ports": port}]),
        ),
        ("no-ports", json!([{"addresses": addresses(0, 2)}])),
        ("many", json!([{"addresses": addresses(0, 1010), "ports": port}])),
        (
            "ports",
            json!([{"addresses": addresses(0, 2), "ports": [{"name": "http", "port": 80, "appProtocol": "http"}, {"name": "dns", "port": 53, "protocol": "UDP"}]}]),
        ),
        (
            "two-subsets",
            json!([
                {"addresses": addresses(0, 1), "ports": port},
                {"addresses": addresses(1, 1), "ports": [{"name": "http", "port": 81}]},
            ]),
        ),
        (
            "joined-subsets",
            json!([
                {"addresses": addresses(0, 1), "ports": port},
                {"addresses": addresses(0, 1), "ports": [{"name": "admin", "port": 81}]},
            ]),
        ),
        (
            "references",
            json!([{
                "addresses": [{"ip": "10.2.0.1", "hostname": "a", "nodeName": "node-zone-a", "targetRef": {"kind": "Pod", "name": "web-1", "namespace": "default"}}],
                "ports": port,
            }]),
        ),
    ];
    let objects = subsets.into_iter().flat_map(|(name, subsets)| {
        let metadata = json!({"name": format!("mirror-{name}"), "labels": {"team": "x"}});
        let spec = json!({"ports": [{"name": "http", "port": 80}]});
        [
            json!({"kind": "Service", "metadata": metadata, "spec": spec}),
            json!({"kind": "Endpoints", "metadata": metadata, "subsets": subsets}),
        ]
    });
    objects.collect()
}

/// Services and Endpoints without slices.
fn ignored() -> Vec<Value> {
    let ports = json!([{"port": 80}]);
    let skipped = json!({"name": "skipped", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}});
    vec![
        json!({"kind": "Service", "metadata": {"name": "external"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}),
        json!({"kind": "Service", "metadata": {"name": "bare"}, "spec": {"ports": ports}}),
        json!({"kind": "Service", "metadata": {"name": "skipped"}, "spec": {"ports": ports}}),
        json!({"kind": "Endpoints", "metadata": skipped, "subsets": [{"addresses": [{"ip": "10.2.9.1"}]}]}),
        json!({"kind": "Endpoints", "metadata": {"name": "no-service"}, "subsets": [{"addresses": [{"ip": "10.2.9.2"}]}]}),
    ]
}
