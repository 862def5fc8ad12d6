mod sim;

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Mutex, PoisonError},
};

use kube::client::Body;

use super::*;
use crate::{
    event_channel::{EventReceiver, event_channel},
    health::Health,
};

const PAGE: &str =
    r#"{"metadata": {"resourceVersion": "1", "continue": "here"}, "items": [{"metadata": {"name": "a"}}]}"#;

/// A reflector of an optional resource that receives these responses, and then none.
fn reflector(
    responses: impl IntoIterator<Item = (u16, &'static str)>,
    sender: EventSender<(usize, WatchEvent<()>)>,
) -> Reflector<(), ()> {
    let responses = Mutex::new(responses.into_iter().collect::<VecDeque<_>>());
    let respond = move |_request: http::Request<Body>| {
        let next = responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        async move {
            let Some((code, body)) = next else {
                return std::future::pending().await;
            };
            Ok::<_, Infallible>(response(code, body))
        }
    };
    let client = kube::Client::new(tower::service_fn(respond), "default");
    let spec = WatchSpec::with_decoder((), "example.com/v1", "pools", decode_ref).optional();
    reflector_of(client, spec, sender)
}

fn response(code: u16, body: &str) -> http::Response<Body> {
    let body = Body::from(body.as_bytes().to_vec());
    http::Response::builder().status(code).body(body).unwrap()
}

/// Decodes the metadata. An object with the label `garbage` is undecodable.
fn decode_ref(bytes: &[u8]) -> Result<Decoded<()>, serde_json::Error> {
    if bytes.windows(7).any(|bytes| bytes == b"garbage") {
        return Err(serde::de::Error::custom("garbage"));
    }
    let object_ref = ObjectRef::decode(bytes)?;
    Ok(Decoded { object_ref, object: () })
}

fn reflector_of(
    client: kube::Client,
    spec: WatchSpec<(), ()>,
    sender: EventSender<(usize, WatchEvent<()>)>,
) -> Reflector<(), ()> {
    let api = ApiClient::new(client.into(), Duration::from_secs(15), None);
    let metrics = Arc::new(Metrics::new("test", "test"));
    Reflector {
        confirmation_api: api.clone(),
        api,
        health: Health::default().add(spec.name),
        spec,
        namespace: String::new(),
        events: Arc::new(Events::dry_run(Arc::clone(&metrics))),
        metrics,
        timeouts: WatchTimeouts::short(),
        sender,
        index: 7,
        leadership: None,
    }
}

/// The engine must not wait for the list of a resource that disappears again (CX3).
#[tokio::test(start_paused = true)]
async fn absence_is_emitted_after_an_incomplete_list() {
    let responses = [(404, ""), (422, ""), (200, PAGE), (404, ""), (404, "")];
    expect_events(
        responses,
        &["Absent", "Init", "Apply", "InitFailed", "Absent", "Absent"],
    )
    .await;
}

const COMPLETE_LIST: &str = r#"{"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}}]}"#;

async fn expect_events(responses: impl IntoIterator<Item = (u16, &'static str)>, expected: &[&str]) {
    let (sender, events) = event_channel();
    expect_events_of(reflector(responses, sender), events, expected).await;
}

async fn expect_events_of(
    reflector: Reflector<(), ()>,
    mut events: EventReceiver<(usize, WatchEvent<()>)>,
    expected: &[&str],
) {
    tokio::spawn(reflector.run(mpsc::channel(1).1));
    for expected in expected {
        let next = tokio::time::timeout(Duration::from_secs(600), events.recv()).await;
        let (index, event) = next.unwrap_or_else(|_| panic!("no {expected}")).unwrap();
        assert_eq!(index, 7);
        assert!(format!("{event:?}").starts_with(expected), "{event:?}, not {expected}");
    }
}

/// The API server reports a storage without progress notifications in the stream of every streaming list (F10).
#[tokio::test(start_paused = true)]
async fn error_event_in_a_streaming_list_leads_to_a_paged_list() {
    const ERROR_EVENT: &str = "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"code\": 500}}\n";
    let responses = [(200, ERROR_EVENT), (200, COMPLETE_LIST)];
    expect_events(responses, &["Init", "InitFailed", "Init", "Apply", "InitDone"]).await;
}

#[tokio::test(start_paused = true)]
async fn streaming_list_that_ends_early_leads_to_a_paged_list() {
    const ONE_OBJECT: &str =
        "{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"name\": \"a\", \"resourceVersion\": \"3\"}}}\n";
    let responses = [(200, ONE_OBJECT), (200, COMPLETE_LIST)];
    expect_events(responses, &["Init", "Apply", "InitFailed", "Init", "Apply", "InitDone"]).await;
}

const LISTED_AT_9: (u16, &str) = (
    200,
    "{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": {\"resourceVersion\": \"9\", \
     \"annotations\": {\"k8s.io/initial-events-end\": \"true\"}}}}\n",
);
const GONE: (u16, &str) = (410, "");

/// A list is a consistent read: if it is older than what was seen, and a second read too, then versions went back (F14).
#[tokio::test(start_paused = true)]
async fn older_list_is_confirmed_by_a_second_read_before_a_new_epoch_starts() {
    const AT_5: (u16, &str) = (200, COMPLETE_LIST);
    const AT_10: (u16, &str) = (200, r#"{"metadata": {"resourceVersion": "10"}, "items": []}"#);
    let confirmed = [LISTED_AT_9, GONE, AT_5, AT_5, LISTED_AT_9];
    expect_events(confirmed, &["Init", "InitDone", "NewEpoch", "Init", "InitDone"]).await;
    let contradicted = [LISTED_AT_9, GONE, AT_5, AT_10, AT_10];
    expect_events(contradicted, &["Init", "InitDone", "Init", "InitDone"]).await;
}

/// A watch from a version that the server has not reached: the server may be behind, or versions went back.
#[tokio::test(start_paused = true)]
async fn too_large_version_starts_a_new_epoch_only_if_two_reads_are_older() {
    const TOO_LARGE: (u16, &str) = (
        504,
        r#"{"reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}"#,
    );
    const AT_5: (u16, &str) = (200, COMPLETE_LIST);
    const AT_9: (u16, &str) = (200, r#"{"metadata": {"resourceVersion": "9"}}"#);
    let went_back = [LISTED_AT_9, TOO_LARGE, AT_5, AT_5, LISTED_AT_9];
    expect_events(went_back, &["Init", "InitDone", "NewEpoch", "Init", "InitDone"]).await;
    let behind = [LISTED_AT_9, TOO_LARGE, AT_5, AT_9, DELETED];
    expect_events(behind, &["Init", "InitDone", "Delete"]).await;
}

const DELETED: (u16, &str) = (
    200,
    "{\"type\": \"DELETED\", \"object\": {\"metadata\": {\"name\": \"a\", \"resourceVersion\": \"10\"}}}\n",
);

/// A server that keeps rejecting watches from one version, or sends what cannot be decoded, accepts lists.
#[tokio::test(start_paused = true)]
async fn rejected_watches_lead_to_a_relist() {
    for rejection in [(500, ""), (200, "{}\n")] {
        let watches = std::sync::atomic::AtomicUsize::new(0);
        let respond = move |request: http::Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let (code, body) = if query.contains("sendInitialEvents") {
                (422, "")
            } else if !query.contains("watch=true") {
                // Lists, and probes for the current version.
                (200, COMPLETE_LIST)
            } else if watches.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 5 {
                rejection
            } else {
                DELETED
            };
            std::future::ready(Ok::<_, Infallible>(response(code, body)))
        };
        let (sender, events) = event_channel();
        let client = kube::Client::new(tower::service_fn(respond), "default");
        let spec = WatchSpec::with_decoder((), "v1", "pools", decode_ref);
        let expected = ["Init", "Apply", "InitDone", "Init", "Apply", "InitDone", "Delete"];
        expect_events_of(reflector_of(client, spec, sender), events, &expected).await;
    }
}

/// An undecodable object exists; without a resourceVersion it does not move the position (F25).
#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_emitted() {
    const GARBAGE: (u16, &str) = (
        200,
        "{\"type\": \"MODIFIED\", \"object\": {\"metadata\": {\"name\": \"garbage\"}}}\n",
    );
    let list = r#"{"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "garbage"}}]}"#;
    let responses = [(422, ""), (200, list), GARBAGE, GARBAGE, DELETED];
    let expected = [
        "Init",
        "Undecodable",
        "InitDone",
        "Undecodable",
        "Undecodable",
        "Delete",
    ];
    expect_events(responses, &expected).await;
}

/// Objects wait in the channel up to a size, not up to a number (I12).
#[tokio::test(start_paused = true)]
async fn large_objects_that_the_engine_has_not_taken_stop_the_reflector() {
    let padding = "x".repeat(3 << 20);
    let object = format!(r#"{{"metadata": {{"name": "a"}}, "padding": "{padding}"}}"#);
    let page = format!(r#"{{"metadata": {{"resourceVersion": "5"}}, "items": [{object}, {object}, {object}]}}"#);
    let event = format!("{{\"type\": \"ADDED\", \"object\": {object}}}\n");
    for responses in [
        vec![(422, ""), (200, page.leak() as &str)],
        vec![(200, event.repeat(3).leak() as &str)],
    ] {
        let (sender, mut events) = event_channel();
        tokio::spawn(reflector(responses, sender).run(mpsc::channel(1).1));
        // Time advances only when no task can run.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let found: Vec<_> = std::iter::from_fn(|| events.try_recv()).collect();
        assert_eq!(found.len(), 3, "`Init` and two of the objects: {found:?}");
        assert!(matches!(events.recv().await, Some((_, WatchEvent::Apply(_)))));
    }
}
