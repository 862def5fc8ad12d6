//! Services that a watch event enqueues.

use super::*;

/// A node and three Services: `web` and `web2` select the same pods, `db` selects others.
fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.apply(&node("n1", "a"));
    for name in ["web", "db"] {
        assert_eq!(harness.apply(&service(name)), [format!("ns/{name}")]);
    }
    harness.apply(&with(&service("web2"), "/spec/selector", json!({"app": "web"})));
    harness
}

/// A pod event enqueues the Services of the pod if and only if the endpoint changed, also for terminating pods (R17–R19, W9).
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn pod_change_enqueues_its_services_if_the_endpoint_changes() {
    let base = pod("p", "10.0.0.1");
    let conditions = |status: &str| json!([{"type": "Ready", "status": status}]);
    let both_conditions = json!([{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}]);
    for (description, change, enqueues) in [
        ("no change", base.clone(), false),
        (
            "resourceVersion",
            with(&base, "/metadata/resourceVersion", json!("2")),
            false,
        ),
        (
            "annotation",
            with(&base, "/metadata/annotations", json!({"a": "b"})),
            false,
        ),
        (
            "container status",
            with(&base, "/status/containerStatuses", json!([{}])),
            false,
        ),
        (
            "deletionTimestamp",
            with(&base, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
        (
            "readiness",
            with(&base, "/status/conditions", conditions("False")),
            true,
        ),
        ("no conditions", with(&base, "/status/conditions", Value::Null), true),
        (
            "unrelated condition",
            with(&base, "/status/conditions", both_conditions),
            false,
        ),
        (
            "changed address",
            with(&base, "/status/podIPs", json!([{"ip": "10.0.0.2"}])),
            true,
        ),
        (
            "additional address",
            with(&base, "/status/podIPs", json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])),
            true,
        ),
        ("finished phase", with(&base, "/status/phase", json!("Succeeded")), true),
        (
            "unfinished phase",
            with(&base, "/status/phase", json!("Pending")),
            false,
        ),
        ("node", with(&base, "/spec/nodeName", json!("n2")), true),
        (
            "hostname",
            with(
                &with(&base, "/spec/hostname", json!("h")),
                "/spec/subdomain",
                json!("web"),
            ),
            true,
        ),
        (
            "named port",
            with(
                &base,
                "/spec/containers",
                json!([{"name": "c", "ports": [{"name": "a", "containerPort": 1}]}]),
            ),
            true,
        ),
    ] {
        let mut harness = harness();
        assert_eq!(harness.apply(&base), ["ns/web", "ns/web2"]);
        let expected: &[&str] = if enqueues { &["ns/web", "ns/web2"] } else { &[] };
        assert_eq!(harness.apply(&change), expected, "{description}");
        if enqueues {
            assert_eq!(harness.apply(&change), NONE, "{description}, applied again");
        }
    }
}

/// A label change enqueues the Services that the pod leaves and joins (R21, trap 3).
#[test]
fn pod_label_change_enqueues_old_and_new_services() {
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
        let mut harness = harness();
        harness.apply(&base);
        assert_eq!(harness.apply(&to), expected, "{to}");
    }
}

/// A pod without an address is not eligible: applying and deleting it enqueues nothing.
#[test]
fn pod_that_is_not_eligible_enqueues_nothing() {
    let mut harness = harness();
    let pending = with(&pod("p", "10.0.0.1"), "/status", json!({"phase": "Pending"}));
    assert_eq!(harness.apply(&pending), NONE);
    assert_eq!(
        harness.apply(&with(&pending, "/metadata/labels", json!({"app": "db"}))),
        NONE
    );
    assert_eq!(harness.delete(Watch::Pods, "p"), NONE);
    harness.apply(&pending);
    assert_eq!(harness.apply(&pod("p", "10.0.0.1")), ["ns/web", "ns/web2"]);
    assert_eq!(harness.delete(Watch::Pods, "p"), ["ns/web", "ns/web2"]);
    assert_eq!(harness.delete(Watch::Pods, "p"), NONE);
}

