//! kubectl's kustomize and Helm render the same objects.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use kube::core::DynamicObject;
use manifests::{Controller, NAMESPACE, Options, VERSION, monitoring_objects, objects};
use serde_json::{Value, json};
use testenv::assets::{self, Program};

use super::{by_id, id};

/// A path in `deploy/`.
pub(crate) fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

pub(crate) fn program(program: Program) -> Command {
    let assets = assets::ensure(&[program], &mut |line| eprintln!("{line}")).unwrap();
    let mut command = Command::new(assets.path(program));
    // Neither configuration nor plugins of the user.
    command.env_clear().env("HOME", "/nonexistent");
    command
}

pub(crate) fn parse(output: &Output) -> Vec<DynamicObject> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_saphyr::from_multiple(&text).unwrap()
}

/// The objects of a kustomization in `deploy/`.
pub(crate) fn kustomize(path: &str) -> Vec<DynamicObject> {
    parse(
        &program(Program::Kubectl)
            .arg("kustomize")
            .arg(deploy(path))
            .output()
            .unwrap(),
    )
}

fn helm(arguments: &[&str]) -> Output {
    let chart = deploy("chart/endpointslice-rs");
    program(Program::Helm)
        .args(["template", "endpointslice-rs"])
        .arg(chart)
        .args(arguments)
        .output()
        .unwrap()
}

/// The objects of the chart with some values.
fn render(arguments: &[&str]) -> Vec<DynamicObject> {
    parse(&helm(arguments))
}

#[test]
fn kustomizations_have_the_objects_of_the_library() {
    let options = Options::default();
    for (path, expected) in [
        ("all", objects(&Controller::ALL, &options)),
        ("endpointslice", objects(&[Controller::EndpointSlice], &options)),
        ("mirroring", objects(&[Controller::Mirroring], &options)),
        ("monitoring", monitoring_objects(&Controller::ALL)),
    ] {
        assert_eq!(by_id(kustomize(path)), by_id(expected), "{path}");
    }
}

/// What is removed, or added, for one of two controllers.
#[test]
fn directories_of_one_controller_have_its_objects_only() {
    for (name, controller) in [
        ("endpointslice", Controller::EndpointSlice),
        ("mirroring", Controller::Mirroring),
    ] {
        let own = kustomize(&format!("{name}/controller"));
        let all = own.iter().cloned().chain(kustomize("shared"));
        assert_eq!(by_id(all), by_id(objects(&[controller], &Options::default())), "{name}");
        assert!(
            own.iter().all(|object| id(object).contains(controller.name())),
            "{name}"
        );

        let monitoring = kustomize("monitoring/shared").into_iter();
        let monitoring = monitoring.chain(kustomize(&format!("monitoring/{name}")));
        assert_eq!(by_id(monitoring), by_id(monitoring_objects(&[controller])), "{name}");
    }
}

#[test]
fn chart_renders_the_objects_of_the_kustomizations() {
    assert_eq!(by_id(render(&[])), by_id(kustomize("all")));
    for (disabled, path) in [("mirroring", "endpointslice"), ("endpointslice", "mirroring")] {
        let rendered = render(&["--set", &format!("{disabled}.enabled=false")]);
        assert_eq!(by_id(rendered), by_id(kustomize(path)), "{path}");
    }
    let both = kustomize("all").into_iter().chain(kustomize("monitoring"));
    assert_eq!(by_id(render(&["--set", "monitoring.enabled=true"])), by_id(both));
}

#[test]
fn values_of_the_chart_reach_the_deployments() {
    let values = [
        "endpointslice.image=registry.example/a:1",
        "endpointslice.replicas=3",
        "endpointslice.flags={--v=4,--logging-format=json}",
        "endpointslice.resources.limits.memory=1Gi",
        "scope.namespace=shop",
        r"scope.serviceSelector=a=b\,c=d",
        "imagePullPolicy=Always",
        "imagePullSecrets[0].name=registry",
        r"nodeSelector.kubernetes\.io/arch=arm64",
        r"nodeSelector.kubernetes\.io/os=linux",
        "namespace=elsewhere",
        "createNamespace=false",
        "monitoring.enabled=true",
        "monitoring.labels.release=prometheus",
    ];
    let arguments: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
    let rendered = by_id(render(&arguments));
    let spec = &rendered["Deployment elsewhere/endpointslice-controller"]["spec"];
    assert_eq!(spec["replicas"], 3);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["imagePullSecrets"][0]["name"], "registry");
    let selector = json!({"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"});
    assert_eq!(pod["nodeSelector"], selector);
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "registry.example/a:1");
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    let args: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let expected = [
        "--namespace=shop",
        "--service-selector=a=b,c=d",
        "--v=4",
        "--logging-format=json",
    ];
    assert_eq!(args[args.len() - 4..], expected);

    let other = &rendered["Deployment elsewhere/endpointslice-mirroring-controller"]["spec"];
    assert_eq!(other["replicas"], 2);
    let image = format!("endpointslice-mirroring-controller:{VERSION}");
    assert_eq!(other["template"]["spec"]["containers"][0]["image"], image);

    let rule = &rendered["PrometheusRule elsewhere/endpointslice-controller"];
    assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    // No object is left in the default namespace, except for those of the Leases.
    let is_outside = |id: &&String| !id.contains(" /") && !id.contains(" elsewhere/");
    let outside: Vec<&String> = rendered.keys().filter(is_outside).collect();
    assert!(outside.iter().all(|id| id.contains(" kube-system/")), "{outside:?}");
    assert_eq!(outside.len(), 4);
    assert!(!rendered.keys().any(|id| id.starts_with("Namespace")));
}

