//! Recorder on the in-memory API server.

use std::time::Duration;

use apisim::ApiSim;
use apisim::faults::{FaultService, Faults, Rule, StreamFault};
use apisim::request::Verb;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Entry, History, RecordError, Recorder, Window, assert_clean, check_history};
use tokio::time::{Instant, sleep, timeout};

use crate::fixtures::{endpoint_of, node, pod_a, service, slice, with};

/// Time in which a pending watch event arrives.
const DELIVERY_TIME: Duration = Duration::from_millis(300);

/// A server with the namespaces `ns` and `other`, a direct client and one with fault injection.
struct Server {
    sim: ApiSim,
    faults: Faults,
    client: Client,
    faulty_client: Client,
}

impl Server {
    async fn start() -> Self {
        let (sim, faults) = (ApiSim::new(), Faults::default());
        let server = Self {
            client: Client::new(sim.clone(), "ns"),
            faulty_client: Client::new(FaultService::new(sim.clone(), faults.clone()), "ns"),
            sim,
            faults,
        };
        for name in ["ns", "other"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            create::<Namespace>(&Api::all(server.client.clone()), namespace).await;
        }
        server
    }

    fn slices(&self) -> Api<EndpointSlice> {
        Api::default_namespaced(self.client.clone())
    }

    async fn create_slice(&self, name: &str) -> EndpointSlice {
        create(
            &self.slices(),
            with(slice(name, &[]), "/metadata/ownerReferences", json!([])),
        )
        .await
    }

    /// Creates a Service, a node and a ready pod.
    async fn create_inputs(&self) -> (Service, Pod) {
        create::<Node>(&Api::all(self.client.clone()), node("node-a", "zone-a")).await;
        let services = Api::default_namespaced(self.client.clone());
        let mut service = service();
        service["spec"].as_object_mut().unwrap().remove("clusterIP");
        let service = create(&services, service).await;
        let pods: Api<Pod> = Api::default_namespaced(self.client.clone());
        let unscheduled = with(pod_a(), "/spec/containers/0/image", json!("example.com/web"));
        let pod = create(&pods, unscheduled.clone()).await;
        let status = Patch::Merge(json!({"status": unscheduled["status"]}));
        pods.patch_status("a", &PatchParams::default(), &status).await.unwrap();
        (service, pod)
    }
}

async fn create<K>(api: &Api<K>, mut object: Value) -> K
where
    K: Resource + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    object["metadata"].as_object_mut().unwrap().remove("uid");
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

/// Events of slices, as `Verb name`.
fn slice_events(history: &History) -> Vec<String> {
    let events = history
        .events()
        .filter(|event| event.object().kind() == "EndpointSlice");
    events
        .map(|event| {
            format!(
                "{:?} {}",
                event.verb(),
                event.object().metadata().name.as_deref().unwrap()
            )
        })
        .collect()
}

#[tokio::test]
async fn every_revision_is_recorded_in_order() {
    let server = Server::start().await;
    server.create_slice("old").await;
    let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
    server.create_slice("new").await;
    let (service, pod) = server.create_inputs().await;
    let labels = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    server
        .slices()
        .patch("old", &PatchParams::default(), &labels)
        .await
        .unwrap();
    server.slices().delete("new", &DeleteParams::default()).await.unwrap();
    recorder.wait_caught_up().await.unwrap();

    let history = recorder.history().unwrap();
    assert_eq!(
        slice_events(&history),
        ["Listed old", "Added new", "Modified old", "Deleted new"]
    );
    let position = |uid: Option<&str>| {
        history
            .events()
            .position(|event| event.object().metadata().uid.as_deref() == uid)
    };
    assert!(position(service.metadata.uid.as_deref()) < position(pod.metadata.uid.as_deref()));
    let revisions: Vec<_> = history.events().map(slice_oracle::Event::revision).collect();
    let listed = history
        .events()
        .filter(|event| format!("{:?}", event.verb()) == "Listed")
        .count();
    assert!(revisions[listed..].is_sorted(), "{revisions:?}");
}

#[tokio::test]
async fn subscribers_receive_recorded_and_new_events() {
    let server = Server::start().await;
    server.create_slice("listed").await;
    let recorder = Recorder::start_namespaced(server.faulty_client.clone(), "ns")
        .await
        .unwrap();
    server.create_slice("before").await;
    recorder.wait_caught_up().await.unwrap();
    let mut events = recorder.events();
    server.create_slice("after").await;
    recorder.wait_caught_up().await.unwrap();
    let mut received = Vec::new();
    while let Ok(event) = events.try_recv() {
        if event.object().kind() == "EndpointSlice" {
            received.extend(event.object().metadata().name.clone());
        }
    }
    assert_eq!(received, ["listed", "before", "after"]);
}

#[tokio::test]
async fn one_namespace_can_be_recorded_alone() {
    let server = Server::start().await;
    let recorder = Recorder::start_namespaced(server.faulty_client.clone(), "ns")
        .await
        .unwrap();
    let elsewhere: Api<EndpointSlice> = Api::namespaced(server.client.clone(), "other");
    let object = with(slice("there", &[]), "/metadata/namespace", json!("other"));
    create(&elsewhere, with(object, "/metadata/ownerReferences", json!([]))).await;
    server.create_slice("here").await;
    recorder.wait_caught_up().await.unwrap();
    assert_eq!(slice_events(&recorder.history().unwrap()), ["Added here"]);
}

