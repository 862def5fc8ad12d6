//! The commands and the kustomization in `deploy/README.md` work.

use std::{fs, path::Path, process::Command};

use manifests::{Controller, Options, objects};
use testenv::{ControlPlane, assets::Program};

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

/// Each block has a control plane of its own.
#[tokio::test]
async fn documented_commands_succeed() {
    let blocks = blocks("sh");
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    for block in blocks {
        let control_plane = ControlPlane::start().await.unwrap();
        // Deletes namespaces, which kubectl waits for.
        let _controllers = control_plane
            .controller_manager(&["namespace-controller"], &[])
            .await
            .unwrap();
        create_monitoring_kinds(&control_plane.client().unwrap()).await;
        let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
        let home = tempfile::tempdir().unwrap();
        tokio::task::spawn_blocking(move || {
            for line in block.lines() {
                let mut words = line.split_whitespace();
                let mut command = match words.next() {
                    Some("kubectl") => program(Program::Kubectl),
                    Some("helm") => program(Program::Helm),
                    _ => panic!("{line} is not covered by this test"),
                };
                command.args(words).current_dir(deploy(".."));
                command.env("KUBECONFIG", &kubeconfig.path).env("HOME", home.path());
                let output = command.output().unwrap();
                assert!(
                    output.status.success(),
                    "{line}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        })
        .await
        .unwrap();
    }
}

#[test]
fn documented_kustomization_changes_images_and_replicas() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own");
    fs::create_dir(&own).unwrap();
    let snippets = blocks("yaml");
    assert_eq!(snippets.len(), 1);
    fs::write(own.join("kustomization.yaml"), &snippets[0]).unwrap();
    copy(&deploy(""), &directory.path().join("deploy"));
    let output = program(Program::Kubectl).arg("kustomize").arg(own).output().unwrap();
    let rendered = by_id(parse(&output));
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
