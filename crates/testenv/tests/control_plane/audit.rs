//! The audit log.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, Client, api::ListParams};
use testenv::{AuditedRequest, ControlPlane, rule};

/// Lists pods, which is allowed, and gets the status of a node, which is not.
async fn send_requests(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    pods.list(&ListParams::default().limit(1)).await.unwrap();
    let nodes: Api<Node> = Api::all(client);
    assert!(nodes.get_status("node-a").await.is_err());
}

fn expected(binding: &str) -> [AuditedRequest; 2] {
    let text = str::to_owned;
    [
        AuditedRequest {
            user: text("system:serviceaccount:kube-system:robot"),
            verb: text("list"),
            uri: text("/api/v1/namespaces/default/pods?&limit=1"),
            group: text(""),
            resource: text("pods"),
            namespace: text("default"),
            name: text(""),
            allowed: true,
            reason: text(binding),
        },
        AuditedRequest {
            user: text("system:serviceaccount:kube-system:robot"),
            verb: text("get"),
            uri: text("/api/v1/nodes/node-a/status"),
            group: text(""),
            resource: text("nodes/status"),
            namespace: text(""),
            name: text("node-a"),
            allowed: false,
            reason: text(""),
        },
    ]
}

#[tokio::test]
async fn requests_of_the_audited_group_are_recorded_with_the_decision() {
    let builder = ControlPlane::builder().audit("system:serviceaccounts:kube-system");
    let control_plane = builder.start().await.unwrap();
    let rules = || vec![rule(&[""], &["pods"], &["list"])];
    let robot = control_plane.service_account("kube-system", "robot", rules());
    let robot = robot.await.unwrap();
    let other = control_plane.user("jane", rules()).await.unwrap();
    let log = control_plane.audit_log().unwrap();
    for user in [&other, control_plane.admin()] {
        let client = control_plane.client_for(user).unwrap();
        let pods: Api<Pod> = Api::all(client);
        pods.list(&ListParams::default()).await.unwrap();
    }
    assert_eq!(log.requests().unwrap(), []);

    send_requests(control_plane.client_for(&robot).unwrap()).await;
    let recorded = log.requests().unwrap();
    let reason = "RBAC: allowed by ClusterRoleBinding \"testenv:system:serviceaccount:kube-system:robot\" of ClusterRole \
                  \"testenv:system:serviceaccount:kube-system:robot\" to ServiceAccount \"robot/kube-system\"";
    assert_eq!(recorded, expected(reason));

    // A further API server writes to the same log.
    let later = control_plane.audit_log().unwrap();
    let replica = control_plane.start_replica().await.unwrap();
    send_requests(control_plane.client_at(&robot, replica.url()).unwrap()).await;
    assert_eq!(later.requests().unwrap(), recorded);
    assert_eq!(log.requests().unwrap().len(), 4);
}

#[tokio::test]
async fn a_control_plane_without_an_audited_group_has_no_log() {
    let control_plane = ControlPlane::start().await.unwrap();
    let error = control_plane.audit_log().unwrap_err().to_string();
    assert!(error.contains("audit.log"), "{error}");
}