/// A broken watch is resumed at its last revision (F8).
#[tokio::test]
async fn a_broken_watch_loses_no_events() {
    for broken in [StreamFault::Cut, StreamFault::CutMidEvent] {
        let server = Server::start().await;
        let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
        let rule = Rule::on(Verb::Watch, "endpointslices").times(2);
        server.faults.add(rule.stream_after(1, broken));
        for name in ["a", "b", "c", "d"] {
            server.create_slice(name).await;
        }
        server.slices().delete("a", &DeleteParams::default()).await.unwrap();
        recorder.wait_caught_up().await.unwrap();
        let found = slice_events(&recorder.history().unwrap());
        assert_eq!(
            found,
            ["Added a", "Added b", "Added c", "Added d", "Deleted a"],
            "{broken:?}"
        );
    }
}

/// Compacted revisions are a gap in the history (F11).
#[tokio::test]
async fn compacted_revisions_are_an_error() {
    let server = Server::start().await;
    let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
    server.create_slice("seen").await;
    recorder.wait_caught_up().await.unwrap();
    let dropped = server
        .faults
        .add(Rule::on(Verb::Watch, "endpointslices").nth(1).drop_request());
    server.faults.add(
        Rule::on(Verb::Watch, "endpointslices")
            .times(1)
            .stream(StreamFault::Cut),
    );
    server.create_slice("unseen").await;
    server.sim.compact();
    dropped.remove();
    let error = recorder.wait_quiescent(Duration::from_millis(1)).await.unwrap_err();
    assert!(
        matches!(&error, RecordError::Lost { kind, .. } if kind == "endpointslices"),
        "{error}"
    );
    assert!(recorder.history().is_err());
}

#[tokio::test]
async fn a_delayed_watch_is_not_quiescent() {
    let server = Server::start().await;
    let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
    let stop_delivery = || {
        let rule = Rule::on(Verb::Watch, "endpointslices");
        server.faults.add(rule.stream(StreamFault::Hold))
    };
    let held = stop_delivery();
    server.create_slice("late").await;
    assert!(
        timeout(DELIVERY_TIME, recorder.wait_quiescent(Duration::ZERO))
            .await
            .is_err()
    );
    held.remove();
    recorder.wait_quiescent(Duration::ZERO).await.unwrap();
    let held = stop_delivery();
    server.slices().delete("late", &DeleteParams::default()).await.unwrap();
    assert!(
        timeout(DELIVERY_TIME, recorder.wait_quiescent(Duration::ZERO))
            .await
            .is_err()
    );
    held.remove();
    recorder.wait_quiescent(Duration::ZERO).await.unwrap();
    let history = recorder.history().unwrap();
    assert_eq!(slice_events(&history), ["Added late", "Deleted late"]);
}

#[tokio::test(start_paused = true)]
async fn quiescent_means_no_slice_events_for_the_idle_period() {
    let server = Server::start().await;
    let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
    let start = Instant::now();
    let write = async {
        for name in ["a", "b", "c"] {
            sleep(Duration::from_secs(2)).await;
            server.create_slice(name).await;
        }
    };
    let (result, ()) = tokio::join!(recorder.wait_quiescent(Duration::from_secs(3)), write);
    result.unwrap();
    assert_eq!(start.elapsed().as_secs(), 9);
    assert_eq!(
        slice_events(&recorder.history().unwrap()),
        ["Added a", "Added b", "Added c"]
    );
}

/// Recording and checking, with the test in the role of the controller.
#[tokio::test]
async fn manual_writes_are_no_violations() {
    let server = Server::start().await;
    let recorder = Recorder::start(server.faulty_client.clone()).await.unwrap();
    let (service, pod) = server.create_inputs().await;
    let mut published = slice(
        "web-1",
        &[with(endpoint_of(&pod_a()), "/targetRef/uid", json!(pod.metadata.uid))],
    );
    published["metadata"]["ownerReferences"][0]["uid"] = json!(service.metadata.uid);
    let created = create(&server.slices(), published).await;
    let config = CheckConfig::default();
    recorder.wait_quiescent(Duration::from_millis(1)).await.unwrap();
    let report = assert_clean(&recorder.history().unwrap(), &config, env!("CARGO_TARGET_TMPDIR"));
    assert_eq!((report.endpoints, report.writes.get("creates")), (1, Some(&1)));

    recorder.mark("nothing changes", Window::NoWrites).await.unwrap();
    let note = Patch::Merge(json!({"metadata": {"annotations": {"x": "y"}}}));
    let response = server
        .slices()
        .patch("web-1", &PatchParams::default(), &note)
        .await
        .unwrap();
    server.slices().delete("web-1", &DeleteParams::default()).await.unwrap();
    recorder.wait_quiescent(Duration::from_millis(1)).await.unwrap();
    let ids = || -> Vec<_> {
        let violations = check_history(&recorder.history().unwrap(), &config);
        violations
            .iter()
            .map(|violation| violation.invariant.to_string())
            .collect()
    };
    assert_eq!(ids(), ["I6", "I4", "I6", "I6"]);
    recorder.record_manual_write(&response);
    recorder.record_manual_deletion(&created);
    assert_eq!(ids(), [""; 0]);
    let marks = recorder
        .history()
        .unwrap()
        .entries()
        .iter()
        .filter(|entry| matches!(entry, Entry::Mark(_)))
        .count();
    assert_eq!(marks, 1);
}
