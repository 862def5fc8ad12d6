//! kube-apiserver puts the requests of each controller on the intended priority level.

use http::{Method, Request};
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::{Api, Client, client::Body};
use manifests::{Controller, NAMESPACE, Options, objects};
use testenv::{ControlPlane, until};

use super::api_server::apply;

/// The uids of the `FlowSchema` and of the priority level by which a request was admitted, whatever the response.
async fn classified(client: &Client, method: &Method, path: &str) -> [String; 2] {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Body::from(b"{}".to_vec())).unwrap();
    let response = client.send(request).await.unwrap();
    ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"]
        .map(|name| response.headers()[name].to_str().unwrap().to_owned())
}

async fn uids(client: &Client, schema: &str, level: &str) -> [String; 2] {
    let schema = Api::<FlowSchema>::all(client.clone()).get(schema).await.unwrap();
    let level = Api::<PriorityLevelConfiguration>::all(client.clone()).get(level).await;
    [schema.metadata, level.unwrap().metadata].map(|metadata| metadata.uid.unwrap())
}

#[tokio::test]
async fn lease_requests_are_on_the_level_of_leader_election_and_others_on_that_of_the_controllers() {
    let control_plane = ControlPlane::start().await.unwrap();
    let admin = control_plane.client().unwrap();
    apply(&admin, &objects(&Controller::ALL, &Options::default())).await;
    for controller in Controller::ALL {
        let name = controller.name();
        let account = control_plane.token_of(NAMESPACE, name).await.unwrap();
        let client = control_plane.client_for(&account).unwrap();
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        let election = uids(&admin, &format!("{name}-leader-election"), "leader-election").await;
        let own = uids(&admin, name, "endpointslice-rs").await;
        let lease = format!("{leases}/{name}");
        until("kube-apiserver uses the new FlowSchemas", async || {
            classified(&client, &Method::GET, &lease).await == election
                && classified(&client, &Method::GET, "/version").await == own
        })
        .await
        .unwrap();
        for (method, path, expected) in [
            (Method::PUT, lease.as_str(), &election),
            (Method::POST, leases, &election),
            (
                Method::GET,
                "/apis/coordination.k8s.io/v1/namespaces/shop/leases/a",
                &own,
            ),
            (Method::GET, "/api/v1/pods", &own),
            (
                Method::POST,
                "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
                &own,
            ),
            (
                Method::POST,
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                &own,
            ),
        ] {
            assert_eq!(&classified(&client, &method, path).await, expected, "{method} {path}");
        }
    }
}
