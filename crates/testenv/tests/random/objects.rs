//! Random objects, most of them valid and the rest nearly valid.

use fastrand::Rng;
use serde_json::{Value, json};

/// An object of a resource under a name.
pub(super) fn any(rng: &mut Rng, resource: &str, name: &str) -> Value {
    let mut object = match resource {
        "endpointslices" => slice(rng),
        "services" => service(rng),
        _ => endpoints(rng),
    };
    object["metadata"] = metadata(rng, name);
    object
}

/// The parts of an object that an update can copy from another one.
pub(super) fn parts(resource: &str) -> &'static [&'static str] {
    match resource {
        "endpointslices" => &[
            "addressType",
            "endpoints",
            "ports",
            "metadata.labels",
            "metadata.annotations",
        ],
        "services" => &[
            "spec.selector",
            "spec.ports",
            "spec.sessionAffinity",
            "spec.trafficDistribution",
            "spec.publishNotReadyAddresses",
            "metadata.labels",
            "metadata.annotations",
        ],
        _ => &["subsets", "metadata.labels", "metadata.annotations"],
    }
}

/// A valid value, or rarely an invalid one.
fn choose(rng: &mut Rng, valid: &[Value], invalid: &[Value]) -> Value {
    let pool = if !invalid.is_empty() && rng.u8(..40) == 0 {
        invalid
    } else {
        valid
    };
    pool[rng.usize(..pool.len())].clone()
}

fn values(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!(text)).collect()
}

fn word(rng: &mut Rng, valid: &[&str], invalid: &[&str]) -> Value {
    choose(rng, &values(valid), &values(invalid))
}

/// Sets a field half of the time.
fn maybe(rng: &mut Rng, object: &mut Value, field: &str, value: Value) {
    if rng.bool() {
        object[field] = value;
    }
}

fn metadata(rng: &mut Rng, name: &str) -> Value {
    let mut metadata = json!({"name": name});
    let labels = json!({"team": word(rng, &["x", "y", ""], &["-", "a b"]), "tier": word(rng, &["1", "2"], &[])});
    maybe(rng, &mut metadata, "labels", labels);
    let annotations = json!({"note": word(rng, &["", "some text"], &[])});
    maybe(rng, &mut metadata, "annotations", annotations);
    if rng.u8(..8) == 0 {
        let uid = word(rng, &["1"], &[""]);
        metadata["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": uid}]);
    }
    metadata
}

fn slice(rng: &mut Rng) -> Value {
    let kind = word(rng, &["IPv4", "IPv4", "IPv6", "FQDN"], &["", "IP"]);
    let addresses: (&[&str], &[&str]) = match kind.as_str() {
        Some("IPv6") => (
            &["fd00::1", "fd00::2", "2001:db8::a"],
            &["::1", "10.1.2.3", "fd00:0:0::1", "fe80::1"],
        ),
        Some("FQDN") => (
            &["example.com", "a.example.com."],
            &["localhost", "A.example.com", "*.example.com"],
        ),
        _ => (
            &["10.1.2.3", "10.1.2.4", "10.1.2.5"],
            &["127.0.0.1", "010.1.2.3", "fd00::1", "", "1.2.3"],
        ),
    };
    let endpoints: Vec<Value> = (0..rng.u8(..4)).map(|_| endpoint(rng, addresses)).collect();
    let ports: Vec<Value> = (0..rng.u8(..3)).map(|number| port(rng, number, "name")).collect();
    let mut slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": kind});
    slice["endpoints"] = choose(rng, &[json!(endpoints)], &[json!(null)]);
    slice["ports"] = choose(rng, &[json!(ports)], &[json!(null), json!("many")]);
    slice
}

fn endpoint(rng: &mut Rng, (valid, invalid): (&[&str], &[&str])) -> Value {
    let addresses: Vec<Value> = (0..rng.u8(1..3)).map(|_| word(rng, valid, invalid)).collect();
    let mut endpoint = json!({"addresses": choose(rng, &[json!(addresses)], &[json!([]), json!(null)])});
    let conditions = choose(
        rng,
        &[
            json!({"ready": true}),
            json!({"ready": false, "serving": true, "terminating": true}),
            json!({}),
        ],
        &[],
    );
    maybe(rng, &mut endpoint, "conditions", conditions);
    let hostname = word(rng, &["web-0", "web-1"], &["a.b", "-", "A"]);
    maybe(rng, &mut endpoint, "hostname", hostname);
    let node = word(rng, &["node-1", "node-2"], &["Node", ""]);
    maybe(rng, &mut endpoint, "nodeName", node);
    let zone = word(rng, &["zone-a", "zone-b"], &[]);
    maybe(rng, &mut endpoint, "zone", zone);
    let zones = choose(
        rng,
        &[json!([{"name": "zone-a"}])],
        &[json!([{"name": "a"}, {"name": "a"}]), json!([{"name": "@"}])],
    );
    let nodes = choose(rng, &[json!([{"name": "node-1"}])], &[json!([{"name": ""}]), json!([])]);
    maybe(
        rng,
        &mut endpoint,
        "hints",
        json!({"forZones": zones, "forNodes": nodes}),
    );
    if rng.u8(..10) == 0 {
        endpoint["deprecatedTopology"] = json!({"kubernetes.io/hostname": "node-1"});
    }
    endpoint
}

