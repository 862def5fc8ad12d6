//! `cargo xtask deploy` on a real control plane with a scheduler and fake nodes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

use std::path::Path;

use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{Namespace, Pod, Service},
    discovery::v1::EndpointSlice,
    flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use testenv::{Cluster, ControlPlane, KubeconfigFile, TestProcess, objects::create, rule, until};

const NAMESPACE: &str = "endpointslice-system";
const PART_OF: &str = "app.kubernetes.io/part-of=endpointslice-rs";
const PROGRAMS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

fn start(kubeconfig: &Path, args: &[&str]) -> TestProcess {
    let kubeconfig = kubeconfig.to_str().unwrap();
    TestProcess::start(env!("CARGO_BIN_EXE_deploy"), args, &[("KUBECONFIG", kubeconfig)]).unwrap()
}

/// Runs the command. Returns whether it succeeded, and its output.
async fn deploy(kubeconfig: &KubeconfigFile, args: &[&str]) -> (bool, String) {
    let process = start(&kubeconfig.path, args);
    let status = process.wait().await.unwrap();
    (status.success(), process.output())
}

/// All our objects that are not in our namespace, and the namespace.
async fn installed(client: &Client) -> Vec<String> {
    let ours = ListParams::default().labels(PART_OF);
    macro_rules! names {
        ($($kind:ty),*) => {{
            let mut names = Vec::new();
            $(
                let listed = Api::<$kind>::all(client.clone()).list(&ours).await.unwrap();
                names.extend(listed.iter().map(|object| object.name_any()));
            )*
            names
        }};
    }
    names!(
        Namespace,
        ClusterRole,
        ClusterRoleBinding,
        Role,
        RoleBinding,
        FlowSchema,
        PriorityLevelConfiguration
    )
}

/// Names and versions of all slices outside our namespace.
async fn slices(client: &Client) -> Vec<(String, String)> {
    let slices = Api::<EndpointSlice>::all(client.clone())
        .list(&ListParams::default())
        .await
        .unwrap();
    let others = slices
        .into_iter()
        .filter(|slice| slice.namespace().as_deref() != Some(NAMESPACE));
    others
        .map(|slice| (slice.name_any(), slice.resource_version().unwrap()))
        .collect()
}

async fn deployment(client: &Client, name: &str) -> Option<Deployment> {
    Api::namespaced(client.clone(), NAMESPACE).get_opt(name).await.unwrap()
}

fn arguments(deployment: &Deployment) -> &[String] {
    let pod = deployment.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    pod.containers[0].args.as_deref().unwrap_or_default()
}

/// A slice with our managed-by value, as a controller leaves it behind.
async fn create_slice(client: &Client) {
    let labels = json!({
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    });
    let slice =
        json!({"metadata": {"name": "web-1", "labels": labels}, "addressType": "IPv4", "endpoints": [], "ports": []});
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    create(&slices, slice).await.unwrap();
}

