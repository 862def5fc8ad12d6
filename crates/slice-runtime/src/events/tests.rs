use std::time::Duration;

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match, Rule},
    request::Verb,
};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event as ApiEvent, Node, Pod, Service},
    serde::de::DeserializeOwned,
};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;
use service_slices::controller::{Config, Input, ServiceController};
use slice_controller::{Controller as _, EventContext, Key, SyncContext};
use slice_core::EventType;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// A sender of events and its recorder on an in-memory API server.
struct Harness {
    events: Events,
    recorder: std::pin::Pin<Box<dyn Future<Output = ()>>>,
    metrics: Arc<Metrics>,
    faults: Faults,
    api: Api<ApiEvent>,
}

impl Harness {
    fn new() -> Self {
        let faults = Faults::default();
        let client = kube::Client::new(FaultService::new(ApiSim::new(), faults.clone()), "default");
        let metrics = Arc::new(Metrics::new("test", "test"));
        let api = ApiClient::new(client.clone().into(), Duration::from_secs(15), None);
        let (events, recorder) = Events::new(api, "test", Arc::clone(&metrics));
        Self {
            events,
            recorder: Box::pin(recorder),
            metrics,
            faults,
            api: Api::default_namespaced(client),
        }
    }

    /// Runs the recorder for some time, which is paused.
    async fn run_for(&mut self, time: Duration) {
        let timeout = tokio::time::timeout(time, &mut self.recorder).await;
        assert!(timeout.is_err(), "the recorder runs as long as its sender exists");
    }

    /// Objects and counts of the events in the API.
    async fn recorded(&self) -> Vec<(String, i32)> {
        let events = self.api.list(&ListParams::default()).await.unwrap();
        let event = |event: ApiEvent| (event.involved_object.name.unwrap(), event.count.unwrap());
        events.into_iter().map(event).collect()
    }

    fn dropped(&self, reason: DropReason) -> String {
        let page = self.metrics.page();
        let series = format!("test_events_dropped_total{{reason=\"{}\"}} ", reason.as_str());
        let line = page.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap().to_owned()
    }
}

