use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::kinds::{
    ClusterIps, Kind,
    fixtures::{create, object, summary, update, update_status},
};

fn body(spec: &Value) -> Value {
    let mut json = json!({
        "metadata": { "name": "web", "namespace": "ns" },
        "spec": { "containers": [{ "name": "c", "image": "img:1" }] },
        "status": { "phase": "Running", "podIP": "10.1.1.1" },
    });
    json_patch::merge(&mut json["spec"], spec);
    json
}

fn created(spec: &Value) -> Result<Pod, Vec<String>> {
    create(body(spec), &mut ClusterIps::default()).map_err(|errors| summary(&errors))
}

fn changed(old: &Pod, patch: &Value) -> Result<Pod, Vec<String>> {
    let mut new = serde_json::to_value(old).unwrap();
    json_patch::merge(&mut new, patch);
    update(old, object(new), &mut ClusterIps::default()).map_err(|errors| summary(&errors))
}

fn with_status(old: &Pod, status: &Value) -> Result<Value, Vec<String>> {
    let mut new = serde_json::to_value(old).unwrap();
    json_patch::merge(&mut new["status"], status);
    let stored = update_status(old, object(new)).map_err(|errors| summary(&errors))?;
    Ok(serde_json::to_value(stored.status).unwrap())
}

