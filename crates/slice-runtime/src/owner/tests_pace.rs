//! How many keys are looked at, and when the next one is.

use slice_controller::{Identity, Interner, Seen, Source};
use slice_reconciler::{Deletion, Operation, Plan};

use super::*;

/// Every object is a key, and every look at one leads to this plan.
struct Stub {
    plan: Plan,
    looks: Vec<String>,
    interner: Interner,
}

impl Controller for Stub {
    type Input = String;

    fn sources(&self) -> Vec<Source<String>> {
        Vec::new()
    }

    fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    fn observe(&mut self, change: Change<String>, wakes: &mut Wakes) {
        if let Change::Applied(name) = change {
            wakes.now(Key::new("ns", name));
        }
    }

    fn held(&self, _kind: &'static str) -> Vec<Identity> {
        Vec::new()
    }

    fn keys(&self) -> Vec<Key> {
        Vec::new()
    }

    fn sync(&mut self, key: &Key, _context: &SyncContext<'_>) -> Result<Sync, String> {
        self.looks.push(key.name.to_string());
        Ok(Sync {
            plan: self.plan.clone(),
            ..Sync::default()
        })
    }

    fn finished(&mut self, _key: &Key, _outcome: &Outcome) {}

    fn failure_event(&self, _key: &Key, _failures: &[Failure]) -> Option<Event> {
        None
    }
}

/// An owner that is told of these keys, and writes one at a time.
fn owner(plan: Plan, keys: &[&str], now: Instant) -> (Owner<Stub>, Arc<Metrics>) {
    let settings = Settings {
        managed_by: "us".to_owned(),
        concurrency: NonZeroUsize::MIN,
        slice_delay: Duration::ZERO,
        dry_run: false,
    };
    let metrics = Arc::new(Metrics::new("stub", "stub"));
    let mut owner = Owner::new(
        Stub {
            plan,
            looks: Vec::new(),
            interner: Interner::default(),
        },
        settings,
        Arc::clone(&metrics),
    );
    owner.hear_slices(News::Listing, now);
    owner.hear_slices(News::Listed { version: "1".into() }, now);
    for key in keys {
        owner.hear("stubs", applied(key), now);
    }
    (owner, metrics)
}

fn applied(key: &str) -> News<String> {
    News::Applied(Seen {
        identity: Identity::default(),
        object: key.to_owned(),
    })
}

fn one_write() -> Plan {
    let operation = Operation::Delete(Deletion::default());
    let after = Vec::new();
    Plan {
        writes: vec![Write { operation, after }],
        ..Plan::default()
    }
}

#[test]
fn keys_that_are_left_are_told() {
    let now = Instant::now();
    let (mut owner, _) = owner(Plan::default(), &["a", "b", "c"], now);
    let more: Vec<bool> = (0..2).map(|_| owner.work(2, now, Timestamp::now()).more).collect();
    assert_eq!(more, [true, false]);
}

/// A key whose time has come is no reason to wake up as long as it has to wait for a writer.
#[test]
fn nothing_is_to_be_done_while_all_writers_are_busy() {
    let now = Instant::now();
    let (mut owner, _) = owner(one_write(), &["a", "b"], now);
    let work = owner.work(9, now, Timestamp::now());
    let key = work.jobs[0].key.clone();
    assert_eq!((work.jobs.len(), work.more), (1, false));
    owner.queue.add(Key::new("ns", "later"), Duration::from_secs(1), now);
    assert_eq!(owner.next_deadline(), None);
    owner.finished(&key, now);
    assert_eq!(owner.next_deadline(), Some(now + Duration::from_secs(1)));
    assert!(!owner.work(9, now, Timestamp::now()).jobs.is_empty());
}

/// R131: as in the work queues of Kubernetes, where a key that waits is not added.
#[test]
fn who_asks_for_what_was_asked_for_is_not_counted() {
    let (_, metrics) = owner(Plan::default(), &["a", "b", "a", "a"], Instant::now());
    let metrics = metrics.page();
    assert!(metrics.contains("workqueue_adds_total{name=\"stub\"} 2\n"), "{metrics}");
}

/// Between the first object of a new list and its end, what is known is half old and half new: whoever is concerned waits
/// for the end, also if the list has to begin again.
#[test]
fn nobody_is_looked_at_for_half_a_list() {
    let now = Instant::now();
    let (mut owner, _) = owner(Plan::default(), &[], now);
    let looked_at = |owner: &mut Owner<Stub>| {
        owner.work(9, now, Timestamp::now());
        std::mem::take(&mut owner.controller.looks)
    };
    for _ in 0..2 {
        owner.hear("stubs", News::Listing, now);
        owner.hear("stubs", applied("new"), now);
        assert_eq!(looked_at(&mut owner), [""; 0]);
    }
    owner.hear_slices(News::Listing, now);
    owner.hear_slices(News::Listed { version: "2".into() }, now);
    assert_eq!(looked_at(&mut owner), [""; 0]);
    owner.hear("stubs", News::Listed { version: "2".into() }, now);
    assert_eq!(looked_at(&mut owner), ["new"]);
}
