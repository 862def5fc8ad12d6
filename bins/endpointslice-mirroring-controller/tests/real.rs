//! The program on a real API server, with the rights of the spec and a service account's token.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod story;

use testenv::{ControlPlane, rule};

/// mirroring.md appendix A.1. The admission plugin asks for the right to `endpoints/finalizers`, which is not needed
/// otherwise.
#[tokio::test]
async fn it_lives_within_the_rights_of_the_spec() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    let read = ["get", "list", "watch"];
    let rights = vec![
        rule(&[""], &["services", "endpoints"], &read),
        rule(&[""], &["services/finalizers", "endpoints/finalizers"], &["update"]),
        rule(
            &["discovery.k8s.io"],
            &["endpointslices"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule(&["", "events.k8s.io"], &["events"], &["create", "update", "patch"]),
    ];
    // Not the name of the built-in controller's account, which has its rights from the start.
    let account = control_plane
        .service_account("kube-system", "mirrors", rights)
        .await
        .unwrap();
    let kubeconfig = control_plane.kubeconfig(&account).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    story::play(&control_plane.client().unwrap(), &[&flag]).await;
}
