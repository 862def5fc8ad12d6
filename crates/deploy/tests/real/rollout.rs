//! Rollouts that do not end.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use testenv::{Cluster, rule, until};

use crate::harness::{Leaders, NAMESPACE, NODE_A, PROGRAMS, admin, deploy, start};

#[tokio::test]
async fn an_image_that_cannot_be_pulled_ends_the_wait_with_the_reason() {
    let cluster = Cluster::start().await.unwrap();
    // The pods stay as the scheduler leaves them.
    cluster.kwok().stop().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = admin(cluster.control_plane());
    let manager = Leaders::of_manager(&client, NODE_A);
    let process = start(&admin.path, &["--mirroring", "--image", "example.test/missing:1"]);

    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut names = Vec::new();
    until("a pod is scheduled", async || {
        let listed = pods.list(&ListParams::default()).await;
        let scheduled = listed.into_iter().flatten();
        let scheduled = scheduled.filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()));
        names = scheduled.map(|pod| pod.name_any()).collect();
        !names.is_empty()
    })
    .await
    .unwrap();
    // As by a webhook that rewrites images.
    let image = "mirror.test/missing:1";
    let rewritten = json!({"spec": {"containers": [{"name": PROGRAMS[1], "image": image}]}});
    let patched = pods
        .patch(&names[0], &PatchParams::default(), &Patch::Strategic(rewritten))
        .await;
    patched.unwrap();
    // The second message is that of a kubelet before Kubernetes 1.32.
    for (reason, message) in [
        ("ErrImagePull", "not found"),
        ("ImagePullBackOff", "Back-off pulling image"),
    ] {
        let waiting = json!({"reason": reason, "message": message});
        let container = json!({"name": PROGRAMS[1], "image": image, "imageID": "", "ready": false,
            "restartCount": 0, "state": {"waiting": waiting}});
        let status = json!({"status": {"phase": "Pending", "containerStatuses": [container]}});
        let patched = pods
            .patch_status(&names[0], &PatchParams::default(), &Patch::Merge(status))
            .await;
        patched.unwrap();
        process.wait_for_output(&format!("({reason}: ")).await.unwrap();
    }

    let status = process.wait().await.unwrap();
    let output = process.output();
    assert!(!status.success(), "{output}");
    let error = output.lines().last().unwrap();
    assert!(
        error.contains("cannot pull the image mirror.test/missing:1 (ErrImagePull: not found)"),
        "{output}"
    );
    assert!(error.contains("cargo xtask deploy --mirroring --delete"), "{output}");

    // The pods with the missing image are still there.
    cluster.kwok().start().await.unwrap();
    manager.stop().await;
    let _leaders = Leaders::start(&client);
    let (success, output) = deploy(&admin, &["--mirroring", "--image", "example.test/present:1"]).await;
    assert!(success, "{output}");
}

/// All replicas are ready, as standbys.
#[tokio::test]
async fn a_rollout_without_a_leader_is_an_error() {
    let cluster = Cluster::start().await.unwrap();
    let admin = admin(cluster.control_plane());
    let _manager = Leaders::of_manager(&cluster.control_plane().client().unwrap(), NODE_A);
    let (success, output) = deploy(&admin, &["--mirroring"]).await;
    assert!(!success, "{output}");
    assert!(
        output.contains("endpointslice-mirroring-controller: rolled out"),
        "{output}"
    );
    assert!(
        output.contains("no instance has acquired its Lease in time, so that no slice is written"),
        "{output}"
    );
}

/// Events only add reasons.
#[tokio::test]
async fn a_user_who_may_not_read_events_sees_the_rollout_end() {
    let cluster = Cluster::start().await.unwrap();
    let control_plane = cluster.control_plane();
    let named = [
        "apps",
        "authorization.k8s.io",
        "authentication.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
    ];
    let further = [
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
    ];
    let core = [
        "endpoints",
        "endpoints/finalizers",
        "namespaces",
        "nodes",
        "pods",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ];
    let rules = vec![
        rule(&[named.as_slice(), further.as_slice()].concat(), &["*"], &["*"]),
        rule(&[""], &core, &["*"]),
        // What the ClusterRole grants.
        rule(&[""], &["events"], &["create", "patch"]),
    ];
    let installer = control_plane.user("installer", rules).await.unwrap();
    let installer = control_plane.kubeconfig(&installer).unwrap();
    let process = start(&installer.path, &["--shadow", "--mirroring"]);
    let status = process.wait().await.unwrap();
    assert!(status.success(), "{}", process.output());
}

#[tokio::test]
async fn a_rollout_goes_on_after_an_outage_of_the_api_server() {
    let cluster = Cluster::start().await.unwrap();
    cluster.kwok().stop().await.unwrap();
    let admin = admin(cluster.control_plane());
    let process = start(&admin.path, &["--shadow", "--mirroring"]);
    process.wait_for_output("0 available").await.unwrap();
    cluster.control_plane().apiserver().kill().await.unwrap();
    process.wait_for_output("cannot read the Deployment").await.unwrap();
    cluster.control_plane().apiserver().start().await.unwrap();
    cluster.kwok().start().await.unwrap();
    let status = process.wait().await.unwrap();
    assert!(status.success(), "{}", process.output());
}