#[tokio::test]
async fn controllers_are_installed_upgraded_and_removed() {
    let cluster = Cluster::start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = cluster
        .control_plane()
        .kubeconfig(cluster.control_plane().admin())
        .unwrap();
    create_slice(&client).await;
    let before = slices(&client).await;

    let (success, output) = deploy(&admin, &["--dry-run"]).await;
    assert!(success && output.contains("would be created"), "{output}");
    assert_eq!(installed(&client).await, [""; 0], "a dry run changes nothing");

    let (success, output) = deploy(&admin, &[]).await;
    assert!(success, "{output}");
    for program in PROGRAMS {
        assert!(output.contains(&format!("{program}: rolled out")), "{output}");
        assert!(output.contains(&format!("target/images/{program}.tar")), "{output}");
        let deployment = deployment(&client, program).await.unwrap();
        assert_eq!(deployment.status.unwrap().available_replicas, Some(2), "{program}");
    }

    let (success, output) = deploy(&admin, &[]).await;
    assert!(
        success && !output.contains(" changed") && !output.contains(" created"),
        "{output}"
    );
    let (success, output) = deploy(
        &admin,
        &["--dry-run", "--endpointslice", "--image", "example.test/other:2"],
    )
    .await;
    let changed: Vec<_> = output
        .lines()
        .filter(|line| line.ends_with("would be changed"))
        .collect();
    assert!(success, "{output}");
    assert_eq!(changed, ["deployments.apps/endpointslice-controller would be changed"]);

    let (success, output) = deploy(&admin, &["--image", "example.test/{name}:2"]).await;
    assert!(success && !output.contains("target/images"), "{output}");
    let (success, output) = deploy(&admin, &["--dry-run"]).await;
    assert!(success && !output.contains("would be"), "{output}");
    for program in PROGRAMS {
        let kept = format!("{program}: keeps its image example.test/{program}:2; --image changes it");
        assert!(output.contains(&kept), "{output}");
    }

    let (success, output) = deploy(&admin, &["--shadow"]).await;
    assert!(!success && output.contains("--shadow would turn it off"), "{output}");

    let (success, output) = deploy(&admin, &["--delete", "--mirroring"]).await;
    assert!(success, "{output}");
    assert!(
        deployment(&client, PROGRAMS[0]).await.is_some(),
        "the other controller remains"
    );
    assert!(installed(&client).await.contains(&NAMESPACE.to_owned()));

    // Of deploy/monitoring, which kubectl applies.
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "endpointslice-rs:metrics-reader"});
    let labels = json!({"app.kubernetes.io/part-of": "endpointslice-rs"});
    let binding = json!({"metadata": {"name": "endpointslice-rs:metrics-reader", "labels": labels}, "roleRef": role});
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(&bindings, binding).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    create(&leases, json!({"metadata": {"name": PROGRAMS[0]}}))
        .await
        .unwrap();
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success && output.contains("EndpointSlices remain"), "{output}");
    assert_eq!(installed(&client).await, [""; 0], "{output}");
    assert!(leases.get_opt(PROGRAMS[0]).await.unwrap().is_none());
    assert_eq!(slices(&client).await, before);
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success && output.contains("0 objects deleted"), "{output}");
}

/// The arguments of the commands in docs/migrate.md, in their order.
fn documented_commands() -> Vec<Vec<&'static str>> {
    let blocks = include_str!("../../../docs/migrate.md").split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    // The images of the test need not exist: no node runs them.
    let ours = lines.filter(|&line| line != "cargo xtask image");
    let arguments = ours.map(|line| {
        line.strip_prefix("cargo xtask deploy")
            .unwrap_or_else(|| panic!("{line}"))
    });
    arguments
        .map(|arguments| arguments.split_whitespace().collect())
        .collect()
}

#[tokio::test]
async fn the_documented_migration_works_and_is_refused_beside_the_built_in_controllers() {
    let cluster = Cluster::start().await.unwrap();
    let control_plane = cluster.control_plane();
    let built_in = control_plane.controller_manager(&PROGRAMS, &[]).await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let commands = documented_commands();
    let [shadow, install, delete] = commands.as_slice() else {
        panic!("{commands:?}");
    };

    let (success, output) = deploy(&admin, install).await;
    assert!(!success, "{output}");
    for text in [
        "nothing was applied",
        "kube-controller-manager writes slices",
        "kubeadm",
        "kind",
        "k3s",
        "Talos",
        "--shadow",
        "-endpointslice-controller,-endpointslice-mirroring-controller",
    ] {
        assert!(output.contains(text), "{text}: {output}");
    }
    assert_eq!(installed(&client).await, [""; 0]);
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let left = services.list(&ListParams::default()).await.unwrap();
    let left: Vec<_> = left.iter().map(kube::ResourceExt::name_any).collect();
    assert_eq!(left, ["kubernetes"], "the Service of the check is deleted");

    let (success, output) = deploy(&admin, shadow).await;
    assert!(success && output.contains("grep difference"), "{output}");
    for program in PROGRAMS {
        let deployment = deployment(&client, program).await.unwrap();
        assert!(
            arguments(&deployment).contains(&"--dry-run=true".to_owned()),
            "{program}"
        );
        assert_eq!(deployment.status.unwrap().available_replicas, Some(1), "{program}");
    }

    built_in.stop().await.unwrap();
    let (success, output) = deploy(&admin, install).await;
    assert!(success, "{output}");
    for program in PROGRAMS {
        let deployment = deployment(&client, program).await.unwrap();
        assert!(
            !arguments(&deployment).contains(&"--dry-run=true".to_owned()),
            "{program}"
        );
    }
    let (success, output) = deploy(&admin, delete).await;
    assert!(success, "{output}");
    assert_eq!(installed(&client).await, [""; 0], "{output}");
}

