//! The files of `deploy/`.

use kube::core::DynamicObject;
use serde_json::json;

use crate::{Controller, Options, chart, controller_objects, kind, monitoring, shared_objects, yaml};

/// The directories in `deploy/` that hold generated files, and no others.
pub const GENERATED_DIRECTORIES: [&str; 6] = ["all", "chart", "endpointslice", "mirroring", "monitoring", "shared"];

/// Every generated file: its path relative to `deploy/`, and its content.
///
/// A kustomization may include a directory only once. So the objects of each controller have one of their own, without what both
/// share.
#[must_use]
pub fn files() -> Vec<(String, String)> {
    let mut files = directory("shared", &shared_objects());
    for controller in Controller::ALL {
        let name = controller.short_name();
        let objects = controller_objects(controller, &Options::default());
        files.extend(directory(&format!("{name}/controller"), &objects));
        files.push(kustomization(name, &["../shared", "controller"]));
    }
    let controllers = Controller::ALL.map(|controller| format!("../{}/controller", controller.short_name()));
    let all: Vec<&str> = ["../shared"]
        .into_iter()
        .chain(controllers.iter().map(String::as_str))
        .collect();
    files.push(kustomization("all", &all));
    files.extend(monitoring_files());
    files.extend(chart::files());
    files
}

/// Alerts have a kustomization for each controller: one that is not installed has no leader.
fn monitoring_files() -> Vec<(String, String)> {
    let mut files = directory("monitoring/shared", &monitoring::shared_objects());
    let mut names = vec!["shared"];
    for controller in Controller::ALL {
        let name = controller.short_name();
        files.extend(directory(
            &format!("monitoring/{name}"),
            &[monitoring::prometheus_rule(controller)],
        ));
        names.push(name);
    }
    files.push(kustomization("monitoring", &names));
    files
}

/// A kustomization and one file for each kind of object.
fn directory(path: &str, objects: &[DynamicObject]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut names = Vec::new();
    for group in objects.chunk_by(|one, other| kind(one) == kind(other)) {
        let name = format!("{}.yaml", kebab_case(kind(&group[0])));
        files.push((format!("{path}/{name}"), yaml::file(group)));
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    files.push(kustomization(path, &names));
    files
}

fn kustomization(path: &str, resources: &[&str]) -> (String, String) {
    let content = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    });
    (format!("{path}/kustomization.yaml"), yaml::file(&[content]))
}

/// `ClusterRole` → `cluster-role`.
fn kebab_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(character.to_lowercase());
    }
    text
}