#[test]
fn defaults_of_a_plain_pod() {
    let pod = serde_json::to_value(created(&json!({})).unwrap()).unwrap();
    let toleration =
        |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    let spec = json!({
        "containers": [{
            "name": "c",
            "image": "img:1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
    });
    assert_eq!(pod["spec"], spec);
    assert_eq!(pod["status"], json!({ "phase": "Pending", "qosClass": "BestEffort" }));
    assert_eq!(pod["metadata"]["generation"], 1);
}

#[test]
fn pull_policy_depends_on_the_tag() {
    for (image, policy) in [
        ("x", "Always"),
        ("x:latest", "Always"),
        ("r:5000/x", "Always"),
        ("r:5000/x:1", "IfNotPresent"),
        ("x@sha256:abc", "IfNotPresent"),
    ] {
        let pod = created(&json!({ "containers": [{ "name": "c", "image": image }] })).unwrap();
        let containers = pod.spec.unwrap().containers;
        assert_eq!(containers[0].image_pull_policy.as_deref(), Some(policy), "{image}");
    }
}

#[test]
fn host_network_sets_host_ports() {
    let container = json!([{ "name": "c", "image": "x", "ports": [{ "containerPort": 80 }] }]);
    let pod = created(&json!({ "hostNetwork": true, "containers": container })).unwrap();
    let ports = serde_json::to_value(&pod.spec.unwrap().containers[0].ports).unwrap();
    assert_eq!(
        ports,
        json!([{ "containerPort": 80, "hostPort": 80, "protocol": "TCP" }])
    );
}

#[test]
fn invalid_pods_are_rejected() {
    let ports = |ports: Value| json!({ "containers": [{ "name": "c", "image": "x", "ports": ports }] });
    let path = "spec.containers[0]";
    let cases: [(Value, &[&str]); 5] = [
        (json!({ "containers": [] }), &["spec.containers FieldValueRequired"]),
        (
            json!({ "containers": [{ "name": "A" }] }),
            &[
                "spec.containers[0].name FieldValueInvalid",
                "spec.containers[0].image FieldValueRequired",
            ],
        ),
        (
            ports(json!([{ "containerPort": 0 }])),
            &["spec.containers[0].ports[0].containerPort FieldValueRequired"],
        ),
        (
            ports(json!([{ "containerPort": 1, "name": "a" }, { "containerPort": 65536, "name": "a" }])),
            &[
                "spec.containers[0].ports[1].name FieldValueDuplicate",
                "spec.containers[0].ports[1].containerPort FieldValueInvalid",
            ],
        ),
        (
            json!({ "restartPolicy": "X", "nodeName": "A", "hostname": "a.b" }),
            &[
                "spec.restartPolicy FieldValueNotSupported",
                "spec.nodeName FieldValueInvalid",
                "spec.hostname FieldValueInvalid",
            ],
        ),
    ];
    for (fields, expected) in cases {
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(created(&fields).err(), Some(expected), "{path} {fields}");
    }
}

#[test]
fn spec_change_increments_the_generation() {
    let old = created(&json!({})).unwrap();
    let image = json!({ "spec": { "containers": [{ "name": "c", "image": "img:2" }] } });
    // Both images have a fixed tag, so the defaulted pull policy is the same.
    let generations = [
        (json!({}), 1),
        (json!({ "metadata": { "labels": { "a": "b" } } }), 1),
        (image, 2),
    ];
    for (patch, generation) in generations {
        assert_eq!(
            changed(&old, &patch).unwrap().metadata.generation,
            Some(generation),
            "{patch}"
        );
    }
    let check_forbidden = |patch: Value, field: &str| {
        let error = format!("{field} FieldValueForbidden");
        assert_eq!(
            changed(&old, &json!({ "spec": patch })).err(),
            Some(vec![error]),
            "{patch}"
        );
    };
    check_forbidden(json!({ "nodeName": "n" }), "spec");
    check_forbidden(
        json!({ "containers": [{ "name": "c", "image": "x" }, { "name": "d", "image": "x" }] }),
        "spec.containers",
    );
}

#[test]
fn update_preserves_status_and_status_update_preserves_spec() {
    let old = created(&json!({})).unwrap();
    assert_eq!(
        changed(&old, &json!({ "status": { "phase": "Failed" } }))
            .unwrap()
            .status,
        old.status
    );
    let mut new = old.clone();
    new.spec.as_mut().unwrap().node_name = Some("n".to_owned());
    new.status.as_mut().unwrap().phase = Some("Running".to_owned());
    let stored = update_status(&old, new).unwrap();
    assert_eq!(stored.spec, old.spec);
    assert_eq!(stored.status.unwrap().phase.as_deref(), Some("Running"));
}

#[test]
fn pod_ip_takes_precedence_over_pod_ips() {
    let old = created(&json!({})).unwrap();
    let ips = |ips: &[&str]| ips.iter().map(|ip| json!({ "ip": ip })).collect::<Vec<_>>();
    let cases: [(Value, &str, &[&str]); 4] = [
        (json!({ "podIP": "10.1.1.1" }), "10.1.1.1", &["10.1.1.1"]),
        (
            json!({ "podIPs": ips(&["10.1.1.1", "fd00::1"]) }),
            "10.1.1.1",
            &["10.1.1.1", "fd00::1"],
        ),
        (
            json!({ "podIP": "10.1.1.2", "podIPs": ips(&["10.1.1.1"]) }),
            "10.1.1.2",
            &["10.1.1.2"],
        ),
        (
            json!({ "podIP": "fd00::1", "podIPs": ips(&["fd00::1", "10.1.1.1"]) }),
            "fd00::1",
            &["fd00::1", "10.1.1.1"],
        ),
    ];
    for (status, one, all) in cases {
        let stored = with_status(&old, &status).unwrap();
        assert_eq!(
            (&stored["podIP"], &stored["podIPs"]),
            (&json!(one), &json!(ips(all))),
            "{status}"
        );
    }
}

#[test]
fn invalid_statuses_are_rejected() {
    let old = created(&json!({})).unwrap();
    let cases: [(Value, &[&str]); 4] = [
        (
            json!({ "podIPs": [{ "ip": "010.1.1.1" }] }),
            &["status.podIPs[0] FieldValueInvalid"],
        ),
        (
            json!({ "podIPs": [{ "ip": "10.1.1.1" }, { "ip": "10.1.1.2" }] }),
            &["status.podIPs FieldValueInvalid"],
        ),
        (
            json!({ "qosClass": "Guaranteed" }),
            &["status.qosClass FieldValueInvalid"],
        ),
        (
            json!({ "hostIPs": [{ "ip": "1.1.1.1" }] }),
            &["status.hostIPs[0].ip FieldValueInvalid"],
        ),
    ];
    for (status, expected) in cases {
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(with_status(&old, &status), Err(expected), "{status}");
    }
}

#[test]
fn qos_class_follows_requests_and_limits() {
    let cases = [
        (json!({ "limits": { "cpu": "1", "memory": "1Gi" } }), "Guaranteed"),
        (json!({ "limits": { "cpu": "1" } }), "Burstable"),
        (json!({ "requests": { "memory": "1Gi" } }), "Burstable"),
        (json!({}), "BestEffort"),
    ];
    for (resources, class) in cases {
        let pod = created(&json!({ "containers": [{ "name": "c", "image": "x", "resources": resources }] }));
        assert_eq!(
            pod.unwrap().status.unwrap().qos_class.as_deref(),
            Some(class),
            "{resources}"
        );
    }
}

#[test]
fn only_a_scheduled_running_pod_has_a_grace_period() {
    let unscheduled = created(&json!({})).unwrap();
    let mut running = created(&json!({ "nodeName": "n" })).unwrap();
    assert_eq!(
        [
            unscheduled.grace_seconds(Some(5)),
            running.grace_seconds(None),
            running.grace_seconds(Some(5))
        ],
        [0, 30, 5]
    );
    running.status.as_mut().unwrap().phase = Some("Succeeded".to_owned());
    assert_eq!(running.grace_seconds(None), 0);
}