#[test]
fn a_namespace_of_digits_is_rendered_as_a_string() {
    let output = helm(&["--set-string", "namespace=43764", "--set", "monitoring.enabled=true"]);
    let text = String::from_utf8(output.stdout).unwrap();
    // Without a type, since a field of type string accepts a number here, in contrast to the API server.
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let namespaces = |object: &Value| {
        let subjects = object["subjects"].as_array().cloned().unwrap_or_default();
        let mut namespaces: Vec<_> = subjects.iter().map(|subject| subject["namespace"].clone()).collect();
        namespaces.push(object["metadata"]["namespace"].clone());
        namespaces
    };
    let namespaces: Vec<Value> = objects.iter().flat_map(namespaces).collect();
    assert!(namespaces.contains(&json!("43764")), "{namespaces:?}");
    assert!(!namespaces.contains(&json!(43764)), "{namespaces:?}");
}

#[test]
fn unknown_and_invalid_values_are_rejected() {
    for value in [
        "replicas=3",
        "mirroring.replicas=many",
        "endpointslice.flags={v}",
        "imagePullPolicy=Sometimes",
    ] {
        let output = helm(&["--set", value]);
        assert!(!output.status.success(), "{value} was accepted");
        let key = value.split('=').next().unwrap().rsplit('.').next().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(key), "{value}: {error}");
    }
}

/// The program would end at its start: clap rejects a flag that is given twice.
#[test]
fn flags_that_the_chart_sets_are_rejected() {
    let rejected = |values: &[&str]| {
        let arguments: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
        let output = helm(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() || error.contains("flags/0"),
            "{values:?}: {error}"
        );
        !output.status.success()
    };
    for (controller, name) in Controller::ALL.into_iter().zip(["endpointslice", "mirroring"]) {
        let (args, _) = super::fixtures::args(controller, false);
        for flag in ["--secure-port", "--leader-elect", "--leader-elect-resource-name"] {
            assert!(
                args.iter().any(|argument| argument.split('=').next() == Some(flag)),
                "{flag}"
            );
            assert!(rejected(&[&format!("{name}.flags={{{flag}=x}}")]), "{flag}");
            assert!(rejected(&[&format!("{name}.flags={{{flag}}}")]), "{flag}");
        }
        assert!(!rejected(&[&format!(
            "{name}.flags={{--leader-elect-lease-duration=30s}}"
        )]));
        for (scope, flag) in [
            ("scope.namespace", "--namespace"),
            ("scope.serviceSelector", "--service-selector"),
        ] {
            let flag = format!("{name}.flags={{{flag}=a}}");
            assert!(!rejected(&[&flag]), "{flag}");
            assert!(rejected(&[&flag, &format!("{scope}=b")]), "{flag}");
        }
    }
}

#[test]
fn a_release_in_the_namespace_that_the_chart_creates_is_rejected() {
    let output = helm(&["--namespace", NAMESPACE]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("createNamespace=false"),
        "{error}"
    );
    let rendered = by_id(render(&["--namespace", NAMESPACE, "--set", "createNamespace=false"]));
    assert!(
        !rendered
            .keys()
            .any(|id| id.starts_with("Namespace") || id.starts_with("ResourceQuota"))
    );
    assert_eq!(by_id(render(&["--namespace", "kube-system"])), by_id(render(&[])));
}

#[test]
fn notes_name_the_built_in_controllers_that_the_values_replace() {
    let notes = |values: &[&str]| {
        let output = program(Program::Helm)
            .args(["install", "--dry-run=client", "endpointslice-rs"])
            .arg(deploy("chart/endpointslice-rs"))
            .args(["--namespace", "kube-system"])
            .args(values)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_once("NOTES:").unwrap().1.to_owned()
    };
    let off = |controller: Controller| format!("--controllers of kube-controller-manager: -{}\n", controller.name());
    let both = notes(&[]);
    assert!(
        Controller::ALL
            .into_iter()
            .all(|controller| both.contains(&off(controller))),
        "{both}"
    );
    assert!(!both.contains("scope"), "{both}");
    let one = notes(&["--set", "mirroring.enabled=false", "--set", "scope.namespace=shop"]);
    assert!(one.contains(&off(Controller::EndpointSlice)), "{one}");
    assert!(
        one.contains("endpointslice-mirroring-controller is not installed"),
        "{one}"
    );
    assert!(!one.contains(&off(Controller::Mirroring)), "{one}");
    assert!(one.contains("outside of the scope"), "{one}");
}

#[test]
fn chart_passes_helm_lint() {
    let output = program(Program::Helm)
        .args(["lint", "--strict"])
        .arg(deploy("chart/endpointslice-rs"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