/// Pod changes are enqueued after the batch period, Service changes at once (R22, R7).
#[test]
fn batch_period_delays_only_pod_changes() {
    let period = Duration::from_secs(3);
    let mut harness = Harness::with_batch_period(period);
    for (decode, object, delay) in [
        (slim::decode_service as fn(&[u8]) -> _, service("web"), Duration::ZERO),
        (slim::decode_pod, pod("p", "10.0.0.1"), period),
    ] {
        let decoded: Result<slice_controller::Decoded<Input>, serde_json::Error> =
            decode(object.to_string().as_bytes());
        harness.controller.apply(decoded.unwrap().object, &mut harness.context);
        assert_eq!(harness.take_enqueued(), [("ns/web".to_owned(), delay)]);
    }
    let pod = ObjectRef {
        namespace: "ns".into(),
        name: "p".into(),
        ..ObjectRef::default()
    };
    harness.controller.delete(Watch::Pods, &pod, &mut harness.context);
    assert_eq!(harness.take_enqueued(), [("ns/web".to_owned(), period)]);
}

/// A ready pod that is deleted, becomes unready or leaves its Services is a removal; a new or an unready pod is not.
#[test]
fn a_pod_change_that_takes_an_endpoint_out_of_service_is_a_removal() {
    let mut unready = pod("p", "10.0.0.1");
    unready["status"]["conditions"][0]["status"] = "False".into();
    let mut relabelled = pod("p", "10.0.0.1");
    relabelled["metadata"]["labels"] = json!({"app": "another"});
    for (after, expected) in [
        (None, true),
        (Some(unready.clone()), true),
        (Some(relabelled), true),
        (Some(pod("p", "10.0.0.2")), false),
    ] {
        let mut harness = Harness::new();
        harness.apply(&service("web"));
        assert_eq!(harness.apply_and_take_removals(&pod("p", "10.0.0.1")), [false]);
        let removals = match &after {
            Some(after) => harness.apply_and_take_removals(after),
            None => harness.delete_and_take_removals("p"),
        };
        assert_eq!(removals, [expected], "{after:?}");
    }
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    harness.apply(&unready);
    assert_eq!(harness.delete_and_take_removals("p"), [false]);
}

