//! The programs run with the `ServiceAccounts` and flags of their Deployments.

use std::{fs, path::PathBuf};

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenReview, TokenReviewSpec},
    authorization::v1::{NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
    coordination::v1::Lease,
    core::v1::{Secret, ServiceAccount},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
    config::AuthInfo,
};
use manifests::{Controller, LEASE_NAMESPACE, NAMESPACE, Options, monitoring_objects, objects};
use tempfile::TempDir;
use testenv::{ControlPlane, ControllerProcess, SecureClient, until};

use super::{
    api_server::{apply, create_monitoring_kinds},
    fixtures, id,
};

/// The `ServiceAccount` whose token Prometheus sends.
const READER: &str = "endpointslice-metrics-reader";

/// The token of an applied `ServiceAccount`.
async fn token(client: &Client, account: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let params = PostParams::default();
    let created = accounts
        .create_token_request(account, &params, &TokenRequest::default())
        .await;
    created.unwrap().status.unwrap().token.unwrap()
}

/// Whether a `ServiceAccount` may send a request.
async fn is_allowed(client: &Client, account: &str, request: SubjectAccessReviewSpec) -> bool {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{NAMESPACE}:{account}")),
            ..request
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &review).await.unwrap();
    review.status.unwrap().allowed
}

/// The request that creates such an object.
fn create(group: &str, resource: &str) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        resource_attributes: Some(ResourceAttributes {
            namespace: Some(LEASE_NAMESPACE.to_owned()),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            verb: Some("create".to_owned()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

fn read_metrics() -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some("/metrics".to_owned()),
            verb: Some("get".to_owned()),
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

/// Applies everything, and waits until the rights are in effect: the API server caches roles and bindings.
async fn deploy(client: &Client, shadow: bool) {
    create_monitoring_kinds(client).await;
    let options = Options {
        shadow,
        ..Options::default()
    };
    apply(client, &objects(&Controller::ALL, &options)).await;
    apply(client, &monitoring_objects(&Controller::ALL)).await;
    let mut expected = vec![(READER, read_metrics())];
    for name in Controller::ALL.map(Controller::name) {
        expected.push((name, create("authorization.k8s.io", "subjectaccessreviews")));
        if !shadow {
            expected.push((name, create("coordination.k8s.io", "leases")));
        }
    }
    for (account, request) in expected {
        until("rules in effect", async || {
            is_allowed(client, account, request.clone()).await
        })
        .await
        .unwrap();
    }
}

/// A kubeconfig with a token, in a directory.
fn kubeconfig(control_plane: &ControlPlane, token: &str) -> (PathBuf, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let token_file = directory.path().join("token");
    fs::write(&token_file, token).unwrap();
    let mut content = control_plane.kubeconfig(control_plane.admin()).unwrap().content;
    content.auth_infos[0].auth_info = Some(AuthInfo {
        token_file: Some(token_file.to_str().unwrap().to_owned()),
        ..AuthInfo::default()
    });
    let path = directory.path().join("kubeconfig");
    fs::write(&path, serde_json::to_string(&content).unwrap()).unwrap();
    (path, directory)
}

/// Each program has all permissions that it needs, leads, and serves its metrics to the token of the `PodMonitor`; as a shadow it
/// has no Lease and may not write.
async fn programs_run(shadow: bool) {
    let names = Controller::ALL.map(Controller::name);
    let programs = tokio::task::spawn_blocking(move || testenv::build(&names));
    let programs = programs.await.unwrap().unwrap();
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    deploy(&client, shadow).await;
    let reader = token(&client, READER).await;
    for (controller, program) in Controller::ALL.into_iter().zip(programs) {
        let name = controller.name();
        let (kubeconfig, _directory) = kubeconfig(&control_plane, &token(&client, name).await);
        let (mut args, port) = fixtures::args(controller, shadow);
        args.push(format!("--kubeconfig={}", kubeconfig.display()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let process = ControllerProcess::start(program, &args).await.unwrap();
        process.wait_ready().await.unwrap();
        let permissions = process.wait_for_page("/readyz?verbose", "[+]permissions ok\n");
        permissions.await.unwrap();
        let leads = format!("leader_election_master_status{{name=\"{name}\"}} 1");
        if shadow {
            assert!(!is_allowed(&client, name, create("discovery.k8s.io", "endpointslices")).await);
        } else {
            process.wait_for_page("/metrics", &leads).await.unwrap();
        }
        let metrics = SecureClient::new(port, None, Some(&reader)).unwrap();
        let (code, page) = metrics.get("/metrics").await.unwrap();
        assert_eq!(code, 200, "{page}");
        assert_eq!(page.contains(&leads), !shadow, "{page}");
        process.stop().await.unwrap();
    }
    let leases: Api<Lease> = Api::namespaced(client, LEASE_NAMESPACE);
    let leases = leases.list(&ListParams::default()).await.unwrap();
    let found = leases.iter().filter_map(|lease| lease.metadata.name.as_deref());
    let found: Vec<&str> = found.filter(|name| names.contains(name)).collect();
    assert_eq!(found, if shadow { vec![] } else { names.to_vec() });
}

/// kube-controller-manager writes the token into the Secret, and kube-apiserver authenticates it as the account that may read
/// metrics.
#[tokio::test]
async fn the_secret_of_the_pod_monitor_gets_the_token_of_the_reader() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let key = control_plane.service_account_key_file();
    let argument = format!("--service-account-private-key-file={}", key.display());
    let controller = ["serviceaccount-token-controller"];
    let _controllers = control_plane
        .controller_manager(&controller, &[&argument])
        .await
        .unwrap();
    deploy(&client, false).await;
    let monitor = monitoring_objects(&Controller::ALL);
    let monitor = monitor
        .iter()
        .find(|object| id(object).starts_with("PodMonitor"))
        .unwrap();
    let credentials = &monitor.data["spec"]["podMetricsEndpoints"][0]["authorization"]["credentials"];
    let [name, field] = ["name", "key"].map(|part| credentials[part].as_str().unwrap());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let mut token = None;
    until("a token in the Secret", async || {
        let data = secrets.get(name).await.unwrap().data.unwrap_or_default();
        token = data.get(field).map(|token| String::from_utf8(token.0.clone()).unwrap());
        token.is_some()
    })
    .await
    .unwrap();
    let review = TokenReview {
        spec: TokenReviewSpec {
            token: token.unwrap(),
            ..TokenReviewSpec::default()
        },
        ..TokenReview::default()
    };
    let reviews: Api<TokenReview> = Api::all(client);
    let review = reviews.create(&PostParams::default(), &review).await.unwrap();
    let user = review.status.unwrap().user.unwrap().username;
    assert_eq!(user, Some(format!("system:serviceaccount:{NAMESPACE}:{READER}")));
}

#[tokio::test]
async fn programs_have_the_rights_they_need() {
    programs_run(false).await;
}

#[tokio::test]
async fn shadows_have_the_rights_they_need_and_no_lease() {
    programs_run(true).await;
}
