//! The reflector on the simulated API server.

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match, Rule, StreamFault},
    request::Verb,
};
use http_body_util::Either;
use k8s_openapi::api::core::v1::{Event, Namespace, ObjectReference};
use kube::api::{Api, ListParams, PostParams};
use tokio::time::Instant;

use super::*;

/// A reflector of namespaces on a simulated server.
struct Cluster {
    sim: ApiSim,
    faults: Faults,
    namespaces: Api<Namespace>,
    events: EventReceiver<(usize, WatchEvent<()>)>,
    confirmations: mpsc::Sender<ConfirmationRequest>,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

impl Cluster {
    fn new(timeouts: WatchTimeouts) -> Self {
        let (sim, faults) = (ApiSim::new(), Faults::default());
        let client = kube::Client::new(FaultService::new(sim.clone(), faults.clone()), "default");
        Self::with_client(timeouts, sim, faults, client)
    }

    fn with_client(timeouts: WatchTimeouts, sim: ApiSim, faults: Faults, client: kube::Client) -> Self {
        let (sender, events) = event_channel();
        let (confirmations, requests) = mpsc::channel(1);
        let spec = WatchSpec::with_decoder((), "v1", "namespaces", decode_ref).cluster_scoped();
        let health = Arc::new(Health::default());
        let mut reflector = Reflector {
            timeouts,
            health: health.add("namespaces"),
            ..reflector_of(client, spec, sender)
        };
        let metrics = Arc::clone(&reflector.metrics);
        let (sender, recorder) = Events::new(reflector.api.clone(), "test", Arc::clone(&metrics));
        reflector.events = Arc::new(sender);
        tokio::spawn(recorder);
        tokio::spawn(reflector.run(requests));
        Self {
            namespaces: Api::all(kube::Client::new(sim.clone(), "default")),
            sim,
            faults,
            events,
            confirmations,
            health,
            metrics,
        }
    }

    async fn create(&self, name: &str) {
        let namespace = serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap();
        self.namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
    }

    /// Receives events up to the end of a list. Returns the names of applied objects.
    async fn listed(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..999 {
            match self.next().await {
                WatchEvent::Apply(decoded) => names.push(decoded.object_ref.name.into()),
                WatchEvent::InitDone { .. } => return names,
                _ => {}
            }
        }
        panic!("no complete list");
    }

    async fn next(&mut self) -> WatchEvent<()> {
        let next = tokio::time::timeout(Duration::from_secs(3600), self.events.recv()).await;
        next.expect("no event").unwrap().1
    }

    /// Receives the event of a new object. Returns the time until then.
    async fn applied(&mut self, name: &str) -> Duration {
        let started_at = Instant::now();
        loop {
            if matches!(self.next().await, WatchEvent::Apply(decoded) if &*decoded.object_ref.name == name) {
                return started_at.elapsed();
            }
        }
    }

    fn state(&self) -> crate::WatchState {
        self.health.watches().remove(0).1
    }

