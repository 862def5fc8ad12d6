use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Mutex, PoisonError},
};

use kube::client::Body;

use super::*;
use crate::health::Health;

const PAGE: &str =
    r#"{"metadata": {"resourceVersion": "1", "continue": "here"}, "items": [{"metadata": {"name": "a"}}]}"#;

/// A reflector of an optional resource that receives these responses, and then none.
fn reflector(
    responses: impl IntoIterator<Item = (u16, &'static str)>,
    sender: mpsc::Sender<(usize, WatchEvent<()>)>,
) -> Reflector<(), ()> {
    let responses = Mutex::new(responses.into_iter().collect::<VecDeque<_>>());
    let respond = move |_request: http::Request<Body>| {
        let next = responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        async move {
            let Some((code, body)) = next else {
                return std::future::pending().await;
            };
            let body = Body::from(body.as_bytes().to_vec());
            Ok::<_, Infallible>(http::Response::builder().status(code).body(body).unwrap())
        }
    };
    let client = kube::Client::new(tower::service_fn(respond), "default");
    let decode = |bytes: &[u8]| {
        let object_ref = ObjectRef::decode(bytes)?;
        Ok(Decoded { object_ref, object: () })
    };
    Reflector {
        api: ApiClient::new(client.into(), Duration::from_secs(15), None),
        spec: WatchSpec::with_decoder((), "example.com/v1", "pools", decode).optional(),
        namespace: String::new(),
        health: Health::default().add("pools"),
        metrics: Arc::new(Metrics::new("test", "test")),
        timeouts: WatchTimeouts::default(),
        sender,
        index: 7,
    }
}

/// The engine must not wait for the list of a resource that disappears again (CX3).
#[tokio::test(start_paused = true)]
async fn absence_is_emitted_after_an_incomplete_list() {
    let responses = [(404, ""), (422, ""), (200, PAGE), (404, ""), (404, "")];
    expect_events(responses, &["Absent", "Init", "Apply", "Absent", "Absent"]).await;
}

const COMPLETE_LIST: &str = r#"{"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}}]}"#;

async fn expect_events(responses: impl IntoIterator<Item = (u16, &'static str)>, expected: &[&str]) {
    let (sender, mut events) = mpsc::channel(9);
    tokio::spawn(reflector(responses, sender).run());
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
    expect_events(responses, &["Init", "Init", "Apply", "InitDone"]).await;
}

#[tokio::test(start_paused = true)]
async fn streaming_list_that_ends_early_leads_to_a_paged_list() {
    const ONE_OBJECT: &str =
        "{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"name\": \"a\", \"resourceVersion\": \"3\"}}}\n";
    let responses = [(200, ONE_OBJECT), (200, COMPLETE_LIST)];
    expect_events(responses, &["Init", "Apply", "Init", "Apply", "InitDone"]).await;
}
