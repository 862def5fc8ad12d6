//! The binary on a real API server, with a service account that has the RBAC rules of the spec.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scenarios;

use testenv::{ControlPlane, rule};

/// The rules of mirroring.md appendix A.1 suffice. Only the admission plugin requires `endpoints/finalizers`.
#[tokio::test]
async fn the_rbac_rules_of_the_spec_suffice() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    let read = ["get", "list", "watch"];
    let rules = vec![
        rule(&[""], &["services", "endpoints"], &read),
        rule(&[""], &["services/finalizers", "endpoints/finalizers"], &["update"]),
        rule(
            &["discovery.k8s.io"],
            &["endpointslices"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule(&["", "events.k8s.io"], &["events"], &["create", "update", "patch"]),
    ];
    // Not the name of the built-in controller's account, which has a default role binding.
    let account = control_plane
        .service_account("kube-system", "mirrors", rules)
        .await
        .unwrap();
    let kubeconfig = control_plane.kubeconfig(&account).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    scenarios::mirror_and_restart(&control_plane.client().unwrap(), &[&flag]).await;
}
