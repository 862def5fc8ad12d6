use std::time::Duration;

use apisim::request::Verb as RequestVerb;
use http::StatusCode;
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::{CheckConfig, Recorder, verify};
use testenv::{SimServer, objects::create};

use super::*;

const NAMESPACE: &str = "default";

/// A cluster without controllers: a Service without pods, and the placeholder slice that it needs.
struct Harness {
    server: SimServer,
    recorder: Recorder,
    slice: EndpointSlice,
}

impl Harness {
    async fn start() -> Self {
        let server = SimServer::start().await.unwrap();
        let client = server.client();
        let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await.unwrap();
        let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
        let service =
            json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
        let service = create(&services, service).await.unwrap();
        let placeholder = json!({
            "metadata": {
                "name": "web-1",
                "labels": {
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                    "kubernetes.io/service-name": "web",
                },
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Service", "name": "web", "uid": service.metadata.uid,
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "addressType": "IPv4", "endpoints": [], "ports": null,
        });
        let slice = create(&slices(&client), placeholder).await.unwrap();
        Self {
            server,
            recorder,
            slice,
        }
    }

    /// Patches the slice as another client.
    async fn patch(&self, patch: serde_json::Value) {
        let slices = slices(&self.server.client());
        let params = PatchParams::default();
        slices.patch("web-1", &params, &Patch::Merge(patch)).await.unwrap();
    }

    async fn history(&self) -> History {
        self.recorder.wait_quiescent(Duration::ZERO).await.unwrap();
        self.recorder.history().unwrap()
    }
}

fn slices(client: &Client) -> Api<EndpointSlice> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn violations(history: &History) -> Vec<Violation> {
    let found = verify(history, &CheckConfig::default()).violations;
    found.into_iter().map(Violation::from).collect()
}

#[tokio::test]
async fn a_slice_that_another_client_changed_is_a_violation_with_its_history() {
    let harness = Harness::start().await;
    assert_eq!(violations(&harness.history().await), []);
    harness
        .patch(json!({"endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": true}}]}))
        .await;
    let history = harness.history().await;
    let found = violations(&history);
    assert!(!found.is_empty());
    let request = SliceWrite {
        at: tokio::time::Instant::now(),
        verb: RequestVerb::Update,
        slice: "web-1".to_owned(),
        status: Some(StatusCode::CONFLICT),
    };
    let text = describe(&found, &history, &[(Timestamp::now(), ReplicaId::ALL[1], request)]);
    let (messages, events) = text.split_once("history of EndpointSlice web-1:\n").unwrap();
    assert!(messages.contains("I2 "), "{text}");
    let events: Vec<&str> = events.lines().collect();
    assert_eq!(events.len(), 3, "{text}");
    assert!(events[0].contains(" Added {"), "{text}");
    assert!(
        events[1].contains(" Modified {") && events[1].contains("10.9.9.9"),
        "{text}"
    );
    assert!(
        events[2].ends_with("request of endpointslice-controller-2: Update, 409 Conflict"),
        "{text}"
    );
}

#[tokio::test]
async fn a_missing_slice_is_a_violation_with_the_history_of_all_slices_of_the_service() {
    let harness = Harness::start().await;
    harness.recorder.record_manual_deletion(&harness.slice);
    let slices = slices(&harness.server.client());
    slices.delete("web-1", &DeleteParams::default()).await.unwrap();
    let history = harness.history().await;
    let found = violations(&history);
    assert_eq!(found[0].subject, Subject::Service("web".to_owned()));
    let text = describe(&found, &history, &[]);
    assert!(text.contains("history of EndpointSlice web-1:"), "{text}");
    assert!(text.contains(" Deleted {"), "{text}");
}

#[tokio::test]
async fn revisions_of_an_uncertain_edit_are_manual() {
    let harness = Harness::start().await;
    let since = Timestamp::now();
    harness
        .patch(json!({"metadata": {"labels": {"foreign": "label"}}}))
        .await;
    let uncertain = |service: &str| UncertainEdit {
        service: service.to_owned(),
        since,
    };
    let mut history = harness.history().await;
    assert!(!violations(&history).is_empty());
    excuse(&mut history, &[uncertain("other")]);
    assert!(!violations(&history).is_empty());
    excuse(&mut history, &[uncertain("web")]);
    let spurious = |violation: &Violation| violation.message.starts_with("I6");
    assert!(!violations(&history).iter().any(spurious), "{:?}", violations(&history));
}
