//! The history checker and upstream's own controllers: what they do must be right, or the checker is wrong.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use slice_oracle::{
    Invariant, Limits, Manager, RecordError, Recorder, Verb, Violation, Window, assert_clean, check_history, check_rest,
};
use testenv::objects::slices_of;
use testenv::{Cluster, ControlPlane, Rolling, until};

const QUIET: Duration = Duration::from_secs(3);
const MAX_ENDPOINTS: usize = 12;

/// Changes of what slices are made from.
struct Hand {
    services: Api<Service>,
    endpoints: Api<Endpoints>,
}

impl Hand {
    fn new(client: &Client) -> Self {
        Self {
            services: Api::default_namespaced(client.clone()),
            endpoints: Api::default_namespaced(client.clone()),
        }
    }

    async fn create_service(&self, name: &str, spec: Value) {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        let service = serde_json::from_value(service).unwrap();
        self.services.create(&PostParams::default(), &service).await.unwrap();
    }

    async fn patch_service(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        self.services
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    async fn change_port(&self, service: &str, number: u16) {
        let ports = json!([{"name": "http", "port": 80, "targetPort": number}]);
        self.patch_service(service, json!({"spec": {"ports": ports}})).await;
    }

    async fn set_topology_mode(&self, service: &str, mode: Option<&str>) {
        let annotations = json!({"service.kubernetes.io/topology-mode": mode});
        self.patch_service(service, json!({"metadata": {"annotations": annotations}}))
            .await;
    }

    async fn put_endpoints(&self, addresses: &[&str], not_ready: &[&str]) {
        let list = |addresses: &[&str]| addresses.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
        let subset =
            json!({"addresses": list(addresses), "notReadyAddresses": list(not_ready), "ports": [{"port": 5432}]});
        let patch = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "db"}, "subsets": [subset]});
        let params = PatchParams::apply("test").force();
        self.endpoints.patch("db", &params, &Patch::Apply(patch)).await.unwrap();
    }
}

