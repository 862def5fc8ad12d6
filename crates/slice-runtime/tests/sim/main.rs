//! The runtime with small controllers on the in-memory API server.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod library_page;
mod multus;
mod optional;
#[path = "../reporter/mod.rs"]
mod reporter;
#[path = "../multus/mod.rs"]
mod scenario;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match, Rule},
    request::Verb,
};
use slice_controller::{
    Controller, Decoded, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec,
};
use slice_core::AddressType;
use slice_reconciler::{EndpointCounts, Plan, PlanStats};
use slice_runtime::{Health, Metrics, RunOptions, leader_election::LeaderElection, preflight, run};

/// A controller that watches namespaces and has one key, which stays active for resyncs.
struct Namespaces {
    decode: fn(&[u8]) -> Result<Decoded<()>, serde_json::Error>,
    syncs: Arc<AtomicUsize>,
}

impl Default for Namespaces {
    fn default() -> Self {
        Self {
            decode: |_| {
                Ok(Decoded {
                    object_ref: ObjectRef::default(),
                    object: (),
                })
            },
            syncs: Arc::default(),
        }
    }
}

impl Controller for Namespaces {
    type WatchId = ();
    type Object = ();

    fn watches(&self) -> Vec<WatchSpec<(), ()>> {
        vec![WatchSpec::with_decoder((), "v1", "namespaces", self.decode).cluster_scoped()]
    }

    fn apply(&mut self, _object: (), context: &mut EventContext) {
        context.enqueue(Key::new("", "all"));
    }

    fn delete(&mut self, _watch: (), _object: &ObjectRef, context: &mut EventContext) {
        context.enqueue(Key::new("", "all"));
    }

    fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let stats = PlanStats {
            address_type: AddressType::IPv4,
            changes: EndpointCounts::default(),
            desired_endpoints: 0,
            slices: 0,
            min_slices: 0,
        };
        let plan = Plan {
            stats: vec![stats],
            ..Plan::default()
        };
        Ok(plan.into())
    }
}

fn options() -> RunOptions {
    RunOptions::new("us", "us")
}

/// A client of a new API server, and the faults of its requests.
fn server() -> (kube::Client, Faults) {
    let faults = Faults::default();
    let service = FaultService::new(ApiSim::new(), faults.clone());
    (kube::Client::new(service, "default"), faults)
}

/// Runs a controller for a minute of paused time.
async fn run_for_a_minute(controller: Namespaces, options: RunOptions) -> Arc<Metrics> {
    let (client, _) = server();
    let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::new("test", "test")));
    let minute = tokio::time::sleep(Duration::from_secs(60));
    let result = run(controller, client, options, health, Arc::clone(&metrics), minute).await;
    assert_eq!(result, Ok(()));
    metrics
}

