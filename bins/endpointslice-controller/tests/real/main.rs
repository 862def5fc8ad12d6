//! The program on a real API server, with the rights of the spec and a service account's token.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../stories/mod.rs"]
mod stories;

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, PolicyRule};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use testenv::{Component, ControlPlane, User, readme, rule};

use stories::{cluster::Cluster, fails, smoke, start};

/// R5, and nothing more.
fn rights() -> Vec<PolicyRule> {
    vec![
        rule(&[""], &["services", "pods", "nodes"], &["get", "list", "watch"]),
        rule(&[""], &["services/finalizers"], &["update"]),
        rule(
            &["discovery.k8s.io"],
            &["endpointslices"],
            &["get", "list", "watch", "create", "update", "delete"],
        ),
        rule(&["", "events.k8s.io"], &["events"], &["create", "patch", "update"]),
    ]
}

fn flag(control_plane: &ControlPlane, user: &User) -> String {
    let kubeconfig = control_plane.kubeconfig(user).unwrap();
    format!("--kubeconfig={}", kubeconfig.path.display())
}

/// Starts kube-controller-manager as README.md says, so that nobody else writes slices.
async fn without_its_own(control_plane: &ControlPlane) -> Component {
    let readme = readme::text().unwrap();
    let controllers = readme.split_once("--controllers=").unwrap().1;
    let controllers: Vec<&str> = controllers.split_once('`').unwrap().0.split(',').collect();
    assert!(controllers.contains(&"-endpointslice-controller"), "{controllers:?}");
    control_plane.controller_manager(&controllers, &[]).await.unwrap()
}

/// R5, R6a, F5. The admission plugin asks for the right to `services/finalizers`, which is not needed otherwise.
#[tokio::test]
async fn it_lives_within_the_rights_of_the_spec_and_without_them() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    // Not the name of the built-in controller's account, which has its rights from the start.
    let account = control_plane
        .service_account("kube-system", "slices", rights())
        .await
        .unwrap();
    let cluster = Cluster::new(control_plane.client().unwrap(), "shop").await;
    let flag = flag(&control_plane, &account);
    let _manager = without_its_own(&control_plane).await;
    smoke(&cluster, &[&flag]).await;

    let program = start(&[&flag]).await;
    program.wait_ready().await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client.clone());
    let name = format!("testenv:{}", account.name());
    let mut binding = bindings.get(&name).await.unwrap();
    bindings.delete(&name, &DeleteParams::default()).await.unwrap();
    for lost in ["pods", "services", "nodes", "endpointslices"] {
        let line = format!("[-]{lost} failed: {lost}");
        let (code, page) = program.wait_for_page("/readyz?verbose", &line).await.unwrap();
        assert_eq!(code, 200, "{page}");
    }
    assert_eq!(program.get("/readyz").await.unwrap(), (200, "ok".to_owned()));

    binding.metadata = kube::api::ObjectMeta {
        name: Some(name),
        ..Default::default()
    };
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    for back in ["pods", "services", "nodes", "endpointslices"] {
        program
            .wait_for_page("/readyz?verbose", &format!("[+]{back} ok\n"))
            .await
            .unwrap();
    }
    cluster.service("healed", "web", json!({})).await;
    cluster.published("healed", &["10.1.0.2"]).await;
    program.stop().await.unwrap();
}

#[tokio::test]
async fn who_has_no_rights_is_told_so() {
    let control_plane = ControlPlane::start().await.unwrap();
    let nobody = control_plane.user("nobody", Vec::new()).await.unwrap();
    let complaints = fails(&[&flag(&control_plane, &nobody)]).await;
    let expected: Vec<String> = ["nodes", "pods", "services", "endpointslices"]
        .iter()
        .map(|resource| format!("{}/: not allowed to list {resource}: {resource}", control_plane.url()))
        .collect();
    assert_eq!(complaints.len(), expected.len(), "{complaints:#?}");
    for (complaint, expected) in complaints.iter().zip(&expected) {
        assert!(complaint.starts_with(expected), "{complaint}");
        assert!(
            complaint.contains("User \"nobody\" cannot list resource"),
            "{complaint}"
        );
    }

    control_plane.apiserver().stop().await.unwrap();
    let complaints = fails(&[&flag(&control_plane, control_plane.admin())]).await;
    let expected = format!("{}/: the API server cannot be reached: ", control_plane.url());
    assert_eq!(complaints.len(), 1, "{complaints:#?}");
    assert!(complaints[0].starts_with(&expected), "{complaints:#?}");
}
