//! The example `annotated_pods` as a program: flags, logs, health, metrics, shutdown and slices.

use k8s_openapi::api::{
    core::v1::{Event, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testenv::{
    ControlPlane, ControllerProcess,
    objects::{create, slices_of},
    until,
};

const NAMESPACE: &str = "default";
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

async fn start(control_plane: &ControlPlane) -> ControllerProcess {
    let selection = ["--package", "slice-runtime", "--example", "annotated_pods"];
    let program = devtools::build(&selection, &["annotated_pods"]).unwrap().remove(0);
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    let program = ControllerProcess::start(program, &[&flag]).await.unwrap();
    program.wait_ready().await.unwrap();
    program
}

/// A pod with a network status, ready.
async fn put_pod(client: &Client, name: &str, app: &str, status: &Value) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": app}, "annotations": {STATUS: status.to_string()}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "example.com/c"}]},
    });
    create(&pods, pod).await.unwrap();
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&ready))
        .await
        .unwrap();
}

async fn annotate(client: &Client, pod: &str, status: &Value) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let annotation = json!({"metadata": {"annotations": {STATUS: status.to_string()}}});
    pods.patch(pod, &PatchParams::default(), &Patch::Merge(&annotation))
        .await
        .unwrap();
}

/// The addresses in all slices of the Service with their pods, sorted.
fn published(slices: &[EndpointSlice]) -> Vec<(String, String)> {
    let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
    let mut published: Vec<_> = endpoints
        .map(|endpoint| {
            let target = endpoint.target_ref.as_ref().unwrap();
            (endpoint.addresses[0].clone(), target.name.clone().unwrap())
        })
        .collect();
    published.sort();
    published
}

async fn until_published(client: &Client, expected: &[(&str, &str)]) -> Vec<EndpointSlice> {
    let expected: Vec<_> = expected
        .iter()
        .map(|(ip, pod)| ((*ip).to_owned(), (*pod).to_owned()))
        .collect();
    let mut slices = Vec::new();
    until(&format!("{expected:?} are published"), async || {
        slices = slices_of(client, NAMESPACE, "rtp").await.unwrap();
        published(&slices) == expected
    })
    .await
    .unwrap();
    slices
}

/// Networks that are attached and detached, invalid input, and a Service that is deleted (C-MUL-01, -08, -12, -13, -15, -17 and
/// -25).
#[tokio::test]
async fn annotated_pods_publishes_a_secondary_network_and_runs_as_a_program() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let service = json!({
        "metadata": {"name": "rtp", "annotations": {
            "k8s.v1.cni.cncf.io/service-network": "default/rtp-a", "example.com/pod-selector": "app=rtp",
        }},
        "spec": {"clusterIP": "None", "ports": [{"name": "media", "port": 5004, "protocol": "UDP"}]},
    });
    create(&services, service).await.unwrap();
    let default = json!({"name": "cbr0", "ips": ["10.0.1.7"], "default": true});
    let on = |network: &str, ips: &[&str]| json!({"name": network, "interface": "net1", "ips": ips});
    let ips = ["192.0.2.17/24", "2001:DB8:0::17", "fe80::1"];
    put_pod(&client, "a", "rtp", &json!([default, on("rtp-a", &ips)])).await;
    put_pod(
        &client,
        "b",
        "rtp",
        &json!([default, on("other/rtp-a", &["192.0.2.18"])]),
    )
    .await;
    put_pod(&client, "c", "other", &json!([on("rtp-a", &["192.0.2.19"])])).await;
    put_pod(&client, "d", "rtp", &json!("malformed")).await;

    let program = start(&control_plane).await;
    let slices = until_published(&client, &[("192.0.2.17", "a"), ("2001:db8::17", "a")]).await;
    let types: Vec<_> = slices.iter().map(|slice| slice.address_type.as_str()).collect();
    assert_eq!(types.len(), 2, "{types:?}");
    for slice in &slices {
        let slice = json!(slice);
        let managed_by = "endpointslice.kubernetes.io/managed-by";
        assert_eq!(
            slice["metadata"]["labels"][managed_by],
            "network-status-controller.example.com"
        );
        assert_eq!(slice["metadata"]["ownerReferences"][0]["name"], "rtp");
        assert_eq!(
            slice["ports"],
            json!([{"name": "media", "port": 5004, "protocol": "UDP"}])
        );
        assert_eq!(
            slice["endpoints"][0]["conditions"],
            json!({"ready": true, "serving": true, "terminating": false})
        );
        assert_eq!(slice["endpoints"][0]["nodeName"], "node-1");
    }

    // A network attached later, and one detached.
    annotate(&client, "b", &json!([on("default/rtp-a", &["192.0.2.18"])])).await;
    annotate(&client, "a", &json!([default])).await;
    until_published(&client, &[("192.0.2.18", "b")]).await;

    let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
    until("events report rejected addresses", async || {
        let events = events.list(&kube::api::ListParams::default()).await.unwrap();
        let reasons: Vec<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
        ["NotPublished", "InvalidNetworkStatus"]
            .iter()
            .all(|reason| reasons.contains(reason))
    })
    .await
    .unwrap();
    let (_, metrics) = program.get("/metrics").await.unwrap();
    assert!(metrics.contains("annotated_pods_keys_failing 0"), "{metrics}");
    let (code, page) = program.get("/readyz?verbose").await.unwrap();
    assert_eq!(code, 200, "{page}");
    assert!(page.contains("[+]pods ok"), "{page}");

    services.delete("rtp", &DeleteParams::default()).await.unwrap();
    until_published(&client, &[]).await;
    let log = program.stop().await.unwrap();
    assert!(log.contains("slices written") && log.contains("stopped"), "{log}");
}