#[tokio::test(start_paused = true)]
async fn every_key_is_synced_once_per_resync_period() {
    for (resync_period, syncs) in [(0, 1), (7, 1 + 60 / 7)] {
        let controller = Namespaces::default();
        let synced = Arc::clone(&controller.syncs);
        let resync_period = Duration::from_secs(resync_period);
        let options = RunOptions {
            resync_period,
            ..options()
        };
        run_for_a_minute(controller, options).await;
        assert_eq!(synced.load(Ordering::Relaxed), syncs, "{resync_period:?}");
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a decoder that panics")]
async fn a_panic_of_a_reflector_ends_the_run() {
    let controller = Namespaces {
        decode: |_| panic!("a decoder that panics"),
        ..Namespaces::default()
    };
    run_for_a_minute(controller, options()).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "cannot convert float seconds to Duration")]
async fn a_panic_of_the_candidate_ends_the_run() {
    let election = LeaderElection {
        // With jitter, the delay exceeds what a duration can be.
        retry_period: Duration::MAX,
        ..LeaderElection::new("lock", "a")
    };
    let options = RunOptions {
        leader_election: Some(election),
        ..options()
    };
    let (client, faults) = server();
    faults.add(Rule::when(Match::default().resource("leases")).answer(403));
    let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::new("test", "test")));
    let minute = tokio::time::sleep(Duration::from_secs(60));
    let run = run(Namespaces::default(), client, options, health, metrics, minute);
    // Without the panic, the release of the lease does not end.
    let ended = tokio::time::timeout(Duration::from_secs(120), run).await;
    assert_eq!(ended, Ok(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_counted() {
    let controller = Namespaces {
        decode: |_| Err(serde::de::Error::custom("not a namespace")),
        ..Namespaces::default()
    };
    let page = run_for_a_minute(controller, options()).await.page();
    let skipped = "test_objects_skipped_total{resource=\"namespaces\"} 4\n";
    assert!(page.contains(skipped), "{page}");
    assert!(
        page.contains("test_events_dropped_total{reason=\"spam\"} 0\n"),
        "{page}"
    );
}

/// A server that cannot be reached, lacks a resource, denies access or is busy is waited for, and the health shows why.
#[tokio::test(start_paused = true)]
async fn the_initial_list_is_retried_until_the_server_answers() {
    for (rule, reason) in [
        (Rule::when(Match::default()).drop_request(), ""),
        (
            Rule::when(Match::default().resource("endpointslices")).answer(404),
            "the API server does not serve apis/discovery.k8s.io/v1/endpointslices, which is required",
        ),
        (Rule::when(Match::default()).answer(403), "injected fault: 403"),
        (Rule::when(Match::default()).answer(503), "injected fault: 503"),
    ] {
        let (client, faults) = server();
        let rule = faults.add(rule);
        let health = Arc::new(Health::default());
        let scenario = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(!health.is_ready());
            let watches = health.watches();
            let (_, slices) = watches.iter().find(|(name, _)| *name == "endpointslices").unwrap();
            let (error, _) = slices.last_error.as_ref().unwrap();
            assert!(error.contains(reason), "{error}");
            rule.remove();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(health.is_ready(), "{reason}");
        };
        let metrics = Arc::new(Metrics::new("test", "test"));
        let health = Arc::clone(&health);
        let result = run(Namespaces::default(), client, options(), health, metrics, scenario).await;
        assert_eq!(result, Ok(()));
    }
}

#[test]
fn preflight_reports_an_invalid_namespace() {
    let malformed = RunOptions {
        namespace: "a b".to_owned(),
        ..options()
    };
    assert_eq!(preflight(&Namespaces::default(), &options()), []);
    let [error] = &preflight(&Namespaces::default(), &malformed)[..] else {
        panic!("one error expected: namespaces have no namespace");
    };
    assert_eq!(error.resource, "endpointslices");
}

/// A server that closes every watch at once is not flooded with requests (F12).
#[tokio::test(start_paused = true)]
async fn watches_that_close_at_once_back_off() {
    let watches = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&watches);
    let respond = move |request: http::Request<kube::client::Body>| {
        let query = request.uri().query().unwrap_or_default();
        let (code, body) = if query.contains("sendInitialEvents") {
            (422, "")
        } else if query.contains("watch=true") {
            assert!(count.fetch_add(1, Ordering::Relaxed) < 1000, "no backoff");
            (200, "")
        } else {
            (200, r#"{"metadata": {"resourceVersion": "1"}, "items": [{}]}"#)
        };
        let body = kube::client::Body::from(body.as_bytes().to_vec());
        let response = http::Response::builder().status(code).body(body).unwrap();
        std::future::ready(Ok::<_, std::convert::Infallible>(response))
    };
    let client = kube::Client::new(tower::service_fn(respond), "default");
    let metrics = Metrics::new("test", "test");
    // Paused time: it passes when all tasks wait.
    let minute = tokio::time::sleep(Duration::from_secs(60));
    let (health, metrics) = (Arc::new(Health::default()), Arc::new(metrics));
    let result = run(Namespaces::default(), client, options(), health, metrics, minute).await;
    assert_eq!(result, Ok(()));
    let watches = watches.load(Ordering::Relaxed);
    assert!((2..60).contains(&watches), "{watches}");
}
