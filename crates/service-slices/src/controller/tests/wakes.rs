//! Which change concerns which Service.

use super::*;

const NOBODY: [&str; 0] = [];

/// Services `web` and `web2` select the same pods, `db` selects others.
fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.apply(&node("n1", "a"));
    for name in ["web", "db"] {
        assert_eq!(stage.apply(&service(name)), [format!("ns/{name}")]);
    }
    stage.apply(&with(&service("web2"), "/spec/selector", json!({"app": "web"})));
    stage
}

/// R17–R19, W9: what slices say of a pod counts, and nothing else; once it is terminating as before.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_of_a_pod_concerns_its_services() {
    let base = pod("p", "10.0.0.1");
    let conditions = |status: &str| json!([{"type": "Ready", "status": status}]);
    let both_conditions = json!([{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}]);
    for (what, change, concerned) in [
        ("nothing", base.clone(), false),
        ("a version", with(&base, "/metadata/resourceVersion", json!("2")), false),
        (
            "an annotation",
            with(&base, "/metadata/annotations", json!({"a": "b"})),
            false,
        ),
        (
            "a container's state",
            with(&base, "/status/containerStatuses", json!([{}])),
            false,
        ),
        (
            "the end begins",
            with(&base, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
        (
            "readiness",
            with(&base, "/status/conditions", conditions("False")),
            true,
        ),
        (
            "readiness is gone",
            with(&base, "/status/conditions", Value::Null),
            true,
        ),
        (
            "another condition",
            with(&base, "/status/conditions", both_conditions),
            false,
        ),
        (
            "another address",
            with(&base, "/status/podIPs", json!([{"ip": "10.0.0.2"}])),
            true,
        ),
        (
            "one more address",
            with(&base, "/status/podIPs", json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])),
            true,
        ),
        (
            "a phase that ends it",
            with(&base, "/status/phase", json!("Succeeded")),
            true,
        ),
        (
            "a phase that does not",
            with(&base, "/status/phase", json!("Pending")),
            false,
        ),
        ("the node", with(&base, "/spec/nodeName", json!("n2")), true),
        (
            "a hostname",
            with(
                &with(&base, "/spec/hostname", json!("h")),
                "/spec/subdomain",
                json!("web"),
            ),
            true,
        ),
        (
            "a named port",
            with(
                &base,
                "/spec/containers",
                json!([{"name": "c", "ports": [{"name": "a", "containerPort": 1}]}]),
            ),
            true,
        ),
    ] {
        let mut stage = stage();
        assert_eq!(stage.apply(&base), ["ns/web", "ns/web2"]);
        let expected: &[&str] = if concerned { &["ns/web", "ns/web2"] } else { &[] };
        assert_eq!(stage.apply(&change), expected, "{what}");
        if concerned {
            assert_eq!(stage.apply(&change), NOBODY, "{what}, told again");
        }
    }
}