/// A port of a slice, a Service or an Endpoints object; `number` keeps names and numbers apart.
fn port(rng: &mut Rng, number: u8, name: &str) -> Value {
    let mut port = json!({});
    let usual = json!(format!("p{number}"));
    port[name] = choose(rng, &[usual], &values(&["", "p0", "A", "under_score"]));
    port["port"] = choose(
        rng,
        &[json!(80 + u16::from(number))],
        &[json!(0), json!(70_000), json!(80)],
    );
    let protocol = word(rng, &["TCP", "UDP", "SCTP"], &["tcp", "foo"]);
    maybe(rng, &mut port, "protocol", protocol);
    let app = word(rng, &["http", "example.com/x"], &["--"]);
    maybe(rng, &mut port, "appProtocol", app);
    port
}

fn service(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    let count = choose(rng, &[json!(1), json!(1), json!(2)], &[json!(0)])
        .as_u64()
        .unwrap();
    let mut ports: Vec<Value> = (0..count)
        .map(|number| port(rng, u8::try_from(number).unwrap(), "name"))
        .collect();
    for port in &mut ports {
        let target = choose(
            rng,
            &[json!(8080), json!("web")],
            &[json!("under_score"), json!(0), json!(70_000)],
        );
        maybe(rng, port, "targetPort", target);
    }
    spec["ports"] = json!(ports);
    let selector = choose(
        rng,
        &[json!({"app": "web"}), json!({"app": "other"}), json!({})],
        &[json!({"app": "a b"})],
    );
    maybe(rng, &mut spec, "selector", selector);
    let affinity = word(rng, &["None", "ClientIP"], &["Nonsense"]);
    maybe(rng, &mut spec, "sessionAffinity", affinity);
    let distribution = word(rng, &["PreferClose", "PreferSameZone", "PreferSameNode"], &["Nonsense"]);
    maybe(rng, &mut spec, "trafficDistribution", distribution);
    let early = json!(rng.bool());
    maybe(rng, &mut spec, "publishNotReadyAddresses", early);
    match rng.u8(..10) {
        0 => {
            let outside = word(rng, &["example.com"], &["", "-"]);
            spec = json!({"type": "ExternalName", "externalName": outside});
        }
        1..4 => spec["clusterIP"] = json!("None"),
        4 => spec["type"] = word(rng, &["NodePort", "LoadBalancer"], &["Nonsense"]),
        5 => {
            spec["ipFamilies"] = word(rng, &["IPv4", "IPv6"], &["IPv5"])
                .as_str()
                .map(|family| json!([family]))
                .unwrap_or_default();
        }
        6 => {
            spec["ipFamilyPolicy"] = word(
                rng,
                &["SingleStack", "PreferDualStack", "RequireDualStack"],
                &["Nonsense"],
            );
        }
        _ => {}
    }
    json!({"apiVersion": "v1", "kind": "Service", "spec": spec})
}

fn endpoints(rng: &mut Rng) -> Value {
    let subsets: Vec<Value> = (0..rng.u8(..3)).map(|_| subset(rng)).collect();
    json!({"apiVersion": "v1", "kind": "Endpoints", "subsets": choose(rng, &[json!(subsets)], &[json!(null), json!({})])})
}

fn subset(rng: &mut Rng) -> Value {
    let invalid = ["127.0.0.1", "::1", "nonsense", "010.1.2.3", "0.0.0.0"];
    let mut address = || {
        let mut address = json!({"ip": word(rng, &["10.1.2.3", "10.1.2.4", "fd00::1"], &invalid)});
        let hostname = word(rng, &["web-0"], &["--"]);
        maybe(rng, &mut address, "hostname", hostname);
        let node = word(rng, &["node-1"], &["Node"]);
        maybe(rng, &mut address, "nodeName", node);
        address
    };
    let (first, second) = (address(), address());
    let ports: Vec<Value> = (0..rng.u8(..3)).map(|number| port(rng, number, "name")).collect();
    let mut subset = json!({"ports": ports, "addresses": choose(rng, &[json!([first])], &[json!([])])});
    maybe(rng, &mut subset, "notReadyAddresses", json!([second]));
    subset
}