    fn lists(&self, reason: &str) -> bool {
        let list = format!("test_lists_total{{resource=\"namespaces\",reason=\"{reason}\"}}");
        self.metrics.page().contains(&list)
    }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// etcd is restored from an older copy: events of new objects arrive within a minute (F14).
#[tokio::test(start_paused = true)]
async fn versions_that_went_back_are_detected_within_a_minute() {
    for (timeouts, outage) in [
        (WatchTimeouts::short(), 0),
        (WatchTimeouts::long(), 0),
        (WatchTimeouts::short(), 20),
        (WatchTimeouts::long(), 20),
    ] {
        // After lost connections: a step of the backoff, the probe and its confirmation.
        let limit = Duration::from_secs(if outage > 0 { 20 } else { 60 });
        let mut cluster = Cluster::new(timeouts);
        cluster.listed().await;
        let before = cluster.sim.revision();
        for name in ["a", "b", "c", "d"] {
            cluster.create(name).await;
            cluster.applied(name).await;
        }
        seconds(100).await;
        let down = (outage > 0).then(|| cluster.faults.add(Rule::when(Match::default()).drop_request()));
        cluster.sim.rewind(before);
        seconds(outage).await;
        if let Some(down) = down {
            down.remove();
        }
        cluster.create("new").await;
        let started_at = Instant::now();
        while !matches!(cluster.next().await, WatchEvent::NewEpoch) {}
        let names = cluster.listed().await;
        assert!(started_at.elapsed() <= limit, "{:?}", started_at.elapsed());
        assert!(
            names.contains(&"new".to_owned()) && !names.contains(&"a".to_owned()),
            "{names:?}"
        );
        assert!(cluster.lists("epoch"));
        // Versions of the new epoch are accepted.
        cluster.create("newer").await;
        cluster.applied("newer").await;
    }
}

/// The restored server has written so much that its versions passed the one that was seen, before it could be probed (F14).
#[tokio::test(start_paused = true)]
async fn versions_that_went_back_and_passed_those_that_were_seen_are_detected() {
    for timeouts in [WatchTimeouts::short(), WatchTimeouts::long()] {
        let mut cluster = Cluster::new(timeouts);
        cluster.listed().await;
        let before = cluster.sim.revision();
        cluster.create("lost").await;
        cluster.applied("lost").await;
        seconds(5).await;
        cluster.sim.rewind(before);
        for name in ["a", "b", "c"] {
            cluster.create(name).await;
        }
        let started_at = Instant::now();
        while !matches!(cluster.next().await, WatchEvent::NewEpoch) {}
        let names = cluster.listed().await;
        assert!(
            started_at.elapsed() <= Duration::from_secs(60),
            "{:?}",
            started_at.elapsed()
        );
        assert!(
            ["a", "b", "c"].iter().all(|name| names.contains(&(*name).to_owned())),
            "{names:?}"
        );
        assert!(!names.contains(&"lost".to_owned()), "{names:?}");
    }
}

/// The watch shows the deletion of the newest object late: no reason for a list.
#[tokio::test(start_paused = true)]
async fn deletion_of_the_newest_object_causes_no_list() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    for name in ["a", "b", "c"] {
        cluster.create(name).await;
        cluster.applied(name).await;
        cluster
            .namespaces
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
        seconds(120).await;
    }
    assert!(!cluster.lists("epoch"));
}

/// Without pings, a stream that the server ends after minutes would hide a broken connection (F9).
#[tokio::test(start_paused = true)]
async fn short_watch_follows_a_streaming_list_by_http1() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    seconds(1).await;
    let watches = cluster.faults.requests(&Match::verb(Verb::Watch));
    let queries: Vec<_> = watches.iter().map(|watch| format!("{:?}", watch.request)).collect();
    assert_eq!(watches.len(), 2, "{queries:?}");
}

/// No list is caused by probes, by watches that end and by lost connections (F8).
#[tokio::test(start_paused = true)]
async fn nothing_is_listed_again_in_an_epoch() {
    for timeouts in [WatchTimeouts::short(), WatchTimeouts::long()] {
        let mut cluster = Cluster::new(timeouts);
        cluster.listed().await;
        for i in 0..20 {
            seconds(60).await;
            cluster
                .faults
                .add(Rule::on(Verb::Watch, "namespaces").times(1).stream(StreamFault::Cut));
            let name = format!("n{i}");
            cluster.create(&name).await;
            cluster.applied(&name).await;
        }
        assert!(
            !["expired", "failed", "epoch", "confirmation"]
                .iter()
                .any(|reason| cluster.lists(reason))
        );
    }
}

/// A watch that is open but silent does not make the position younger.
#[tokio::test(start_paused = true)]
async fn position_age_grows_while_watches_are_silent() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    let before = cluster.sim.revision();
    cluster.create("a").await;
    cluster.applied("a").await;
    seconds(2).await;
    // A consistent read would show that versions went back.
    cluster.faults.add(Rule::on(Verb::List, "namespaces").answer(500));
    cluster.sim.rewind(before);
    seconds(25).await;
    let (state, now) = (cluster.state(), Instant::now().into_std());
    assert!(state.position_age(now) >= Some(Duration::from_secs(27)), "{state:?}");
    assert!(state.idle_for(now) <= Some(Duration::from_secs(13)), "{state:?}");
}

/// Long watches: the connection stays open, but frames do not arrive.
#[tokio::test(start_paused = true)]
async fn watch_without_frames_is_opened_again() {
    let mut cluster = Cluster::new(WatchTimeouts::long());
    cluster.listed().await;
    cluster.faults.add(
        Rule::on(Verb::Watch, "namespaces")
            .times(1)
            .stream(StreamFault::HalfOpen),
    );
    cluster.create("a").await;
    assert!(cluster.applied("a").await <= Duration::from_secs(95));
}

/// A stopped server: the watch does not end, and the next one is not opened (F9).
#[tokio::test(start_paused = true)]
async fn overdue_watch_is_an_error_until_a_watch_is_opened() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    let watches = || Rule::on(Verb::Watch, "namespaces");
    cluster.faults.add(watches().times(1).stream(StreamFault::HalfOpen));
    let held = cluster.faults.add(watches().hold_request());
    let error = |cluster: &Cluster| cluster.health.watches()[0].1.last_error.clone();
    tokio::time::sleep(Duration::from_secs(15)).await;
    let (text, _) = error(&cluster).expect("an error");
    assert!(text.contains("did not end a watch in time"), "{text}");
    held.remove();
    cluster.create("a").await;
    cluster.applied("a").await;
    assert_eq!(error(&cluster), None);
}

