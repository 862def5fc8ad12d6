//! The example `multus` without a server and on the API server in memory, and the code blocks of `docs/library.md`.

use serde_json::{Value, json};
use slice_controller::{Controller as _, EventContext, Key, SyncContext};
use testenv::{SimServer, TestProcess};

use crate::scenario::{example::Multus, page, program, scenario};

#[tokio::test]
async fn multus_publishes_a_secondary_network_and_a_restart_writes_nothing() {
    let server = SimServer::start().await.unwrap();
    scenario(server.client(), &[&server.flag()]).await;
}

/// Runs the dry run that the page shows.
#[tokio::test]
async fn the_documented_dry_run_logs_the_planned_writes() {
    let server = SimServer::start().await.unwrap();
    let services = kube::Api::<k8s_openapi::api::core::v1::Service>::namespaced(server.client(), "default");
    testenv::objects::create(&services, page::service()).await.unwrap();
    let pods = kube::Api::<k8s_openapi::api::core::v1::Pod>::namespaced(server.client(), "default");
    testenv::objects::create(&pods, pod()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();

    let commands = page::blocks("sh");
    let arguments = commands[0]
        .trim()
        .strip_prefix("cargo run -p slice-runtime --example multus -- ");
    let arguments: Vec<&str> = arguments.unwrap().split(' ').collect();
    let kubeconfig = [("KUBECONFIG", &*kubeconfig.to_string_lossy())];
    let program = TestProcess::start(program(), &arguments, &kubeconfig).unwrap();
    let plan = program.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("default/rtp"), "{plan}");
    assert_eq!(server.writes(), 0);
}

/// Runs the command of the README of the crate.
#[test]
fn the_documented_help_lists_the_flags() {
    let command = "`cargo run -p slice-runtime --example multus -- --help`";
    assert!(include_str!("../../README.md").contains(command), "{command}");
    let output = std::process::Command::new(program()).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("--dry-run"), "{text}");
}

/// The Service of the page, as the API server returns it.
fn service() -> Value {
    let mut service = page::service();
    service["metadata"]["uid"] = json!("2");
    service
}

/// A pod with the network status of the page.
fn pod() -> Value {
    let status = page::blocks("json").remove(0);
    json!({
        "metadata": {"namespace": "default", "name": "rtp-0", "uid": "1", "labels": {"app": "rtp"}, "annotations": {
            "k8s.v1.cni.cncf.io/network-status": status,
        }},
        "spec": {"containers": [{"name": "rtp", "image": "example.com/rtp", "ports": [
            {"name": "rtcp", "containerPort": 5005, "protocol": "UDP"},
        ]}]},
    })
}

/// Another MTU of the network, another version of the pod (C-MUL-16).
#[test]
fn pod_change_that_no_endpoint_depends_on_enqueues_nothing() {
    let mut controller = Multus::default();
    let mut events = EventContext::default();
    let mut changed = pod();
    let status = &mut changed["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"];
    *status = json!(
        status
            .as_str()
            .unwrap()
            .replace(r#""interface""#, r#""mtu": 1400, "interface""#)
    );
    changed["metadata"]["resourceVersion"] = json!("7");
    let mut removed = pod();
    removed["metadata"]["annotations"] = json!({});
    for (watch, object, enqueued) in [(0, service(), 1), (1, pod(), 1), (1, changed, 0), (1, removed, 1)] {
        let decoded = controller.watches()[watch]
            .decode(object.to_string().as_bytes())
            .unwrap();
        controller.apply(decoded.object, &mut events);
        assert_eq!(events.take_enqueued().len(), enqueued, "{object}");
    }
}

#[test]
fn pods_are_published_once() {
    let mut controller = Multus::default();
    let mut events = EventContext::default();
    for (watch, object) in controller.watches().iter().zip([service(), pod()]) {
        let decoded = watch.decode(object.to_string().as_bytes()).unwrap();
        controller.apply(decoded.object, &mut events);
    }
    let key = Key::new("default", "rtp");
    assert!(events.take_enqueued().iter().all(|enqueued| enqueued.key == key));

    let mut slices = Vec::new();
    // One slice for each address type, then nothing.
    for writes in [2, 0] {
        let context = SyncContext {
            existing: &slices,
            ..SyncContext::default()
        };
        let plan = controller.sync(&key, &context).unwrap().plan;
        assert_eq!(plan.writes.len(), writes);
        for write in plan.writes {
            write.operation.apply_to(&mut slices);
        }
    }
}

#[test]
fn invalid_selector_keeps_the_slices_and_is_reported() {
    for selector in ["", "rtp", "app=rtp,tier=media"] {
        let mut controller = Multus::default();
        let mut service = service();
        service["metadata"]["annotations"]["example.com/pod-selector"] = json!(selector);
        let decoded = controller.watches()[0].decode(service.to_string().as_bytes()).unwrap();
        controller.apply(decoded.object, &mut EventContext::default());
        let result = controller
            .sync(&Key::new("default", "rtp"), &SyncContext::default())
            .unwrap();
        let [event] = &result.events[..] else {
            panic!("{selector}: {result:?}")
        };
        assert!(
            event.reason == "InvalidSelector" && result.plan.writes.is_empty(),
            "{selector}: {result:?}"
        );
    }
}
