//! The binary on a real API server, with a service account that has the RBAC rules of the spec.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod operate;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod secure_port;

use std::{num::NonZeroUsize, time::Duration};

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, PolicyRule};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use service_slices::controller::{Config, ServiceController};
use slice_runtime::policy_rules;
use testenv::{Component, ControlPlane, User, readme};

use scenarios::{cluster::Cluster, smoke, start};

/// The generated RBAC rules (`docs/reference/rbac.md`), which are within those of the spec (R5).
fn rbac_rules() -> Vec<PolicyRule> {
    let config = Config {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        max_endpoints_per_slice: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    policy_rules(&ServiceController::new(config), "services")
}

fn kubeconfig_flag(control_plane: &ControlPlane, user: &User) -> String {
    let kubeconfig = control_plane.kubeconfig(user).unwrap();
    format!("--kubeconfig={}", kubeconfig.path.display())
}

/// Starts kube-controller-manager with the addition of README.md to its flag, so that it does not write slices.
async fn start_controller_manager(control_plane: &ControlPlane) -> Component {
    let readme = readme::text().unwrap();
    let mut code = readme.split('`');
    let turned_off = code
        .find(|code| code.starts_with("-endpointslice-controller,"))
        .unwrap();
    let controllers: Vec<&str> = ["*"].into_iter().chain(turned_off.split(',')).collect();
    control_plane.controller_manager(&controllers, &[]).await.unwrap()
}

/// The RBAC rules of the spec suffice (R5, R6a), and the program recovers after it lost them for a while (F5). Only the admission
/// plugin requires `services/finalizers`.
#[tokio::test]
async fn the_rbac_rules_of_the_spec_suffice_and_their_loss_is_survived() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    // Not the name of the built-in controller's account, which has a default role binding.
    let account = control_plane
        .service_account("kube-system", "slices", rbac_rules())
        .await
        .unwrap();
    let cluster = Cluster::new(control_plane.client().unwrap(), "shop").await;
    let flag = kubeconfig_flag(&control_plane, &account);
    let _manager = start_controller_manager(&control_plane).await;
    smoke(&cluster, &[&flag]).await;

    // Short watches: the API server checks permissions when a watch is opened.
    let program = start(&[&flag, "--disable-http2"]).await;
    program.wait_ready().await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client.clone());
    let name = format!("testenv:{}", account.name());
    let mut binding = bindings.get(&name).await.unwrap();
    bindings.delete(&name, &DeleteParams::default()).await.unwrap();
    for resource in ["pods", "services", "nodes", "endpointslices"] {
        let line = format!("[-]{resource} failed: {resource}");
        let (code, page) = program.wait_for_page("/readyz?verbose", &line).await.unwrap();
        assert_eq!(code, 200, "{page}");
    }
    assert_eq!(program.get("/readyz").await.unwrap(), (200, "ok".to_owned()));

    binding.metadata = kube::api::ObjectMeta {
        name: Some(name),
        ..Default::default()
    };
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    for resource in ["pods", "services", "nodes", "endpointslices"] {
        program
            .wait_for_page("/readyz?verbose", &format!("[+]{resource} ok "))
            .await
            .unwrap();
    }
    cluster.service("recovered", "web", json!({})).await;
    cluster.wait_published("recovered", &["10.1.0.2"]).await;
    program.stop().await.unwrap();
}

/// Without permissions the program waits and names them; without a server it waits too (F12).
#[tokio::test]
async fn missing_permissions_and_an_unreachable_server_are_reported() {
    let control_plane = ControlPlane::start().await.unwrap();
    let user = control_plane.user("unprivileged", Vec::new()).await.unwrap();
    let program = start(&[&kubeconfig_flag(&control_plane, &user)]).await;
    let line = "[-]permissions missing: list nodes, watch nodes, list pods, watch pods, list services, watch services, \
                get endpointslices.discovery.k8s.io, list endpointslices.discovery.k8s.io, \
                watch endpointslices.discovery.k8s.io, create endpointslices.discovery.k8s.io, \
                update endpointslices.discovery.k8s.io, delete endpointslices.discovery.k8s.io, update services/finalizers, \
                create events, patch events\n";
    program.wait_for_page("/readyz", line).await.unwrap();
    for resource in ["nodes", "pods", "services", "endpointslices"] {
        let line = format!("[-]{resource} failed: {resource}");
        let (code, page) = program.wait_for_page("/readyz", &line).await.unwrap();
        assert_eq!(code, 500, "{page}");
    }
    program.stop().await.unwrap();

    control_plane.apiserver().stop().await.unwrap();
    let program = start(&[&kubeconfig_flag(&control_plane, control_plane.admin())]).await;
    let (code, page) = program.wait_for_page("/readyz", "[-]pods failed: ").await.unwrap();
    assert_eq!(code, 500, "{page}");
    program
        .process
        .wait_for_output("list or watch failed, retrying")
        .await
        .unwrap();
    program.stop().await.unwrap();
}
