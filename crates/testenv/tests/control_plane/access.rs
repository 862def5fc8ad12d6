//! Users, credentials and RBAC rules.

use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use testenv::{ControlPlane, Credentials, User, rule};

fn list_pods() -> Vec<PolicyRule> {
    vec![rule(&[""], &["pods"], &["list"])]
}

/// Status codes of listing pods and services.
async fn list_both(client: Client) -> (u16, u16) {
    fn code<T>(result: kube::Result<T>) -> u16 {
        match result {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error}"),
        }
    }
    let pods: Api<Pod> = Api::all(client.clone());
    let services: Api<Service> = Api::all(client);
    let params = ListParams::default();
    (code(pods.list(&params).await), code(services.list(&params).await))
}

async fn client_from_file(control_plane: &ControlPlane, user: &User) -> Client {
    let file = control_plane.kubeconfig(user).unwrap();
    let read = Kubeconfig::read_from(&file.path).unwrap();
    let values = [&read, &file.content].map(|config| serde_json::to_value(config).unwrap());
    assert_eq!(values[0], values[1]);
    let mode = std::fs::metadata(&file.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(read, &options).await.unwrap();
    assert!(!config.accept_invalid_certs);
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn users_have_exactly_the_access_of_their_rules() {
    let control_plane = ControlPlane::start().await.unwrap();
    let user = control_plane.user("jane", list_pods()).await.unwrap();
    let account = control_plane
        .service_account("kube-system", "robot", list_pods())
        .await
        .unwrap();
    let without_rules = control_plane.user("without-rules", Vec::new()).await.unwrap();
    assert_eq!(user.name(), "jane");
    assert_eq!(account.name(), "system:serviceaccount:kube-system:robot");
    assert!(matches!(user.credentials(), Credentials::ClientCertificate { .. }));
    assert!(matches!(account.credentials(), Credentials::Token(_)));

    for (user, expected) in [
        (control_plane.admin(), (200, 200)),
        (&user, (200, 403)),
        (&account, (200, 403)),
        (&without_rules, (403, 403)),
    ] {
        let client = control_plane.client_for(user).unwrap();
        assert_eq!(list_both(client).await, expected, "{}", user.name());
        let client = client_from_file(&control_plane, user).await;
        assert_eq!(list_both(client).await, expected, "{} by kubeconfig", user.name());
    }
}

#[tokio::test]
async fn clients_of_one_control_plane_do_not_trust_another() {
    let (one, two) = tokio::try_join!(ControlPlane::start(), ControlPlane::start()).unwrap();
    let stranger = one.client_at(one.admin(), two.url()).unwrap();
    let error = stranger.apiserver_version().await.unwrap_err();
    assert!(matches!(error, kube::Error::Service(_)), "{error}");
}
