//! Bad input: one line names the cause, and nothing is changed.

use apisim::{
    body::{BoxError, full},
    serve::HttpServer,
};
use http::Response;
use k8s_openapi::api::{core::v1::Namespace, rbac::v1::ClusterRoleBinding};
use kube::{Api, api::DeleteParams};
use serde_json::json;
use testenv::{ControlPlane, FaultProxy, objects::create, rule};

use crate::harness::{NAMESPACE, PROGRAMS, admin, deploy, installed, start_with};

/// The error, which must be one short line, the last one of the output.
fn error_line(output: &str) -> &str {
    let line = output.lines().last().unwrap();
    assert!(line.starts_with("error: ") && line.len() < 1_500, "{output}");
    line
}

#[tokio::test]
async fn without_context_or_rights_nothing_is_applied() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
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
        let error = error_line(&output);
        assert!(
            !success && error.starts_with("error: nothing was applied: this user may not "),
            "{output}"
        );
        for denied in [
            "create, patch deployments.apps (in endpointslice-system)",
            "create, patch namespaces",
        ] {
            assert!(error.contains(denied), "{output}");
        }
        assert_eq!(
            error.contains("create, delete services (in default)"),
            args.is_empty(),
            "{output}"
        );
    }
    assert_eq!(installed(&client).await, [""; 0]);

    // A user grants only the permissions that it has.
    let writer = rule(&["*"], &["*"], &["get", "list", "create", "patch", "delete"]);
    let writer = control_plane.user("writer", vec![writer]).await.unwrap();
    let writer = control_plane.kubeconfig(&writer).unwrap();
    let (success, output) = deploy(&writer, &["--shadow"]).await;
    let error = error_line(&output);
    assert!(
        !success && error.contains("nothing was applied: cannot apply clusterroles"),
        "{output}"
    );
    assert!(
        error.contains("attempting to grant RBAC permissions not currently held"),
        "{output}"
    );
    assert_eq!(installed(&client).await, [""; 0]);

    let namespaces: Api<Namespace> = Api::all(client.clone());
    create(&namespaces, json!({"metadata": {"name": NAMESPACE}}))
        .await
        .unwrap();
    let (success, output) = deploy(&reader, &["--delete"]).await;
    let error = error_line(&output);
    assert!(
        !success
            && error.contains("nothing was deleted: cannot delete namespaces/endpointslice-system: ")
            && error.contains("cannot delete resource"),
        "{output}"
    );
    assert!(
        namespaces
            .get(NAMESPACE)
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
}

/// kube-apiserver does not start without this API, so that another server responds to requests for the list of all APIs.
#[tokio::test]
async fn a_cluster_without_the_api_of_slices_is_named() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let mut apis = client.list_api_groups().await.unwrap();
    apis.groups.retain(|group| group.name != "discovery.k8s.io");
    let apis = serde_json::to_string(&apis).unwrap();
    let respond = move |_| std::future::ready(Ok::<_, BoxError>(Response::new(full(apis.clone()))));
    let server = HttpServer::start(tower::service_fn(respond)).await.unwrap();
    let address = format!("http://{}/apis", server.address());
    let proxy = FaultProxy::start(&control_plane).await.unwrap();
    proxy.redirect(move |_, path| (path.path() == "/apis").then(|| address.parse().unwrap()));
    let kubeconfig = proxy.kubeconfig(control_plane.admin()).unwrap();
    for args in [&[][..], &["--shadow"], &["--dry-run"]] {
        let (success, output) = deploy(&kubeconfig, args).await;
        assert!(!success, "{output}");
        assert_eq!(
            error_line(&output),
            "error: nothing was applied: the cluster does not serve discovery.k8s.io/v1; Kubernetes 1.29 or later does"
        );
    }
    assert_eq!(installed(&client).await, [""; 0]);
    let (success, output) = deploy(&kubeconfig, &["--delete"]).await;
    assert!(success && output.contains("0 objects deleted"), "{output}");
}

#[tokio::test]
async fn an_api_server_that_does_not_respond_is_named() {
    let control_plane = ControlPlane::start().await.unwrap();
    let admin = admin(&control_plane);
    control_plane.apiserver().kill().await.unwrap();
    let (success, output) = deploy(&admin, &[]).await;
    assert!(
        !success && error_line(&output).contains("cannot read the version of the API server https://127.0.0.1"),
        "{output}"
    );
}

/// As by kubectl. `tests/connect.rs` has the proxies that are used.
#[tokio::test]
async fn a_proxy_of_the_environment_is_not_used_for_an_api_server_on_this_machine() {
    let control_plane = ControlPlane::start().await.unwrap();
    let admin = admin(&control_plane);
    // Nothing listens there.
    let proxy = ("HTTPS_PROXY", "http://localhost:1");
    let process = start_with(&admin.path, &["--dry-run"], &[proxy]);
    let status = process.wait().await.unwrap();
    assert!(status.success(), "{}", process.output());
}

#[tokio::test]
async fn nothing_is_applied_while_the_namespace_is_being_deleted() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let held = json!({"metadata": {"name": NAMESPACE, "finalizers": ["example.test/hold"]}});
    create(&namespaces, held).await.unwrap();
    namespaces.delete(NAMESPACE, &DeleteParams::default()).await.unwrap();
    let (success, output) = deploy(&admin, &["--shadow"]).await;
    let error = error_line(&output);
    assert!(
        !success && error.contains("the namespace endpointslice-system is being deleted"),
        "{output}"
    );

    // Without a namespace controller, it is not deleted.
    let (success, output) = deploy(&admin, &["--delete", "--timeout", "1"]).await;
    let error = error_line(&output);
    assert!(
        !success && error.contains("still there after the timeout: the namespace endpointslice-system"),
        "{output}"
    );
    assert!(error.contains("run the command again to delete the rest"), "{output}");
}

#[tokio::test]
async fn controllers_of_a_helm_release_are_not_changed() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let annotations = json!({"meta.helm.sh/release-name": "slices", "meta.helm.sh/release-namespace": "kube-system"});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "endpointslice-rs:endpointslice-controller"});
    let metadata = json!({"name": "endpointslice-rs:endpointslice-controller", "annotations": annotations});
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(&bindings, json!({"metadata": metadata, "roleRef": role}))
        .await
        .unwrap();
    for args in [&[][..], &["--delete"]] {
        let (success, output) = deploy(&admin, args).await;
        let error = error_line(&output);
        assert!(
            !success && error.contains("`helm uninstall slices --namespace kube-system`"),
            "{output}"
        );
    }
}

/// The chart can be installed in another namespace. What has no namespace would be shared.
#[tokio::test]
async fn controllers_in_another_namespace_are_not_changed() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "endpointslice-rs:endpointslice-controller"});
    let subject = json!({"kind": "ServiceAccount", "namespace": "elsewhere", "name": PROGRAMS[0]});
    let binding = json!({"metadata": {"name": "endpointslice-rs:endpointslice-controller"}, "roleRef": role, "subjects": [subject]});
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    create(&bindings, binding).await.unwrap();
    for args in [&[][..], &["--delete"]] {
        let (success, output) = deploy(&admin, args).await;
        assert!(!success, "{output}");
        assert!(
            output.contains("nothing was changed: endpointslice-controller is installed in the namespace elsewhere"),
            "{output}"
        );
    }
    assert_eq!(installed(&client).await, [""; 0]);
}