fn event(object: &str, message: &str) -> Event {
    Event {
        regarding: ObjectReference {
            namespace: Some("default".to_owned()),
            name: Some(object.to_owned()),
            ..ObjectReference::default()
        },
        event_type: EventType::Warning,
        reason: "Test".into(),
        message: message.to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn events_beyond_the_capacity_are_dropped_and_counted() {
    // The recorder is not run, so that the channel stays full.
    let harness = Harness::new();
    for object in 0..EVENT_CHANNEL_CAPACITY + 2 {
        harness.events.record(vec![event(&object.to_string(), "")]);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(harness.dropped(DropReason::Channel), "2");
    assert_eq!(harness.dropped(DropReason::Spam), "0");
}

#[tokio::test(start_paused = true)]
async fn an_object_with_many_events_leaves_the_channel_to_others() {
    let mut harness = Harness::new();
    let mut events: Vec<Event> = (0..1000).map(|n: usize| event("spam", &n.to_string())).collect();
    events.push(event("other", ""));
    harness.events.record(events);
    harness.run_for(MINUTE).await;
    let recorded = harness.recorded().await;
    assert_eq!(recorded.len(), 26);
    assert!(recorded.contains(&("other".to_owned(), 1)));
    assert_eq!(harness.dropped(DropReason::Spam), "975");
}

#[tokio::test(start_paused = true)]
async fn a_lasting_event_is_counted_every_15_minutes_and_created_again_after_its_deletion() {
    let mut harness = Harness::new();
    let sync_every_minute = async |harness: &mut Harness, minutes| {
        for _ in 0..minutes {
            harness.events.record(vec![event("a", "")]);
            harness.run_for(MINUTE).await;
        }
    };
    sync_every_minute(&mut harness, 15).await;
    assert_eq!(harness.faults.count(&Match::writes()), 1);
    sync_every_minute(&mut harness, 16).await;
    assert_eq!(harness.recorded().await, [("a".to_owned(), 3)]);
    let name = harness.faults.requests(&Match::writes())[0]
        .request
        .name
        .clone()
        .unwrap();
    harness.api.delete(&name, &DeleteParams::default()).await.unwrap();
    sync_every_minute(&mut harness, 15).await;
    assert_eq!(harness.recorded().await, [("a".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_long_message_is_recorded_truncated() {
    let mut harness = Harness::new();
    harness.events.record(vec![event("a", &"x".repeat(5000))]);
    harness.run_for(MINUTE).await;
    let recorded = harness.api.list(&ListParams::default()).await.unwrap();
    let lengths: Vec<_> = recorded.into_iter().map(|event| event.message.unwrap().len()).collect();
    assert_eq!(lengths, [Event::MAX_MESSAGE_LEN]);
}

/// An event without a response is counted as dropped and recorded when it is repeated; others wait for it.
#[tokio::test(start_paused = true)]
async fn an_event_whose_request_fails_is_counted_and_not_taken_for_recorded() {
    let mut harness = Harness::new();
    harness
        .faults
        .add(Rule::on(Verb::Create, "events").times(1).hold_request());
    harness.events.record(vec![event("a", ""), event("b", "")]);
    harness.run_for(MINUTE).await;
    assert_eq!(harness.recorded().await, [("b".to_owned(), 1)]);
    assert_eq!(harness.dropped(DropReason::Request), "1");
    harness.events.record(vec![event("a", ""), event("b", "")]);
    harness.run_for(MINUTE).await;
    assert_eq!(harness.recorded().await, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
}

/// 2000 pods have an address that cannot be published, and one of them is replaced before each sync (F25).
#[tokio::test(start_paused = true)]
async fn many_invalid_pods_of_a_service_that_is_synced_often_are_few_short_events() {
    fn parse<T: DeserializeOwned>(value: serde_json::Value) -> T {
        serde_json::from_value(value).unwrap()
    }
    let pod = |prefix: &str, n: usize| {
        Input::Pod(Box::new(parse::<Pod>(json!({
            "metadata": {"namespace": "default", "name": format!("{prefix}{n}"), "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"podIPs": [{"ip": format!("fe80::{}", n)}]},
        }))))
    };
    let mut controller = ServiceController::new(Config {
        managed_by: "us".to_owned(),
        max_endpoints_per_slice: std::num::NonZeroUsize::new(100).unwrap(),
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    });
    let mut context = EventContext::default();
    controller.apply(
        Input::Node(Box::new(parse::<Node>(json!({"metadata": {"name": "n1"}})))),
        &mut context,
    );
    let service = json!({
        "metadata": {"namespace": "default", "name": "web", "uid": "1"},
        "spec": {"clusterIP": "fd00::1", "ipFamilies": ["IPv6"], "selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    controller.apply(Input::Service(Box::new(parse::<Service>(service))), &mut context);
    for n in 0..2000 {
        controller.apply(pod("p", n), &mut context);
    }
    let mut harness = Harness::new();
    for sync in 0..100 {
        // Every other sync has the same invalid pods as the one before.
        if sync % 2 == 0 {
            controller.apply(pod("a", 100 - sync), &mut context);
        }
        let context = SyncContext {
            existing: &[],
            reserved_names: &[],
            now: Timestamp::UNIX_EPOCH,
        };
        let result = controller.sync(&Key::new("default", "web"), &context).unwrap();
        harness.events.record(result.events);
        harness.run_for(Duration::from_secs(1)).await;
    }
    assert_eq!(harness.faults.count(&Match::writes()), 25);
    let recorded = harness.api.list(&ListParams::default()).await.unwrap();
    assert_eq!(recorded.items.len(), 25);
    for event in recorded {
        let message = event.message.unwrap();
        assert!(
            message.len() <= 1024 && message.contains("addresses of pods are skipped: "),
            "{message}"
        );
    }
}

/// Events are not sent while writes are held back (F6).
#[tokio::test(start_paused = true)]
async fn events_wait_while_the_server_rejects_requests() {
    let mut harness = Harness::new();
    harness.events.hold_until(Some(now() + Duration::from_secs(10)));
    harness.events.record(vec![event("a", "rejected")]);
    harness.run_for(Duration::from_secs(9)).await;
    assert!(harness.recorded().await.is_empty());
    harness.run_for(Duration::from_secs(2)).await;
    assert_eq!(harness.recorded().await, [("a".to_owned(), 1)]);
}