/// Only changes that affect the slices enqueue a Service (W14, trap 2).
#[test]
fn service_change_enqueues_it_if_its_slices_are_affected() {
    let base = service("web");
    for (description, change, enqueues) in [
        ("no change", base.clone(), false),
        ("status", with(&base, "/status", json!({"loadBalancer": {}})), false),
        (
            "unrelated annotation",
            with(&base, "/metadata/annotations", json!({"a": "b"})),
            false,
        ),
        ("label", with(&base, "/metadata/labels", json!({"a": "b"})), true),
        (
            "topology mode",
            with(
                &base,
                "/metadata/annotations",
                json!({"service.kubernetes.io/topology-mode": "Auto"}),
            ),
            true,
        ),
        (
            "trafficDistribution",
            with(&base, "/spec/trafficDistribution", json!("PreferClose")),
            true,
        ),
        ("selector", with(&base, "/spec/selector", json!({"app": "x"})), true),
        ("type", with(&base, "/spec/type", json!("ExternalName")), true),
        ("port", with(&base, "/spec/ports", json!([{"port": 81}])), true),
        (
            "deletionTimestamp",
            with(&base, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
        ("uid", with(&base, "/metadata/uid", json!("another")), true),
    ] {
        let mut harness = Harness::new();
        harness.apply(&base);
        let expected: &[&str] = if enqueues { &["ns/web"] } else { &[] };
        assert_eq!(harness.apply(&change), expected, "{description}");
    }
    let mut harness = Harness::new();
    harness.apply(&base);
    assert_eq!(harness.delete(Watch::Services, "web"), ["ns/web"]);
    assert_eq!(harness.delete(Watch::Services, "web"), NONE);
}

/// A Service selects its pods whether it is applied before or after them (R20).
#[test]
fn result_does_not_depend_on_the_order_of_events() {
    let labelled = with(
        &pod("p", "10.0.0.1"),
        "/metadata/labels",
        json!({"app": "web", "tier": "front", "z": "1"}),
    );
    let selecting = with(&service("web"), "/spec/selector", json!({"app": "web", "z": "1"}));
    let objects = [node("n1", "a"), labelled, selecting, pod("other", "10.0.0.2")];
    for order in [[0, 1, 2, 3], [2, 1, 0, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        let mut harness = Harness::new();
        for index in order {
            harness.apply(&objects[index]);
        }
        assert_eq!(harness.sync("web").0, ["create 1"], "{order:?}");
    }
}

/// A node event enqueues the Services with pods on the node at once. Upstream relies on retries with backoff (R66, W10, 107927,
/// 123401).
#[test]
fn node_change_enqueues_the_services_with_pods_on_the_node() {
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    harness.apply(&service("db"));
    harness.apply(&pod("p", "10.0.0.1"));
    assert_eq!(harness.apply(&node("n1", "a")), ["ns/web"]);
    assert_eq!(harness.apply(&node("n2", "a")), NONE);
    assert_eq!(harness.apply(&node("n1", "b")), ["ns/web"]);
    assert_eq!(
        harness.apply(&with(&node("n1", "b"), "/status", json!({}))),
        NONE,
        "node readiness does not affect endpoints"
    );
    assert_eq!(harness.delete(Watch::Nodes, "n1"), ["ns/web"]);
    assert_eq!(harness.delete(Watch::Nodes, "n1"), NONE);
}

/// What a relist without these objects would remove.
#[test]
fn endpoints_affected_counts_the_endpoints_of_pods_services_and_nodes() {
    let mut harness = harness();
    let dual_web2 = with(&service("web2"), "/spec/ipFamilies", json!(["IPv4", "IPv6"]));
    harness.apply(&with(&dual_web2, "/spec/selector", json!({"app": "web"})));
    harness.apply(&pod("p", "10.0.0.1"));
    let both = json!([{"ip": "10.0.0.2"}, {"ip": "fd00::2"}]);
    harness.apply(&with(&pod("dual", "10.0.0.2"), "/status/podIPs", both));
    harness.apply(&with(&pod("done", "10.0.0.3"), "/status/phase", json!("Succeeded")));
    let affected = |watch, namespace: &str, names: &[&str]| {
        let object = |name: &&str| ObjectRef {
            namespace: namespace.into(),
            name: (*name).into(),
            ..ObjectRef::default()
        };
        let missing: Vec<_> = names.iter().map(object).collect();
        harness.controller.endpoints_affected(watch, &missing)
    };
    assert_eq!(affected(Watch::Pods, "ns", &["p"]), 2, "in web and web2");
    assert_eq!(affected(Watch::Pods, "ns", &["p", "dual", "done", "unknown"]), 2 + 3);
    assert_eq!(affected(Watch::Pods, "other", &["p"]), 0);
    assert_eq!(affected(Watch::Services, "ns", &["web"]), 2);
    assert_eq!(affected(Watch::Services, "ns", &["web", "web2", "db"]), 2 + 3);
    assert_eq!(affected(Watch::Nodes, "", &["n1", "n2"]), 5);
}

/// The caches are empty once all objects are deleted (G-31, I12).
#[test]
fn deleted_objects_leave_no_state() {
    let mut harness = harness();
    for i in 0..20 {
        harness.apply(&with(
            &pod(&format!("p{i}"), "10.0.0.1"),
            "/metadata/labels/x",
            json!((i % 3).to_string()),
        ));
    }
    for i in 0..20 {
        harness.delete(Watch::Pods, &format!("p{i}"));
    }
    for name in ["web", "web2", "db"] {
        harness.sync(name);
        harness.delete(Watch::Services, name);
        harness.sync(name);
    }
    assert!(harness.controller.namespaces.is_empty());
    assert!(harness.controller.trigger_times.is_empty() && harness.controller.pending_syncs.is_empty());
}

/// Pods of one template share the allocation of their named ports.
#[test]
fn pods_of_one_template_share_named_ports() {
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    for (name, port) in [("a", 80), ("b", 80), ("c", 81)] {
        let mut pod = pod(name, "10.0.0.1");
        pod["spec"]["containers"] = json!([{"name": "c", "ports": [{"name": "http", "containerPort": port}]}]);
        harness.apply(&pod);
    }
    let index = &harness.controller.namespaces["ns"];
    let mut pods: Vec<_> = index
        .pods_of(index.service("web").unwrap())
        .map(|entry| &entry.pod)
        .collect();
    pods.sort_by_key(|pod| pod.name());
    let [a, b, c] = [0, 1, 2].map(|position| pods[position].named_ports.as_ref().unwrap());
    assert!(Arc::ptr_eq(a, b) && c[0].port == 81, "{pods:?}");
}
