//! Many due keys while the API server rejects or does not respond.

use slice_controller::WriteError;
use slice_reconciler::Plan;

use super::{super::*, stub::*};
use crate::watch::WatchEvent;

const SECOND: Duration = Duration::from_secs(1);

/// A plan of independent writes.
fn writes(count: usize) -> Plan {
    let one = one_write();
    Plan {
        writes: vec![one.writes[0].clone(); count],
        ..one
    }
}

/// An engine with these keys due, and the default number of slots.
fn engine_with_keys(plan: Plan, keys: usize, now: Instant) -> Engine<StubController> {
    let names: Vec<String> = (0..keys).map(|key| key.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut engine, _) = engine(plan, &names, now);
    engine.admission = Admission::new(NonZeroUsize::new(5).unwrap());
    engine
}

/// Runs until `end`. Each write that a writer would send gets the same result at once. Returns the time of each request.
fn run_until(
    engine: &mut Engine<StubController>,
    now: &mut Instant,
    end: Instant,
    result: impl Fn() -> WriteResult,
) -> Vec<Instant> {
    let mut requests = Vec::new();
    while *now < end {
        let batch = engine.process_due(64, *now, Timestamp::now());
        if batch.jobs.is_empty() && !batch.has_more {
            *now = engine.next_deadline(*now).map_or(end, |deadline| deadline.min(end));
        }
        for job in batch.jobs {
            let mut ended = false;
            for write in 0..job.writes.len() {
                let sent = !ended || write < job.max_in_flight.get();
                let result = if sent { result() } else { WriteResult::DependencyFailed };
                if sent {
                    requests.push(*now);
                    ended |= Response::of(&result).is_some_and(Response::ends_plan);
                }
                engine.on_write_result(&job.key, write, result, *now);
            }
            engine.on_writes_done(&job.key, *now);
        }
    }
    requests
}

fn rejected(code: u16, reason: &str, retry_after: Option<Duration>) -> WriteResult {
    let error = WriteError::Api {
        code,
        reason: reason.to_owned(),
        message: String::new(),
    };
    WriteResult::Failed { error, retry_after }
}

/// The largest number of requests in any second, without the first: the server has not rejected anything before.
fn most_per_second(requests: &[Instant]) -> usize {
    let first = requests[0];
    let later: Vec<Instant> = requests.iter().copied().filter(|at| *at >= first + SECOND).collect();
    let in_window = |start: &Instant| {
        later
            .iter()
            .filter(|at| (*start..*start + SECOND).contains(*at))
            .count()
    };
    later.iter().map(in_window).max().unwrap_or_default()
}

/// However many keys are due, an overloaded server gets few requests; afterwards all keys converge (F6, I12).
#[test]
fn ten_thousand_due_keys_do_not_flood_a_server_that_rejects_everything() {
    for (name, result) in [
        (
            "429 of priority and fairness",
            &(|| rejected(429, "", Some(SECOND))) as &dyn Fn() -> WriteResult,
        ),
        ("503", &|| rejected(503, "ServiceUnavailable", Some(SECOND))),
        ("connection refused", &|| WriteResult::Failed {
            error: WriteError::Transport("connection refused".into()),
            retry_after: None,
        }),
    ] {
        let mut now = Instant::now();
        let mut engine = engine_with_keys(writes(20), 10_000, now);
        let end = now + 120 * SECOND;
        let requests = run_until(&mut engine, &mut now, end, result);
        let first_second = requests.iter().filter(|at| **at < requests[0] + SECOND).count();
        assert!(
            first_second <= 40,
            "{name}: {first_second} requests in the first second"
        );
        let most = most_per_second(&requests);
        assert!(most <= 20, "{name}: {most} requests per second");
        assert!(requests.len() > 100, "{name}: the server is tried again");
        let end = now + 120 * SECOND;
        run_until(&mut engine, &mut now, end, || WriteResult::Deleted);
        assert_eq!((engine.queue.depth(), engine.queue.failing().count()), (0, 0), "{name}");
        assert_eq!(engine.next_deadline(now), None, "{name}");
    }
}

/// The refusals of a webhook for some keys do not hold other keys back for longer than one closing of the gate.
#[test]
fn a_key_that_is_denied_forever_delays_no_other_key() {
    let mut now = Instant::now();
    let mut engine = engine_with_keys(one_write(), 1, now);
    let denied = || rejected(503, "ServiceUnavailable", Some(30 * SECOND));
    let end = now + 300 * SECOND;
    let requests = run_until(&mut engine, &mut now, end, denied);
    assert!((2..=11).contains(&requests.len()), "{}", requests.len());
    engine.handle_event(0, applied("other"), now);
    let batch = engine.process_due(64, now, Timestamp::now());
    assert!(batch.jobs.iter().any(|job| &*job.key.name == "other"));
}

/// A server that rejects lists or watches because of load gets no writes either (F6).
#[test]
fn a_rejected_watch_holds_writes_back() {
    let now = Instant::now();
    let mut engine = engine_with_keys(one_write(), 3, now);
    let overloaded = WatchEvent::Overloaded {
        retry_after: Some(2 * SECOND),
    };
    engine.handle_event(0, overloaded, now);
    assert!(engine.process_due(64, now, Timestamp::now()).jobs.is_empty());
    let opens_at = now + 2 * SECOND;
    assert_eq!(engine.next_deadline(now), Some(opens_at));
    assert!(!engine.process_due(64, opens_at, Timestamp::now()).jobs.is_empty());
}
