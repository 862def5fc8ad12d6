//! The command in `docs/operate.md`.

use std::{path::Path, process::Command};

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use testenv::{
    ControlPlane,
    assets::{self, Program},
};

/// A flag that is set by the documented command stays when the manifests are applied again.
#[tokio::test]
async fn documented_environment_variable_stays_when_manifests_are_applied_again() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let apply = "kubectl apply --server-side -k deploy/endpointslice";
    let document = include_str!("../../../../docs/operate.md");
    let documented = document
        .split('`')
        .find(|code| code.starts_with("kubectl ") && code.contains(" set env "));
    let commands = [apply, documented.unwrap(), apply];
    tokio::task::spawn_blocking(move || {
        let assets = assets::ensure(&[Program::Kubectl], &mut |line| eprintln!("{line}")).unwrap();
        for command in commands {
            let mut kubectl = Command::new(assets.path(Program::Kubectl));
            kubectl.args(command.split_whitespace().skip(1));
            kubectl.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
            kubectl.env("KUBECONFIG", &kubeconfig.path).env("HOME", "/nonexistent");
            let output = kubectl.output().unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
        }
    })
    .await
    .unwrap();
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