/// R21, trap 3.
#[test]
fn a_pod_that_changes_its_labels_concerns_those_it_leaves_and_joins() {
    let base = pod("p", "10.0.0.1");
    let labels = |labels: Value| with(&base, "/metadata/labels", labels);
    let terminating = |pod: &Value| with(pod, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z"));
    for (to, expected) in [
        (labels(json!({"app": "db"})), vec!["ns/db", "ns/web", "ns/web2"]),
        (labels(json!({"app": "web", "more": "labels"})), vec![]),
        (
            terminating(&labels(json!({"app": "web", "more": "labels"}))),
            vec!["ns/web", "ns/web2"],
        ),
        (
            terminating(&labels(json!({"app": "db"}))),
            vec!["ns/db", "ns/web", "ns/web2"],
        ),
        (labels(Value::Null), vec!["ns/web", "ns/web2"]),
        (labels(json!({"app": "other"})), vec!["ns/web", "ns/web2"]),
    ] {
        let mut stage = stage();
        stage.apply(&base);
        assert_eq!(stage.apply(&to), expected, "{to}");
    }
}

/// A pod without an address is nobody's endpoint yet: its coming and going concerns nobody.
#[test]
fn a_pod_that_cannot_be_an_endpoint_concerns_nobody() {
    let mut stage = stage();
    let pending = with(&pod("p", "10.0.0.1"), "/status", json!({"phase": "Pending"}));
    assert_eq!(stage.apply(&pending), NOBODY);
    assert_eq!(
        stage.apply(&with(&pending, "/metadata/labels", json!({"app": "db"}))),
        NOBODY
    );
    assert_eq!(stage.delete(Watch::Pods, "p"), NOBODY);
    stage.apply(&pending);
    assert_eq!(stage.apply(&pod("p", "10.0.0.1")), ["ns/web", "ns/web2"]);
    assert_eq!(stage.delete(Watch::Pods, "p"), ["ns/web", "ns/web2"]);
    assert_eq!(stage.delete(Watch::Pods, "p"), NOBODY);
}

/// R22, R7: pods are batched, Services are not.
#[test]
fn only_changes_of_pods_wait_for_more() {
    let period = Duration::from_secs(3);
    let mut stage = Stage::with(period);
    for (decode, object, delay) in [
        (slim::service as fn(&[u8]) -> _, service("web"), Duration::ZERO),
        (slim::pod, pod("p", "10.0.0.1"), period),
    ] {
        let decoded: Result<slice_controller::Decoded<Input>, serde_json::Error> =
            decode(object.to_string().as_bytes());
        stage.controller.apply(decoded.unwrap().object, &mut stage.context);
        assert_eq!(stage.enqueued(), [("ns/web".to_owned(), delay)]);
    }
    let pod = ObjectRef {
        namespace: "ns".into(),
        name: "p".into(),
        ..ObjectRef::default()
    };
    stage.controller.delete(Watch::Pods, &pod, &mut stage.context);
    assert_eq!(stage.enqueued(), [("ns/web".to_owned(), period)]);
}

/// W14, trap 2.
#[test]
fn what_of_a_service_matters() {
    let base = service("web");
    for (what, change, concerned) in [
        ("nothing", base.clone(), false),
        ("its status", with(&base, "/status", json!({"loadBalancer": {}})), false),
        (
            "an unrelated annotation",
            with(&base, "/metadata/annotations", json!({"a": "b"})),
            false,
        ),
        ("a label", with(&base, "/metadata/labels", json!({"a": "b"})), true),
        (
            "topology",
            with(
                &base,
                "/metadata/annotations",
                json!({"service.kubernetes.io/topology-mode": "Auto"}),
            ),
            true,
        ),
        (
            "traffic",
            with(&base, "/spec/trafficDistribution", json!("PreferClose")),
            true,
        ),
        ("the selector", with(&base, "/spec/selector", json!({"app": "x"})), true),
        ("the type", with(&base, "/spec/type", json!("ExternalName")), true),
        ("a port", with(&base, "/spec/ports", json!([{"port": 81}])), true),
        (
            "its end",
            with(&base, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
        ("its uid", with(&base, "/metadata/uid", json!("another")), true),
    ] {
        let mut stage = Stage::new();
        stage.apply(&base);
        let expected: &[&str] = if concerned { &["ns/web"] } else { &[] };
        assert_eq!(stage.apply(&change), expected, "{what}");
    }
    let mut stage = Stage::new();
    stage.apply(&base);
    assert_eq!(stage.delete(Watch::Services, "web"), ["ns/web"]);
    assert_eq!(stage.delete(Watch::Services, "web"), NOBODY);
}

/// R20: a Service that comes after its pods finds them, by the rarest of its labels.
#[test]
fn the_order_of_coming_does_not_matter() {
    let labelled = with(
        &pod("p", "10.0.0.1"),
        "/metadata/labels",
        json!({"app": "web", "tier": "front", "z": "1"}),
    );
    let selecting = with(&service("web"), "/spec/selector", json!({"app": "web", "z": "1"}));
    let objects = [node("n1", "a"), labelled, selecting, pod("other", "10.0.0.2")];
    for order in [[0, 1, 2, 3], [2, 1, 0, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        let mut stage = Stage::new();
        for index in order {
            stage.apply(&objects[index]);
        }
        assert_eq!(stage.sync("web").0, ["create 1"], "{order:?}");
    }
}

/// R66, W10, 107927, 123401: unlike upstream, whose retry comes later and later.
#[test]
fn a_node_that_comes_goes_or_moves_concerns_the_services_with_pods_on_it() {
    let mut stage = Stage::new();
    stage.apply(&service("web"));
    stage.apply(&service("db"));
    stage.apply(&pod("p", "10.0.0.1"));
    assert_eq!(stage.apply(&node("n1", "a")), ["ns/web"]);
    assert_eq!(stage.apply(&node("n2", "a")), NOBODY);
    assert_eq!(stage.apply(&node("n1", "b")), ["ns/web"]);
    assert_eq!(
        stage.apply(&with(&node("n1", "b"), "/status", json!({}))),
        NOBODY,
        "readiness is not for endpoints"
    );
    assert_eq!(stage.delete(Watch::Nodes, "n1"), ["ns/web"]);
    assert_eq!(stage.delete(Watch::Nodes, "n1"), NOBODY);
}

/// G-31, I12: when everything is gone, nothing is left.
#[test]
fn what_is_gone_leaves_nothing_behind() {
    let mut stage = stage();
    for i in 0..20 {
        stage.apply(&with(
            &pod(&format!("p{i}"), "10.0.0.1"),
            "/metadata/labels/x",
            json!((i % 3).to_string()),
        ));
    }
    for i in 0..20 {
        stage.delete(Watch::Pods, &format!("p{i}"));
    }
    for name in ["web", "web2", "db"] {
        stage.sync(name);
        stage.delete(Watch::Services, name);
        stage.sync(name);
    }
    assert!(stage.controller.namespaces.is_empty());
    assert!(stage.controller.trigger_times.is_empty() && stage.controller.in_progress.is_empty());
}

/// What pods of one template say is kept once.
#[test]
fn pods_of_one_template_share_their_ports() {
    let mut stage = Stage::new();
    stage.apply(&service("web"));
    for (name, port) in [("a", 80), ("b", 80), ("c", 81)] {
        let mut pod = pod(name, "10.0.0.1");
        pod["spec"]["containers"] = json!([{"name": "c", "ports": [{"name": "http", "containerPort": port}]}]);
        stage.apply(&pod);
    }
    let namespace = &stage.controller.namespaces["ns"];
    let mut pods: Vec<_> = namespace
        .pods_of(namespace.service("web").unwrap())
        .map(|entry| &entry.pod)
        .collect();
    pods.sort_by_key(|pod| pod.name());
    let [a, b, c] = [0, 1, 2].map(|place| pods[place].named_ports.as_ref().unwrap());
    assert!(Arc::ptr_eq(a, b) && c[0].port == 81, "{pods:?}");
}