/// One line names the cause, and nothing is applied.
#[tokio::test]
async fn without_context_or_rights_nothing_is_applied() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let (success, output) = deploy(&admin, &["--context", "missing"]).await;
    assert!(
        !success && output.contains("the kubeconfig has no context missing; it has "),
        "{output}"
    );
    assert_eq!(output.lines().count(), 1, "{output}");

    let reader = rule(&["*"], &["*"], &["get", "list"]);
    let reader = control_plane.user("reader", vec![reader]).await.unwrap();
    let reader = control_plane.kubeconfig(&reader).unwrap();
    for args in [&[][..], &["--shadow"], &["--dry-run"]] {
        let (success, output) = deploy(&reader, args).await;
        assert!(!success && output.contains("error: nothing was applied: "), "{output}");
        assert!(output.contains("this user may not create deployments"), "{output}");
        assert!(output.contains("cannot apply clusterroles"), "{output}");
    }
    assert_eq!(installed(&client).await, [""; 0]);
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_ends_the_wait_with_the_reason() {
    let cluster = Cluster::start().await.unwrap();
    // The pods stay as the scheduler leaves them.
    cluster.kwok().stop().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = cluster
        .control_plane()
        .kubeconfig(cluster.control_plane().admin())
        .unwrap();
    let process = start(&admin.path, &["--mirroring", "--image", "example.test/missing:1"]);

    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut names = Vec::new();
    until("a pod is scheduled", async || {
        let listed = pods.list(&ListParams::default()).await;
        let scheduled = listed.into_iter().flatten();
        let scheduled = scheduled.filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()));
        names = scheduled.map(|pod| pod.name_any()).collect();
        !names.is_empty()
    })
    .await
    .unwrap();
    let waiting = json!({"reason": "ImagePullBackOff", "message": "not found"});
    let container = json!({"name": PROGRAMS[1], "image": "example.test/missing:1", "imageID": "", "ready": false,
        "restartCount": 0, "state": {"waiting": waiting}});
    let status = json!({"status": {"phase": "Pending", "containerStatuses": [container]}});
    let patched = pods
        .patch_status(&names[0], &PatchParams::default(), &Patch::Merge(status))
        .await;
    patched.unwrap();

    let status = process.wait().await.unwrap();
    let output = process.output();
    assert!(!status.success(), "{output}");
    assert!(
        output.contains("cannot pull the image example.test/missing:1 (ImagePullBackOff: not found)"),
        "{output}"
    );
    assert!(output.contains("cargo xtask deploy --delete"), "{output}");

    // The pods with the missing image are still there.
    cluster.kwok().start().await.unwrap();
    let (success, output) = deploy(&admin, &["--mirroring", "--image", "example.test/present:1"]).await;
    assert!(success, "{output}");
}

/// The chart can be installed in another namespace. What has no namespace would be shared.
#[tokio::test]
async fn controllers_in_another_namespace_are_not_changed() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "endpointslice-rs:endpointslice-controller"});
    let subject = json!({"kind": "ServiceAccount", "namespace": "elsewhere", "name": PROGRAMS[0]});
    let binding = json!({"metadata": {"name": "endpointslice-rs:endpointslice-controller"}, "roleRef": role, "subjects": [subject]});
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(&bindings, binding).await.unwrap();
    for args in [&[][..], &["--delete"]] {
        let (success, output) = deploy(&admin, args).await;
        assert!(!success, "{output}");
        assert!(
            output.contains("nothing was changed: the controllers are installed in the namespace elsewhere"),
            "{output}"
        );
    }
    assert_eq!(installed(&client).await, [""; 0]);
}
