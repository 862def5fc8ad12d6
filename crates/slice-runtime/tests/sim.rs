//! A controller of a few lines on the in-memory API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use apisim::ApiSim;
use slice_controller::{
    Change, Controller, Event, Failure, Identity, Key, Outcome, Seen, Source, Sync, SyncContext, Wakes,
};
use slice_runtime::{Health, Metrics, Options, run};

/// Looks at namespaces, and wants nothing of them.
struct Namespaces {
    decode: fn(&[u8]) -> Result<Seen<()>, serde_json::Error>,
    looks: Arc<AtomicUsize>,
}

impl Default for Namespaces {
    fn default() -> Self {
        Self {
            decode: |_| {
                Ok(Seen {
                    identity: Identity::default(),
                    object: (),
                })
            },
            looks: Arc::default(),
        }
    }
}

impl Controller for Namespaces {
    type Input = ();

    fn sources(&self) -> Vec<Source<()>> {
        vec![Source {
            kind: "namespaces",
            api: "api/v1",
            resource: "namespaces",
            namespaced: false,
            label_selector: String::new(),
            metadata_only: false,
            decode: self.decode,
        }]
    }

    fn observe(&mut self, _change: Change<()>, wakes: &mut Wakes) {
        wakes.now(Key::new("", "all"));
    }

    fn held(&self, _kind: &'static str) -> Vec<Identity> {
        Vec::new()
    }

    fn keys(&self) -> Vec<Key> {
        vec![Key::new("", "all")]
    }

    fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<Sync, String> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Ok(Sync::default())
    }

    fn finished(&mut self, _key: &Key, _outcome: &Outcome) {}

    fn failure_event(&self, _key: &Key, _failures: &[Failure]) -> Option<Event> {
        None
    }
}

fn options() -> Options {
    Options {
        managed_by: "us".to_owned(),
        event_source: "us",
        namespace: String::new(),
        concurrency: NonZeroUsize::MIN,
        slice_delay: Duration::ZERO,
        resync: Duration::ZERO,
        rate_limit: None,
        dry_run: false,
    }
}

/// Runs a controller until it has looked so often.
async fn run_for(controller: Namespaces, options: Options, looks: usize) {
    let seen = Arc::clone(&controller.looks);
    let metrics = Metrics::new(&prometheus::Registry::new(), "test", "test").unwrap();
    let enough = async {
        while seen.load(Ordering::Relaxed) < looks {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let client = kube::Client::new(ApiSim::new(), "default");
    run(
        controller,
        client,
        options,
        Arc::new(Health::default()),
        Arc::new(metrics),
        enough,
    )
    .await;
}

#[tokio::test]
async fn everything_is_looked_at_from_time_to_time_or_never() {
    let often = Options {
        resync: Duration::from_millis(1),
        ..options()
    };
    run_for(Namespaces::default(), often, 5).await;
    run_for(Namespaces::default(), options(), 1).await;
}

#[tokio::test]
#[should_panic(expected = "a decoder that panics")]
async fn nobody_goes_on_half_blind() {
    let controller = Namespaces {
        decode: |_| panic!("a decoder that panics"),
        ..Namespaces::default()
    };
    run_for(controller, options(), 1).await;
}
