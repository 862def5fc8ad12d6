//! Slices whose labels a webhook or another client rewrites (F24).

use serde_json::{Value, json};
use slice_core::well_known::MANAGED_BY_LABEL;

use super::{
    super::*,
    fake_api::{self, FakeApi, SLICES},
    fixtures::{node, pod, service},
    harness::{Fault, Harness},
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";

type Webhook = fn(&mut Value);

fn rewrite_service_name(slice: &mut Value) {
    slice["metadata"]["labels"][SERVICE_NAME] = json!("other");
}

fn remove_service_name(slice: &mut Value) {
    slice["metadata"]["labels"]
        .as_object_mut()
        .unwrap()
        .remove(SERVICE_NAME);
}

fn rewrite_managed_by(slice: &mut Value) {
    slice["metadata"]["labels"][MANAGED_BY_LABEL] = json!("policy");
}

/// With the label in the message of the event.
const WEBHOOKS: [(Webhook, &str); 3] = [
    (rewrite_service_name, "label kubernetes.io/service-name=\"other\""),
    (remove_service_name, "no label kubernetes.io/service-name"),
    (
        rewrite_managed_by,
        "label endpointslice.kubernetes.io/managed-by=\"policy\"",
    ),
];

fn with_pod(api: FakeApi) -> Harness {
    let mut harness = Harness::restarted(api, 100, Duration::ZERO);
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    harness.api.put("pods", pod("p0", 0, true));
    harness
}

/// Advances the time by seconds, with a change of a pod in each. Asserts that at least 10 s are between two writes.
fn churn(harness: &mut Harness, seconds: u32) {
    let mut last_write = None;
    for second in 0..seconds {
        let before = harness.writes;
        harness.api.put("pods", pod("p0", 0, second % 2 == 0));
        harness.advance(Duration::from_secs(1));
        if harness.writes > before {
            assert_eq!(harness.writes, before + 1, "one write at a time");
            let since = last_write.map_or(u32::MAX, |last| second - last);
            assert!(since >= 10, "writes {since} s apart");
            last_write = Some(second);
        }
    }
}

/// The number of slices of the Service with our labels.
fn slices_of_web(harness: &Harness) -> usize {
    let is_ours =
        |labels: &Value| labels[SERVICE_NAME] == "web" && labels[MANAGED_BY_LABEL] == service_slices::MANAGED_BY;
    let slices = harness.api.slices();
    slices.filter(|slice| is_ours(&slice["metadata"]["labels"])).count()
}

fn messages(harness: &Harness) -> Vec<String> {
    harness.events.iter().map(|event| event.message.clone()).collect()
}

/// At most 3 slices per Service and one write per 10 s, also across restarts; an event names slice and label; the Service is
/// published within a minute of the end.
#[test]
fn f24_a_webhook_that_rewrites_labels_causes_no_slices_without_bound() {
    for (webhook, label) in WEBHOOKS {
        let mut harness = with_pod(FakeApi::default());
        harness.api.webhook = Some(webhook);
        churn(&mut harness, 1200);
        assert!(harness.api.slices().count() <= 2, "{label}");
        for _ in 0..3 {
            let message = messages(&harness).pop().unwrap();
            assert!(message.contains(label), "{message}");
            assert!(message.contains("a mutating webhook or policy"), "{message}");
            harness = with_pod(harness.api);
            churn(&mut harness, 300);
            assert!(harness.api.slices().count() <= 2, "{label}, after a restart");
        }
        harness.api.webhook = None;
        for _ in 0..60 {
            harness.advance(Duration::from_secs(1));
        }
        assert_eq!(slices_of_web(&harness), 1, "{label}");
        assert_eq!(harness.engine.queue.failing().count(), 0);
        let mut restarted = Harness::restarted(harness.api, 100, Duration::ZERO);
        restarted.run_until_quiescent();
        assert_eq!(
            (restarted.writes, slices_of_web(&restarted)),
            (0, 1),
            "{label}, after a restart"
        );
    }
}

/// A slice that exists is updated once, and lost; then it is as with new ones.
#[test]
fn f24_a_webhook_that_rewrites_labels_of_updates() {
    for (webhook, label) in WEBHOOKS {
        let mut harness = with_pod(FakeApi::default());
        harness.run_until_quiescent();
        harness.api.webhook = Some(webhook);
        churn(&mut harness, 1200);
        assert!(harness.api.slices().count() <= 2, "{label}");
        harness.api.webhook = None;
        for _ in 0..60 {
            harness.advance(Duration::from_secs(1));
        }
        assert_eq!(slices_of_web(&harness), 1, "{label}");
    }
}

/// The Service that gets the slices deletes them. Nothing is stored until a dry run shows that labels are kept.
#[test]
fn f24_nothing_is_stored_while_labels_are_rewritten() {
    let mut harness = with_pod(FakeApi::default());
    harness.api.put("services", service("other", "other"));
    harness.run_until_quiescent();
    harness.api.webhook = Some(rewrite_service_name);
    for seconds in [60, 1200] {
        harness.writes = 0;
        for second in 0..seconds {
            harness.api.put("pods", pod("p0", 0, second % 2 == 0));
            harness.advance(Duration::from_secs(1));
        }
    }
    assert_eq!(harness.writes, 0);
    harness.api.webhook = None;
    harness.run_until_quiescent();
    assert_eq!(slices_of_web(&harness), 1);
}

/// Names that earlier relabelled slices have do not show the labels of a new one: a probe has a name of its own.
#[test]
fn f24_a_probe_does_not_collide_with_relabelled_slices() {
    let mut harness = with_pod(FakeApi::default());
    for _ in 0..6 {
        harness.run_until_quiescent();
        let ours = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == "web";
        let mut slice = harness.api.slices().find(ours).unwrap().clone();
        rewrite_service_name(&mut slice);
        harness.api.put(SLICES, slice);
    }
    let mut restarted = Harness::restarted(harness.api, 100, Duration::ZERO);
    restarted.run();
    for _ in 0..60 {
        restarted.advance(Duration::from_secs(1));
    }
    assert_eq!((slices_of_web(&restarted), restarted.writes), (1, 1));
}

/// Slices of one family are written with all their labels, those of the other are not.
#[test]
fn f24_a_webhook_that_rewrites_labels_of_one_family() {
    let webhook: Webhook = |slice| {
        if slice["addressType"] == "IPv6" {
            rewrite_service_name(slice);
        }
    };
    let mut harness = with_pod(FakeApi::default());
    harness.api.webhook = Some(webhook);
    let mut dual = service("web", "web");
    dual["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    harness.api.put("services", dual);
    for second in 0..1200 {
        harness.api.put("pods", pod("p0", 0, second % 2 == 0));
        harness.advance(Duration::from_secs(1));
    }
    assert!(harness.api.slices().count() <= 3, "{}", harness.api.slices().count());
    harness.api.webhook = None;
    harness.run_until_quiescent();
    assert_eq!(harness.published("web").len(), 1);
    assert_eq!(slices_of_web(&harness), 2, "one of each family");
}

/// Another client relabels each slice after it is written: the first replacement follows at once, the others 10 s apart.
#[test]
fn f24_a_client_that_relabels_every_slice_causes_no_hot_loop() {
    let mut harness = with_pod(FakeApi::default());
    harness.run_until_quiescent();
    for _ in 0..300 {
        let ours = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == "web";
        let slice = harness.api.slices().find(ours).cloned();
        if let Some(mut slice) = slice {
            rewrite_service_name(&mut slice);
            harness.api.put(SLICES, slice);
        }
        harness.advance(Duration::from_secs(1));
    }
    assert!((3..=30).contains(&harness.writes), "{} writes in 300 s", harness.writes);
    harness.run_until_quiescent();
    assert_eq!(harness.published("web").len(), 1);
}

/// The slice moves to its new Service although the conflict shows it before the watch does.
#[test]
fn a_relabelled_slice_that_a_conflict_shows_enqueues_its_new_service() {
    let mut harness = with_pod(FakeApi::default());
    harness.api.put("services", service("other", "other"));
    harness.run_until_quiescent();
    harness.api.put("pods", pod("p0", 0, false));
    harness.deliver("pods");
    harness.process_due();
    let ours = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == "web";
    let mut slice = harness.api.slices().find(ours).unwrap().clone();
    rewrite_service_name(&mut slice);
    harness.api.put(SLICES, slice);
    assert!(harness.send(0, 0, super::harness::Fault::None) && harness.report(0, 0));
    harness.run_until_quiescent();
    assert_eq!(
        (harness.published("other").len(), harness.published("web").len()),
        (0, 1)
    );
}

/// A create finds a slice that cannot be decoded: the next one has another name (F25).
#[test]
fn the_name_of_an_undecodable_slice_is_not_used() {
    let mut harness = with_pod(FakeApi::default());
    while harness.deliver("nodes") || harness.deliver("services") || harness.deliver("pods") {}
    let job = harness
        .engine
        .process_due(9, harness.now, Timestamp::UNIX_EPOCH)
        .jobs
        .remove(0);
    let slice_reconciler::Operation::Create(slice) = &job.writes[0].operation else {
        panic!("no create");
    };
    let name = slice.metadata.name.clone().unwrap();
    let mut live = fake_api::object_ref(&json!({"metadata": {"uid": "foreign", "resourceVersion": "9"}}));
    live.name = name.as_str().into();
    let result = WriteResult::UndecodableConflict(Box::new(live));
    harness.engine.on_write_result(&job.key, 0, result, harness.now);
    harness.engine.on_writes_done(&job.key, harness.now);
    harness.run();
    let names: Vec<_> = harness
        .api
        .slices()
        .map(|slice| fake_api::object_ref(slice).name)
        .collect();
    assert_eq!(names.len(), 1, "at once");
    assert_ne!(*names[0], *name);
}

/// A foreign name is used again when it is free and the reservation is over; nothing is kept for deleted Services (I12).
#[test]
fn reserved_names_are_dropped_after_a_while() {
    let mut harness = with_pod(FakeApi::default());
    let key = Key::new("ns", "web");
    harness.engine.slices.reserved.reserve(&key, "web-1", harness.now);
    harness.engine.update_gauges(harness.now);
    assert_eq!(harness.engine.slices.reserved.names(&key, harness.now), ["web-1"]);
    harness.now += Duration::from_secs(600);
    harness.engine.update_gauges(harness.now);
    assert_eq!(
        format!("{:?}", harness.engine.slices.reserved),
        "ReservedNames { by_key: {} }"
    );
}

/// The watch shows the deletion of an updated slice before the response with its new labels arrives.
#[test]
fn a_relabelled_slice_whose_deletion_was_observed_is_not_restored() {
    let mut harness = with_pod(FakeApi::default());
    harness.run_until_quiescent();
    harness.api.webhook = Some(rewrite_service_name);
    harness.api.put("pods", pod("p0", 0, false));
    harness.deliver("pods");
    harness.process_due();
    assert!(harness.send(0, 0, Fault::None));
    let name = fake_api::object_ref(harness.api.slices().next().unwrap()).name;
    harness.api.delete(SLICES, &name);
    while harness.deliver(SLICES) {}
    assert!(harness.report(0, 0));
    assert!(harness.engine.slices.get(&Key::new("ns", "other")).is_empty());
}

/// The key stays in resyncs, so that a restored server gets its slices (F14).
#[test]
fn probe_that_a_terminating_namespace_rejects_keeps_its_key_active() {
    let mut harness = with_pod(FakeApi::default());
    harness.api.webhook = Some(rewrite_service_name);
    for _ in 0..3 {
        harness.advance(Duration::from_secs(60));
    }
    harness.api.webhook = None;
    harness.now += Duration::from_secs(60);
    harness.run_with(Fault::NamespaceTerminating);
    assert_eq!(harness.engine.queue.failing().count(), 0);
    assert_eq!(slices_of_web(&harness), 0);
    harness.engine.resync_all(harness.now);
    harness.run_until_quiescent();
    assert_eq!(slices_of_web(&harness), 1);
}