/// Real Deployments roll and scale, Services come, change and go, Endpoints are mirrored, the controllers restart: nothing
/// is wrong. Then the ports of a Service with several slices change, and upstream loses endpoints for a moment, because
/// they change places between slices (the deviation I4).
#[tokio::test]
async fn upstreams_history_is_right_but_for_a_known_defect() {
    let cluster = Cluster::builder().nodes_per_zone(2).start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let controllers = ["endpointslice-controller", "endpointslice-mirroring-controller"];
    let max = format!("--max-endpoints-per-slice={MAX_ENDPOINTS}");
    let manager = control_plane.controller_manager(&controllers, &[&max]).await.unwrap();

    let services = Limits::default().services.map(|usual| Manager {
        max_endpoints: MAX_ENDPOINTS,
        ..usual
    });
    let limits = Limits {
        services,
        ..Limits::default()
    };
    let hand = Hand::new(&client);
    let rolling = come_change_and_go(&hand, &client).await;
    recorder.settled(QUIET).await.unwrap();
    assert_eq!(check_rest(&recorder.history().unwrap(), &limits), []);
    // Upstream takes the hints of Auto away and gives them back when it restarts, now and then (W19).
    hand.set_topology_mode("both", None).await;
    recorder.settled(QUIET).await.unwrap();
    recorder.mark("restart", Window::NoWrites).await.unwrap();
    manager.stop().await.unwrap();
    manager.start().await.unwrap();
    recorder.settled(QUIET).await.unwrap();
    recorder.mark("one more pod", Window::OneRound).await.unwrap();
    rolling.roll("web:2", 15).await.unwrap();
    recorder.settled(QUIET).await.unwrap();

    let report = assert_clean(&recorder.history().unwrap(), &limits, env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    let checked: Vec<_> = report.checks.keys().map(ToString::to_string).collect();
    assert_eq!(checked, ["I1", "I2", "I3", "I4", "I5", "I6", "I7"], "{report}");

    recorder.mark("ports", Window::Any).await.unwrap();
    hand.change_port("both", 7070).await;
    port_is_out(&client, "both", 7070).await;
    recorder.settled(QUIET).await.unwrap();
    let wrong = check_history(&recorder.history().unwrap(), &limits);
    let is_known = |violation: &Violation| {
        violation.invariant == Invariant::I4 && violation.object.starts_with("EndpointSlice default/both-")
    };
    assert!(!wrong.is_empty() && wrong.iter().all(is_known), "{wrong:#?}");
}

/// Waits until slices of a Service have a port and none has another: on a busy machine, upstream may be quiet for seconds before
/// it begins.
async fn port_is_out(client: &Client, service: &str, number: i32) {
    until(&format!("the slices of {service} have port {number}"), async || {
        let slices = slices_of(client, "default", service).await.unwrap_or_default();
        let ports: Vec<_> = slices.iter().flat_map(|slice| slice.ports.iter().flatten()).collect();
        !ports.is_empty() && ports.iter().all(|port| port.port == Some(number))
    })
    .await
    .unwrap();
}

async fn come_change_and_go(hand: &Hand, client: &Client) -> Rolling {
    let selector = json!({"app": "web"});
    let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
    hand.create_service("web", json!({"selector": selector, "ports": ports}))
        .await;
    let both = json!({"selector": selector, "ports": ports, "ipFamilyPolicy": "PreferDualStack"});
    hand.create_service("both", both).await;
    hand.create_service("headless", json!({"selector": selector, "clusterIP": "None"}))
        .await;
    hand.create_service("nobody", json!({"selector": {"app": "nobody"}, "ports": ports}))
        .await;
    hand.create_service("db", json!({"ports": [{"port": 5432}]})).await;
    hand.put_endpoints(&["10.9.0.1", "10.9.0.2", "fd00::9"], &["10.9.0.3"])
        .await;

    let rolling = Rolling::start(client, "web", "web:1", 10).await.unwrap();
    hand.change_port("both", 9090).await;
    rolling.roll("web:1", 21).await.unwrap();
    hand.put_endpoints(&["10.9.0.1", "10.9.0.4"], &["10.9.0.2"]).await;
    hand.patch_service("web", json!({"spec": {"trafficDistribution": "PreferSameNode"}}))
        .await;
    hand.patch_service("headless", json!({"metadata": {"labels": {"team": "x"}}}))
        .await;
    hand.set_topology_mode("both", Some("Auto")).await;
    rolling.roll("web:2", 21).await.unwrap();
    rolling.roll("web:2", 14).await.unwrap();
    hand.services.delete("nobody", &DeleteParams::default()).await.unwrap();
    rolling
}

/// F12: without its caches, a server that comes back still knows what happened. With them it may have forgotten, and then
/// the recorder says so.
#[tokio::test]
async fn an_api_server_that_restarts_leaves_no_silent_hole() {
    for argument in ["--watch-cache=false", "--watch-cache=true"] {
        let control_plane = ControlPlane::builder().apiserver_arg(argument).start().await.unwrap();
        let client = control_plane.client().unwrap();
        let recorder = Recorder::start(client.clone()).await.unwrap();
        let hand = Hand::new(&client);
        hand.create_service("before", json!({"ports": [{"port": 80}]})).await;
        control_plane.apiserver().kill().await.unwrap();
        control_plane.apiserver().start().await.unwrap();
        hand.create_service("after", json!({"ports": [{"port": 80}]})).await;
        match recorder.settled(Duration::ZERO).await {
            Err(RecordError::Lost { .. }) if argument == "--watch-cache=true" => {}
            settled => {
                settled.unwrap();
                let history = recorder.history().unwrap();
                let added = history.events().filter(|event| event.verb() == Verb::Added);
                let names: Vec<_> = added
                    .filter_map(|event| event.object().metadata().name.as_deref())
                    .collect();
                assert_eq!(names, ["before", "after"], "{argument}");
            }
        }
    }
}