/// The storage has no progress notifications: every streaming list is an ERROR event (F10).
#[tokio::test(start_paused = true)]
async fn server_that_rejects_streaming_lists_in_the_stream_is_listed_in_pages() {
    let sim = ApiSim::new();
    let server = sim.clone();
    let respond = move |request: http::Request<Body>| {
        let streaming = request.uri().query().unwrap_or_default().contains("sendInitialEvents");
        let response = tower::Service::call(&mut server.clone(), request);
        async move {
            if streaming {
                let error = "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"code\": 500}}\n";
                return Ok(super::response(200, error).map(Either::Left));
            }
            response.await.map(|response| response.map(Either::Right))
        }
    };
    let client = kube::Client::new(tower::service_fn(respond), "default");
    let mut cluster = Cluster::with_client(WatchTimeouts::short(), sim, Faults::default(), client);
    assert_eq!(cluster.listed().await.len(), 4);
    cluster.create("a").await;
    cluster.applied("a").await;
}

/// The head of the response arrives, and nothing else (F10).
#[tokio::test(start_paused = true)]
async fn streaming_list_that_stalls_is_reported_and_listed_in_pages() {
    let faults = Faults::default();
    faults.add(
        Rule::on(Verb::Watch, "namespaces")
            .times(1)
            .stream(StreamFault::HalfOpen),
    );
    let sim = ApiSim::new();
    let client = kube::Client::new(FaultService::new(sim.clone(), faults.clone()), "default");
    let mut cluster = Cluster::with_client(WatchTimeouts::short(), sim, faults, client);
    assert!(matches!(cluster.next().await, WatchEvent::Init));
    assert!(matches!(cluster.next().await, WatchEvent::InitFailed));
    tokio::task::yield_now().await;
    let (error, _) = cluster.state().last_error.unwrap();
    assert!(error.contains("received no data in time"), "{error}");
    assert_eq!(cluster.listed().await.len(), 4);
    assert_eq!(cluster.faults.count(&Match::verb(Verb::List).resource("namespaces")), 1);
}

/// The engine requests a second list, which starts after the delay.
#[tokio::test(start_paused = true)]
async fn requested_confirmation_is_a_list_after_the_delay() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    let requested_at = Instant::now();
    let request = |message: &str| ConfirmationRequest {
        delay: Duration::from_secs(30),
        message: message.to_owned(),
    };
    cluster.confirmations.send(request("most are missing")).await.unwrap();
    seconds(20).await;
    assert_eq!(cluster.state().unconfirmed.as_deref(), Some("most are missing"));
    cluster.confirmations.send(request("again")).await.unwrap();
    cluster.listed().await;
    assert_eq!(
        requested_at.elapsed().as_secs(),
        30,
        "a second request does not defer it"
    );
    assert_eq!(cluster.state().unconfirmed, None);
    assert!(cluster.lists("confirmation"));
}

/// Each version of an undecodable object is counted once and gets an event, however often it is listed (F25).
#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_counted_once_and_get_an_event() {
    let mut cluster = Cluster::new(WatchTimeouts::short());
    cluster.listed().await;
    cluster.create("garbage").await;
    assert!(matches!(cluster.next().await, WatchEvent::Undecodable(_)));
    seconds(1).await;
    let (delay, message) = (Duration::ZERO, String::new());
    cluster
        .confirmations
        .send(ConfirmationRequest { delay, message })
        .await
        .unwrap();
    cluster.listed().await;
    let page = cluster.metrics.page();
    assert!(
        page.contains("test_objects_skipped_total{resource=\"namespaces\"} 1\n"),
        "{page}"
    );
    let events: Api<Event> = Api::namespaced(kube::Client::new(cluster.sim.clone(), "default"), "default");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let [event] = &events[..] else { panic!("{events:?}") };
    let object = cluster.namespaces.get("garbage").await.unwrap();
    let ObjectReference {
        api_version,
        kind,
        name,
        uid,
        ..
    } = event.involved_object.clone();
    assert_eq!(
        [api_version, kind, name],
        ["v1", "Namespace", "garbage"].map(|text| Some(text.to_owned()))
    );
    assert_eq!((uid, event.count), (object.metadata.uid, Some(1)));
    assert_eq!(event.reason.as_deref(), Some("UndecodableObject"));
    let message = event.message.as_deref().unwrap();
    assert!(message.ends_with("which is skipped: garbage"), "{message}");
}
