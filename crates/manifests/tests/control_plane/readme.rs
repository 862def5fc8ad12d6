//! The commands and the kustomizations in `deploy/README.md` work.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client, ResourceExt, api::ListParams};
use manifests::{Controller, Options, monitoring_objects, objects};
use serde_json::{Value, json};
use testenv::{ControlPlane, assets::Program, execute};

use super::{
    api_server::create_monitoring_kinds,
    by_id,
    tools::{deploy, parse, program},
};

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let text = fs::read_to_string(deploy("README.md")).unwrap();
    let start = format!("```{language}\n");
    let blocks = text.split(&start).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// The names of all Deployments of the cluster.
async fn deployments(client: &Client) -> Vec<String> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let deployments = deployments.list(&ListParams::default()).await.unwrap();
    deployments.iter().map(ResourceExt::name_any).collect()
}

/// The blocks are executed one after the other, as a reader does: those for kubectl, then those for Helm.
#[tokio::test]
async fn documented_commands_succeed() {
    let control_plane = ControlPlane::start().await.unwrap();
    // Deletes namespaces, which kubectl waits for.
    let _controllers = control_plane
        .controller_manager(&["namespace-controller"], &[])
        .await
        .unwrap();
    let client = control_plane.client().unwrap();
    create_monitoring_kinds(&client).await;
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let mut left = Vec::new();
    for block in blocks("sh") {
        for line in block.lines() {
            let output = execute(line, &kubeconfig.path).await.unwrap();
            assert!(output.status.success(), "{line}: {output:?}");
        }
        left.push(deployments(&client).await);
    }
    let both = Controller::ALL.map(|controller| controller.name().to_owned()).to_vec();
    let one = vec![Controller::EndpointSlice.name().to_owned()];
    let none = Vec::new();
    assert_eq!(
        left.iter().collect::<Vec<_>>(),
        [&both, &both, &one, &none, &both, &one, &none],
        "after each block: apply, monitoring, one controller, delete; install, upgrade, uninstall"
    );
}

/// The objects of a kustomization in a directory beside `deploy`.
fn own_kustomization(content: &str) -> BTreeMap<String, Value> {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("kustomization.yaml"), content).unwrap();
    copy(&deploy(""), &directory.path().join("deploy"));
    by_id(parse(
        &program(Program::Kubectl).arg("kustomize").arg(own).output().unwrap(),
    ))
}

#[test]
fn documented_kustomization_changes_images_and_replicas() {
    let snippets = blocks("yaml");
    assert_eq!(snippets.len(), 2);
    let rendered = own_kustomization(&snippets[0]);
    for controller in Controller::ALL {
        let name = controller.name();
        let options = Options {
            image: Some(format!("registry.example.com/{name}:{}", manifests::VERSION)),
            replicas: 1,
            shadow: false,
        };
        for (id, object) in by_id(objects(&[controller], &options)) {
            assert_eq!(rendered[&id], object);
        }
    }
}

#[test]
fn documented_kustomization_adds_the_label_by_which_prometheus_selects() {
    let rendered = own_kustomization(&blocks("yaml")[1]);
    let mut expected = by_id(monitoring_objects(&Controller::ALL));
    for object in expected.values_mut() {
        object["metadata"]["labels"]["release"] = json!("kube-prometheus-stack");
    }
    assert_eq!(rendered, expected);
}

fn copy(from: &Path, to: &Path) {
    assert!(
        Command::new("cp")
            .arg("-r")
            .args([from, to])
            .status()
            .unwrap()
            .success()
    );
}
