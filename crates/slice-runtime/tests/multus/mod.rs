//! The example `multus` as a program, with the objects of `docs/library.md`: flags, logs, health, metrics, shutdown and slices.

#[path = "../../examples/multus.rs"]
#[expect(dead_code, reason = "its main is not called")]
pub(crate) mod example;
pub(crate) mod page;

use std::path::PathBuf;

use k8s_openapi::api::{
    core::v1::{Event, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testenv::{
    ControllerProcess,
    objects::{create, slices_of},
    until,
};

pub(crate) const NAMESPACE: &str = "default";
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// Builds the example.
pub(crate) fn program() -> PathBuf {
    let selection = ["--package", "slice-runtime", "--example", "multus"];
    devtools::build(&selection, &["multus"]).unwrap().remove(0)
}

async fn start(args: &[&str]) -> ControllerProcess {
    let args = [&["--leader-elect=true"], args].concat();
    let program = ControllerProcess::start(program(), &args).await.unwrap();
    program.wait_ready().await.unwrap();
    program
}

/// A client with the objects of the example.
struct Objects {
    client: Client,
    pods: Api<Pod>,
    services: Api<Service>,
}

impl Objects {
    fn new(client: Client) -> Self {
        Self {
            pods: Api::namespaced(client.clone(), NAMESPACE),
            services: Api::namespaced(client.clone(), NAMESPACE),
            client,
        }
    }

    /// Creates a ready pod with a network status, if any, and a port `rtcp`.
    async fn create_pod(&self, name: &str, app: &str, status: Option<String>, rtcp: u16) {
        let ports = [json!({"name": "rtcp", "containerPort": rtcp, "protocol": "UDP"})];
        let mut pod = json!({
            "metadata": {"name": name, "labels": {"app": app}, "annotations": {}},
            "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "example.com/c", "ports": ports}]},
        });
        if let Some(status) = status {
            pod["metadata"]["annotations"][STATUS] = json!(status);
        }
        create(&self.pods, pod).await.unwrap();
        self.set_status(name, &json!({"conditions": [{"type": "Ready", "status": "True"}]}))
            .await;
    }

    async fn set_status(&self, pod: &str, status: &Value) {
        let patch = json!({"status": status});
        let patch = Patch::Merge(&patch);
        self.pods
            .patch_status(pod, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Sets the network status of a pod.
    async fn attach(&self, pod: &str, status: &Value) {
        let patch = json!({"metadata": {"annotations": {STATUS: status.to_string()}}});
        let patch = Patch::Merge(&patch);
        self.pods.patch(pod, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Sets or removes an annotation of the Service.
    async fn annotate_service(&self, key: &str, value: Option<&str>) {
        let patch = json!({"metadata": {"annotations": {key: value}}});
        let patch = Patch::Merge(&patch);
        self.services
            .patch("rtp", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Waits until these are the endpoints of a Service: address, pod, port `rtcp`, readiness.
    async fn wait_published(&self, service: &str, expected: &[Published]) -> Vec<EndpointSlice> {
        let expected: Vec<_> = expected.iter().map(|endpoint| json!(endpoint)).collect();
        let mut slices = Vec::new();
        until(&format!("{expected:?} are published"), async || {
            slices = slices_of(&self.client, NAMESPACE, service).await.unwrap();
            published(&slices) == expected
        })
        .await
        .unwrap();
        slices
    }

    /// Waits until events with these reasons were recorded.
    async fn wait_events(&self, reasons: &[&str]) {
        let events: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        until(&format!("events {reasons:?} are recorded"), async || {
            let events = events.list(&ListParams::default()).await.unwrap();
            let recorded: Vec<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
            reasons.iter().all(|reason| recorded.contains(reason))
        })
        .await
        .unwrap();
    }
}

/// The endpoints of the slices, sorted.
fn published(slices: &[EndpointSlice]) -> Vec<Value> {
    let mut published = Vec::new();
    for slice in slices.iter().map(|slice| json!(slice)) {
        let ports = slice["ports"].as_array().unwrap();
        let rtcp = ports.iter().find(|port| port["name"] == "rtcp").unwrap();
        for endpoint in slice["endpoints"].as_array().unwrap() {
            published.push(json!([
                endpoint["addresses"][0],
                endpoint["targetRef"]["name"],
                rtcp["port"],
                endpoint["conditions"]["ready"],
            ]));
        }
    }
    published.sort_by_key(ToString::to_string);
    published
}

type Published = (&'static str, &'static str, u16, bool);
const A: [Published; 2] = [("192.0.2.17", "a", 5005, true), ("2001:db8::17", "a", 5005, true)];
const B: Published = ("192.0.2.18", "b", 6005, true);
const C: [Published; 2] = [("192.0.2.19", "c", 5005, true), ("2001:db8::19", "c", 5005, true)];

/// A network status with addresses on one network.
fn on(network: &str, ips: &[&str]) -> Value {
    json!([{"name": network, "interface": "net1", "ips": ips}])
}

/// Networks that are attached and detached, readiness, named ports, invalid input, a restart, and a Service that is deleted
/// (C-MUL-01, -07, -08, -12, -13, -15, -17, -20, -21, -25, -26 and -27).
pub(crate) async fn scenario(client: Client, args: &[&str]) {
    let objects = Objects::new(client);
    objects.create_all().await;
    let program = start(args).await;
    let slices = objects.wait_published("rtp", &[A[0], C[0], A[1], C[1]]).await;
    check_slices(&slices);
    objects.wait_events(&["NotPublished", "InvalidNetworkStatus"]).await;
    objects.change_pods().await;
    let before = objects.wait_published("rtp", &[B]).await;
    objects.check_invalid_selector().await;
    let (_, metrics) = program.get("/metrics").await.unwrap();
    for line in [
        "multus_keys_failing 0",
        r#"leader_election_master_status{name="multus"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    let (code, ready) = program.get("/readyz?verbose").await.unwrap();
    assert!(code == 200 && ready.contains("[+]pods ok"), "{ready}");
    let log = program.stop().await.unwrap();
    assert!(log.contains("slices written") && log.contains("stopped"), "{log}");

    let program = start(args).await;
    // Keys are synced in the order of enqueueing, so this key is written last.
    let mut last = page::service();
    last["metadata"]["name"] = json!("last");
    create(&objects.services, last).await.unwrap();
    objects.wait_published("last", &[B]).await;
    assert_eq!(slices_of(&objects.client, NAMESPACE, "rtp").await.unwrap(), before);
    objects.remove_service().await;
    program.stop().await.unwrap();
}

/// All fields of the slices beside the endpoints.
fn check_slices(slices: &[EndpointSlice]) {
    assert_eq!(slices.len(), 2, "{slices:?}");
    for slice in slices.iter().map(|slice| json!(slice)) {
        let metadata = &slice["metadata"];
        let labels = json!({
            "endpointslice.kubernetes.io/managed-by": "multus.example.com",
            "kubernetes.io/service-name": "rtp",
            "service.kubernetes.io/headless": "",
        });
        assert_eq!(metadata["labels"], labels);
        assert_eq!(metadata["ownerReferences"][0]["name"], "rtp");
        let media = json!({"name": "media", "port": 5004, "protocol": "UDP"});
        assert!(slice["ports"].as_array().unwrap().contains(&media), "{slice}");
        assert_eq!(slice["endpoints"][0]["nodeName"], "node-1");
    }
}

impl Objects {
    /// Creates the Service, and pods on its network, on others, on none, with invalid addresses, and not selected.
    async fn create_all(&self) {
        create(&self.services, page::service()).await.unwrap();
        let invalid = on(
            "default/rtp-a",
            &["192.0.2.19/24", "2001:DB8:0::19", "fe80::1", "malformed"],
        );
        for (name, app, status, rtcp) in [
            ("a", "rtp", Some(page::blocks("json").remove(0)), 5005),
            ("b", "rtp", Some(on("other/rtp-a", &["192.0.2.18"]).to_string()), 6005),
            ("c", "rtp", Some(invalid.to_string()), 5005),
            ("d", "rtp", Some(r#""malformed""#.to_owned()), 5005),
            ("e", "rtp", None, 5005),
            (
                "f",
                "other",
                Some(on("default/rtp-a", &["192.0.2.20"]).to_string()),
                5005,
            ),
        ] {
            self.create_pod(name, app, status, rtcp).await;
        }
    }

    /// A network that is attached, one that is detached, a pod that becomes unready and then finishes.
    async fn change_pods(&self) {
        self.attach("b", &on("default/rtp-a", &["192.0.2.18"])).await;
        self.attach("a", &json!([])).await;
        let unready = json!({"conditions": [{"type": "Ready", "status": "False"}]});
        self.set_status("c", &unready).await;
        let c = C.map(|(ip, pod, port, _)| (ip, pod, port, false));
        self.wait_published("rtp", &[B, c[0], c[1]]).await;
        self.set_status("c", &json!({"phase": "Succeeded"})).await;
    }

    /// An invalid selector is reported and changes no slice.
    async fn check_invalid_selector(&self) {
        let selector = "example.com/pod-selector";
        self.annotate_service(selector, Some("rtp")).await;
        self.wait_events(&["InvalidSelector"]).await;
        self.wait_published("rtp", &[B]).await;
        self.annotate_service(selector, Some("app=rtp")).await;
    }

    /// The slices are removed with the annotation of the Service, and with the Service.
    async fn remove_service(&self) {
        let network = "k8s.v1.cni.cncf.io/service-network";
        self.annotate_service(network, None).await;
        assert_eq!(self.wait_published("rtp", &[]).await, []);
        self.annotate_service(network, Some("default/rtp-a")).await;
        self.wait_published("rtp", &[B]).await;
        self.services.delete("rtp", &DeleteParams::default()).await.unwrap();
        assert_eq!(self.wait_published("rtp", &[]).await, []);
    }
}
