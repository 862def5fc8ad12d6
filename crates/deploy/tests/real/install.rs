//! Install, upgrade, remove.

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
    rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};
use testenv::{Cluster, ControlPlane, KubeconfigFile, objects::create};

use crate::harness::{Leaders, NAMESPACE, PROGRAMS, admin, deploy, deployment, installed, slices};

/// A slice with our managed-by value, as a controller leaves it behind.
async fn create_slice(client: &Client) {
    let labels = json!({
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    });
    let slice =
        json!({"metadata": {"name": "web-1", "labels": labels}, "addressType": "IPv4", "endpoints": [], "ports": []});
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    create(&slices, slice).await.unwrap();
}

#[tokio::test]
async fn controllers_are_installed_upgraded_and_removed() {
    let cluster = Cluster::start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = admin(cluster.control_plane());
    create_slice(&client).await;
    let before = slices(&client).await;

    let (success, output) = deploy(&admin, &["--dry-run"]).await;
    assert!(success && output.contains("would be created"), "{output}");
    assert_eq!(installed(&client).await, [""; 0], "a dry run changes nothing");

    let leaders = Leaders::start(&client);
    let (success, output) = deploy(&admin, &[]).await;
    assert!(success, "{output}");
    for program in PROGRAMS {
        assert!(output.contains(&format!("{program}: rolled out")), "{output}");
        assert!(output.contains(&format!("{program}: node-a_1 leads")), "{output}");
        assert!(output.contains(&format!("target/images/{program}.tar")), "{output}");
        let deployment = deployment(&client, program).await.unwrap();
        assert_eq!(deployment.status.unwrap().available_replicas, Some(2), "{program}");
    }

    a_second_run_changes_nothing(&admin).await;
    let (success, output) = deploy(
        &admin,
        &["--dry-run", "--endpointslice", "--image", "example.test/other:2"],
    )
    .await;
    let changed: Vec<_> = output
        .lines()
        .filter(|line| line.ends_with("would be changed"))
        .collect();
    assert!(success, "{output}");
    assert_eq!(changed, ["deployments.apps/endpointslice-controller would be changed"]);

    image_is_kept(&admin).await;

    let (success, output) = deploy(&admin, &["--shadow"]).await;
    // In the other order both would write.
    let order = "--shadow would turn it off. Remove it first (`cargo xtask deploy --delete`), then turn the built-in controller on";
    assert!(!success && output.contains(order), "{output}");

    let (success, output) = deploy(&admin, &["--delete", "--mirroring"]).await;
    assert!(success, "{output}");
    assert!(
        deployment(&client, PROGRAMS[0]).await.is_some(),
        "the other controller remains"
    );
    assert!(installed(&client).await.contains(&NAMESPACE.to_owned()));

    create_binding_of_monitoring(&client).await;
    leaders.stop().await;
    let (success, output) = deploy(&admin, &["--delete", "--dry-run"]).await;
    assert!(
        success && output.contains("deployments.apps/endpointslice-controller would be deleted"),
        "{output}"
    );
    assert!(
        deployment(&client, PROGRAMS[0]).await.is_some(),
        "a dry run deletes nothing"
    );
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success && output.contains("EndpointSlices remain"), "{output}");
    assert!(
        output.contains("endpointslice-controller does not run any more"),
        "{output}"
    );
    assert_eq!(installed(&client).await, [""; 0], "{output}");
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    assert!(leases.get_opt(PROGRAMS[0]).await.unwrap().is_none());
    assert_eq!(slices(&client).await, before);
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success && output.contains("0 objects deleted"), "{output}");
}

/// Of deploy/monitoring, which kubectl applies.
async fn create_binding_of_monitoring(client: &Client) {
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "endpointslice-rs:metrics-reader"});
    let labels = json!({"app.kubernetes.io/part-of": "endpointslice-rs"});
    let binding = json!({"metadata": {"name": "endpointslice-rs:metrics-reader", "labels": labels}, "roleRef": role});
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(&bindings, binding).await.unwrap();
}

async fn a_second_run_changes_nothing(admin: &KubeconfigFile) {
    let (success, output) = deploy(admin, &[]).await;
    assert!(
        success && !output.contains(" changed") && !output.contains(" created"),
        "{output}"
    );
    // Slices that ours has written are not written again by a built-in controller.
    for metric in ["endpoint_slice_controller", "endpoint_slice_mirroring_controller"] {
        let hint = format!("{metric}_foreign_changes_total shows whether another client writes");
        assert!(output.contains(&hint), "{output}");
    }
}

/// Without `--image`, the installed one stays.
async fn image_is_kept(admin: &KubeconfigFile) {
    let (success, output) = deploy(admin, &["--image", "example.test/{name}:2"]).await;
    assert!(success && !output.contains("target/images"), "{output}");
    let (success, output) = deploy(admin, &["--dry-run"]).await;
    assert!(success && !output.contains("would be"), "{output}");
    for program in PROGRAMS {
        let kept = format!("{program}: keeps its image example.test/{program}:2; --image changes it");
        assert!(output.contains(&kept), "{output}");
    }
}

/// Objects of others in our namespace would be deleted with it, and slices with their Services.
#[tokio::test]
async fn a_namespace_with_objects_of_others_remains() {
    let cluster = Cluster::start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = admin(cluster.control_plane());
    let (success, output) = deploy(&admin, &["--shadow", "--mirroring"]).await;
    assert!(success && !output.contains(" leads"), "{output}");
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    create(
        &services,
        json!({"metadata": {"name": "mine"}, "spec": {"ports": [{"port": 80}]}}),
    )
    .await
    .unwrap();

    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success, "{output}");
    assert!(
        output.contains("the namespace endpointslice-system remains: it has the Service mine"),
        "{output}"
    );
    assert!(
        !output.contains("does not run any more"),
        "a shadow has written nothing: {output}"
    );
    assert_eq!(installed(&client).await, [NAMESPACE]);
    assert!(services.get_opt("mine").await.unwrap().is_some());
    let left = services.list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.len(), 1, "the metrics Service is deleted");

    services.delete("mine", &DeleteParams::default()).await.unwrap();
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success, "{output}");
    assert_eq!(installed(&client).await, [""; 0]);
}

/// A second replica would wait for a node without end.
#[tokio::test]
async fn nodes_with_taints_that_are_not_tolerated_get_no_replica() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let nodes: Api<Node> = Api::all(client.clone());
    let node = |name: &str, taints: Value| json!({"metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}}, "spec": {"taints": taints}});
    let gpu = json!([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]);
    create(&nodes, node("worker", json!([]))).await.unwrap();
    // More than one page of the list.
    for number in 0..60 {
        create(&nodes, node(&format!("gpu-{number}"), gpu.clone()))
            .await
            .unwrap();
    }
    let (success, output) = deploy(&admin, &["--dry-run"]).await;
    assert!(success && output.contains("one replica of each controller"), "{output}");
    create(&nodes, node("worker-2", json!([]))).await.unwrap();
    let (success, output) = deploy(&admin, &["--dry-run"]).await;
    assert!(
        success && !output.contains("one replica of each controller"),
        "{output}"
    );
}
