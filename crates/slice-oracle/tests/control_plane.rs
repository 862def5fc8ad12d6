//! The oracle on upstream's own controllers: a violation that is not a known deviation is a bug of the oracle. This
//! target needs Go.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use slice_oracle::{
    CheckConfig, Invariant, Manager, RecordError, Recorder, Verb, Violation, Window, assert_clean, check_final_state,
    check_history,
};
use testenv::objects::slices_of;
use testenv::{Cluster, ControlPlane, RollingDeployment, until};

const IDLE: Duration = Duration::from_secs(3);
const MAX_ENDPOINTS: usize = 12;

/// Edits the inputs of slices.
struct Operator {
    services: Api<Service>,
    endpoints: Api<Endpoints>,
}

impl Operator {
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

/// Deployments roll and scale, Services are created, updated and deleted, Endpoints are mirrored, the controllers
/// restart: no violations. Then the ports of a Service with several slices change, and upstream moves endpoints between
/// slices with a gap (the deviation I4).
#[tokio::test]
async fn upstream_has_no_violations_except_a_known_deviation() {
    let cluster = Cluster::builder().nodes_per_zone(2).start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let controllers = ["endpointslice-controller", "endpointslice-mirroring-controller"];
    let max = format!("--max-endpoints-per-slice={MAX_ENDPOINTS}");
    let manager = control_plane.controller_manager(&controllers, &[&max]).await.unwrap();

    let services = CheckConfig::default().services.map(|default| Manager {
        max_endpoints: MAX_ENDPOINTS,
        ..default
    });
    let config = CheckConfig {
        services,
        ..CheckConfig::default()
    };
    let operator = Operator::new(&client);
    let deployment = run_workload(&operator, &client).await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    assert_eq!(check_final_state(&recorder.history().unwrap(), &config), []);
    // Upstream sometimes removes the hints of Auto after a restart and adds them again (W19).
    operator.set_topology_mode("both", None).await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    recorder.mark("restart", Window::NoWrites).await.unwrap();
    manager.stop().await.unwrap();
    manager.start().await.unwrap();
    recorder.wait_quiescent(IDLE).await.unwrap();
    recorder.mark("one more pod", Window::OneWritePerSlice).await.unwrap();
    deployment.roll("web:2", 15).await.unwrap();
    recorder.wait_quiescent(IDLE).await.unwrap();

    let report = assert_clean(&recorder.history().unwrap(), &config, env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    let checked: Vec<_> = report.checks.keys().map(ToString::to_string).collect();
    assert_eq!(checked, ["I1", "I2", "I3", "I4", "I5", "I6", "I7"], "{report}");

    recorder.mark("ports", Window::Any).await.unwrap();
    operator.change_port("both", 7070).await;
    wait_for_port(&client, "both", 7070).await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    let violations = check_history(&recorder.history().unwrap(), &config);
    let is_known_deviation = |violation: &Violation| {
        violation.invariant == Invariant::I4 && violation.object.starts_with("EndpointSlice default/both-")
    };
    assert!(
        !violations.is_empty() && violations.iter().all(is_known_deviation),
        "{violations:#?}"
    );
}

/// Waits until all slices of a Service have this port only: on a loaded machine, upstream may take seconds to start
/// writing.
async fn wait_for_port(client: &Client, service: &str, number: i32) {
    until(&format!("the slices of {service} have port {number}"), async || {
        let slices = slices_of(client, "default", service).await.unwrap_or_default();
        let ports: Vec<_> = slices.iter().flat_map(|slice| slice.ports.iter().flatten()).collect();
        !ports.is_empty() && ports.iter().all(|port| port.port == Some(number))
    })
    .await
    .unwrap();
}

async fn run_workload(operator: &Operator, client: &Client) -> RollingDeployment {
    let selector = json!({"app": "web"});
    let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
    operator
        .create_service("web", json!({"selector": selector, "ports": ports}))
        .await;
    let both = json!({"selector": selector, "ports": ports, "ipFamilyPolicy": "PreferDualStack"});
    operator.create_service("both", both).await;
    operator
        .create_service("headless", json!({"selector": selector, "clusterIP": "None"}))
        .await;
    operator
        .create_service("no-pods", json!({"selector": {"app": "no-pods"}, "ports": ports}))
        .await;
    operator.create_service("db", json!({"ports": [{"port": 5432}]})).await;
    operator
        .put_endpoints(&["10.9.0.1", "10.9.0.2", "fd00::9"], &["10.9.0.3"])
        .await;

    let deployment = RollingDeployment::start(client, "web", "web:1", 10).await.unwrap();
    operator.change_port("both", 9090).await;
    deployment.roll("web:1", 21).await.unwrap();
    operator.put_endpoints(&["10.9.0.1", "10.9.0.4"], &["10.9.0.2"]).await;
    operator
        .patch_service("web", json!({"spec": {"trafficDistribution": "PreferSameNode"}}))
        .await;
    operator
        .patch_service("headless", json!({"metadata": {"labels": {"team": "x"}}}))
        .await;
    operator.set_topology_mode("both", Some("Auto")).await;
    deployment.roll("web:2", 21).await.unwrap();
    deployment.roll("web:2", 14).await.unwrap();
    operator
        .services
        .delete("no-pods", &DeleteParams::default())
        .await
        .unwrap();
    deployment
}

/// Without a watch cache, a restarted server resumes a watch from etcd. With one, revisions may be lost, and the
/// recorder returns an error (F12).
#[tokio::test]
async fn a_restarted_api_server_leaves_no_silent_gap() {
    for argument in ["--watch-cache=false", "--watch-cache=true"] {
        let control_plane = ControlPlane::builder().apiserver_arg(argument).start().await.unwrap();
        let client = control_plane.client().unwrap();
        let recorder = Recorder::start(client.clone()).await.unwrap();
        let operator = Operator::new(&client);
        operator
            .create_service("before", json!({"ports": [{"port": 80}]}))
            .await;
        control_plane.apiserver().kill().await.unwrap();
        control_plane.apiserver().start().await.unwrap();
        operator.create_service("after", json!({"ports": [{"port": 80}]})).await;
        match recorder.wait_quiescent(Duration::ZERO).await {
            Err(RecordError::Lost { .. }) if argument == "--watch-cache=true" => {}
            result => {
                result.unwrap();
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
