//! F17: the controller is killed after its k-th write, for every k of a scenario.

use std::{ops::RangeInclusive, time::Duration};

use apisim::faults::Rule;
use futures::{StreamExt as _, stream};
use kube::{
    Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::{Recorder, assert_clean};
use testenv::{
    ControllerProcess, FaultProxy, Signal,
    objects::{api, ready_addresses, slices_of},
    until,
};

use crate::{
    environment::shared,
    fixtures::{self, address},
    harness::{MAX_ENDPOINTS, Tested, config, programs, put, slice_writes},
};

/// Writes of the scenario.
const WRITES: usize = 12;
/// Without a slice event for this long, the cluster is quiescent.
const IDLE: Duration = Duration::from_secs(2);
const SERVICES: [&str; 2] = ["web", "api"];
/// Four slices for each Service; then the ports of the first Service change.
const PODS: RangeInclusive<usize> = 1..=7;
/// Scenarios at a time.
const CONCURRENCY: usize = 4;

#[tokio::test]
async fn f17_a_crash_after_any_write_is_repaired_after_the_restart() {
    assert_eq!(play(0).await, WRITES, "writes of the scenario without a crash");
    let runs = stream::iter(1..=WRITES).map(|k| async move { (k, play(k).await) });
    let runs: Vec<_> = runs.buffered(CONCURRENCY).collect().await;
    println!("F17: writes by the number of the write after which the controller was killed: {runs:?}");
}

/// Plays the scenario, with a crash after the k-th write if k is not 0. Returns the number of writes.
async fn play(k: usize) -> usize {
    let environment = shared().await;
    let control_plane = &environment.control_plane;
    let accounts = environment.accounts();
    let client = control_plane.client().unwrap();
    let namespace = format!("f17-{k}");
    let recorder = create_inputs(&client, &namespace).await;
    let proxy = FaultProxy::start(control_plane).await.unwrap();
    let kubeconfig = proxy.kubeconfig(&accounts.users[Tested::Services as usize]).unwrap();
    let arguments = [
        format!("--kubeconfig={}", kubeconfig.path.display()),
        format!("--namespace={namespace}"),
        format!("--max-endpoints-per-slice={MAX_ENDPOINTS}"),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let start = async || {
        ControllerProcess::start(&programs().await[0], &arguments)
            .await
            .unwrap()
    };
    // The response is held, so that the controller cannot go on before it is killed.
    let mut held = (k > 0).then(|| proxy.faults().add(Rule::when(slice_writes()).nth(k).hold_answer()));
    let mut controller = start().await;
    let mut in_flight = 0;
    for port in [8080, 9090] {
        if port == 9090 {
            change_port(&client, &namespace, port).await;
        }
        let is_published = async || is_published(&client, &namespace, port).await;
        until("publication, or the crash", async || {
            held.as_ref().is_some_and(|held| held.hits() > 0) || is_published().await
        })
        .await
        .unwrap();
        if let Some(crash) = held.take_if(|held| held.hits() > 0) {
            in_flight = kill(controller, &proxy).await;
            crash.remove();
            controller = start().await;
        }
        until("publication", is_published).await.unwrap();
        recorder.wait_quiescent(IDLE).await.unwrap();
    }
    assert!(held.is_none(), "no crash after write {k}");
    controller.stop().await.unwrap();
    let history = recorder.history().unwrap();
    assert_clean(&history, &config(Tested::Services), env!("CARGO_TARGET_TMPDIR"));
    let writes = proxy.faults().requests(&slice_writes());
    let lines: Vec<_> = writes
        .iter()
        .map(|write| format!("{:?} {:?} {:?}", write.request.verb, write.request.name, write.status))
        .collect();
    assert!(
        writes.len() <= WRITES + in_flight,
        "{} writes, of which {in_flight} were in flight at the crash: {lines:#?}",
        writes.len()
    );
    writes.len()
}

/// Kills a controller. Returns the number of its writes without a response.
async fn kill(controller: ControllerProcess, proxy: &FaultProxy<'_>) -> usize {
    controller.process.signal(Signal::KILL).unwrap();
    controller.process.wait().await.unwrap();
    // The proxy has then read all requests that were sent before.
    until("the end of its connections", async || {
        let connections = proxy.connections().opened();
        connections.iter().all(|connection| !connection.is_open)
    })
    .await
    .unwrap();
    let writes = proxy.faults().requests(&slice_writes());
    writes.iter().filter(|write| write.status.is_none()).count()
}

/// Creates the namespace, the pods and the Services. Returns a recorder of them.
async fn create_inputs(client: &Client, namespace: &str) -> Recorder {
    let object = json!({"kind": "Namespace", "metadata": {"name": namespace}});
    put(client, "", &object).await;
    let recorder = Recorder::start_namespaced(client.clone(), namespace).await.unwrap();
    for pod in PODS {
        put(client, namespace, &fixtures::pod(pod)).await;
    }
    for service in SERVICES {
        put(client, namespace, &fixtures::service(service)).await;
    }
    recorder
}

/// Changes the target port of the first Service.
async fn change_port(client: &Client, namespace: &str, port: i32) {
    let services = api(client, namespace, "Service").unwrap();
    let ports = json!({"spec": {"ports": [{"name": "http", "port": 80, "targetPort": port}]}});
    let patch = Patch::Merge(ports);
    let patched = services.patch(SERVICES[0], &PatchParams::default(), &patch).await;
    patched.unwrap();
}

/// Whether each Service has all pods, and the first one this port in all of its slices.
async fn is_published(client: &Client, namespace: &str, port: i32) -> bool {
    let expected: Vec<String> = PODS.map(address).collect();
    for service in SERVICES {
        let slices = slices_of(client, namespace, service).await.unwrap();
        let ports = slices.iter().flat_map(|slice| slice.ports.iter().flatten());
        let mut ports = ports.map(|port| port.port);
        if ready_addresses(&slices).is_none_or(|addresses| addresses != expected)
            || (service == SERVICES[0] && !ports.all(|found| found == Some(port)))
        {
            return false;
        }
    }
    true
}
