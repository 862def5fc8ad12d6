//! The commands in `docs/operate.md`.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use testenv::{ControlPlane, KubeconfigFile, execute, until};

use crate::secure_port::SecurePort;

const PAGE: &str = include_str!("../../../../docs/operate.md");

/// Executes a command, and returns what it prints.
async fn succeed(line: &str, kubeconfig: &KubeconfigFile) -> String {
    let output = execute(line, &kubeconfig.path).await.unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A flag that is set by the documented command stays when the manifests are applied again.
#[tokio::test]
async fn documented_environment_variable_stays_when_manifests_are_applied_again() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let apply = "kubectl apply --server-side -k deploy/endpointslice";
    let documented = PAGE
        .split('`')
        .find(|code| code.starts_with("kubectl ") && code.contains(" set env "));
    let documented = documented.unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [apply, &documented, apply] {
        succeed(command, &kubeconfig).await;
    }
    let deployments: Api<Deployment> = Api::namespaced(client, "endpointslice-system");
    let deployment = deployments.get("endpointslice-controller").await.unwrap();
    let pod = deployment.spec.unwrap().template.spec.unwrap();
    let variables = pod.containers[0].env.as_deref().unwrap_or_default();
    let set = variables.iter().find(|variable| variable.name == "ENDPOINTSLICE_V");
    assert_eq!(
        set.and_then(|variable| variable.value.as_deref()),
        Some("4"),
        "{variables:?}"
    );
}

/// The commands in the only block, of which the last one prints the token.
#[tokio::test]
async fn documented_token_permits_the_debug_state_and_no_metrics() {
    let control_plane = ControlPlane::start().await.unwrap();
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    succeed("kubectl apply --server-side -k deploy/endpointslice", &kubeconfig).await;
    let account = control_plane.token_of("endpointslice-system", "endpointslice-controller");
    let secure = SecurePort::start(&control_plane, &account.await.unwrap()).await;
    let [_, block] = PAGE.split("```sh\n").collect::<Vec<_>>()[..] else {
        panic!("one block of commands expected");
    };
    let mut printed = String::new();
    for line in block.split("```").next().unwrap().lines() {
        printed = succeed(line, &kubeconfig).await;
    }
    let token = Some(printed.trim());
    until("the permission is in effect", async || {
        secure.status("/debug/state", token).await == 200
    })
    .await
    .unwrap();
    assert_eq!(secure.status("/metrics", token).await, 403);
}
