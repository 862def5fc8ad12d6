//! The snapshot of the engine.

use serde_json::json;
use slice_controller::WriteError;

use super::{
    super::*,
    stub::{engine, one_write},
};

/// One key has a write in flight, one waits for its slot, one is delayed after a failure.
#[test]
fn the_snapshot_has_the_place_failures_and_last_error_of_every_key() {
    let mut now = Instant::now();
    let (mut engine, metrics) = engine(one_write(), &["a", "b", "c"], now);
    let sync = |engine: &mut Engine<_>| engine.process_due(1, now, Timestamp::now()).jobs.remove(0).key;
    let failed = sync(&mut engine);
    let error = WriteError::Api {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "denied".to_owned(),
    };
    let retry_after = None;
    engine.on_write_result(&failed, 0, WriteResult::Failed { error, retry_after }, now);
    engine.on_writes_done(&failed, now);
    let in_flight = sync(&mut engine);
    now += Duration::from_millis(250);

    let state = serde_json::to_value(engine.debug_state(now)).unwrap();
    let waiting = ["a", "b", "c"].map(|name| Key::new("ns", name));
    let waiting = waiting
        .iter()
        .find(|key| **key != failed && **key != in_flight)
        .unwrap();
    let mut delayed = state["keys"][2].clone();
    let due = delayed["due_in_seconds"].take().as_f64().unwrap();
    assert!((0.0..=60.0).contains(&due), "{due}");
    let [failed, in_flight, waiting] = [&failed, &in_flight, waiting].map(ToString::to_string);
    assert_eq!(
        [&state["keys"][0], &state["keys"][1], &delayed],
        [
            &json!({
                "key": in_flight, "state": "processing", "for_seconds": 0.25, "writes_pending": 1, "failures": 0,
            }),
            &json!({"key": waiting, "state": "ready", "lane": "change", "position": 0, "failures": 0}),
            &json!({
                "key": failed, "state": "delayed", "due_in_seconds": null, "failures": 1, "failing_for_seconds": 0.25,
                "last_error": "failed to delete slice : denied",
            }),
        ]
    );
    assert_eq!(state["key_count"], 3);
    assert_eq!(
        (&state["synced"], &state["slots"]),
        (&json!(true), &json!({"in_use": 1, "stalled": 0, "limit": 1}))
    );
    let page = metrics.page();
    assert!(
        page.contains("stub_sync_retries_total{reason=\"rejected\"} 1\n"),
        "{page}"
    );
}

#[test]
fn the_snapshot_is_bounded() {
    let now = Instant::now();
    let names: Vec<String> = (0..10_001).map(|number| format!("key-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (engine, _) = engine(one_write(), &names, now);
    let state = serde_json::to_value(engine.debug_state(now)).unwrap();
    assert_eq!(state["key_count"], 10_001);
    assert_eq!(state["keys"].as_array().unwrap().len(), 10_000);
}
