//! Responses to writes that meet watch events, relists and other epochs in between.

use serde_json::json;

use super::{
    super::*,
    fake_api::{self, FakeApi, SLICES},
    fixtures::{node, pod, service},
    harness::{Fault, Harness},
};
use crate::watch::WatchEvent;

fn with_pod() -> Harness {
    let mut harness = Harness::restarted(FakeApi::default(), 100, Duration::ZERO);
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    harness.api.put("pods", pod("p0", 0, true));
    harness
}

fn cached(harness: &Harness) -> usize {
    harness.engine.slices.get(&Key::new("ns", "web")).len()
}

/// The stream of slices is held: an event from before the deletion must not restore the slice (F2, F16).
#[test]
fn an_update_that_finds_no_slice_leaves_a_tombstone() {
    let mut harness = with_pod();
    harness.run_until_quiescent();
    harness.api.put("pods", pod("p0", 0, false));
    harness.deliver("pods");
    harness.process_due();
    let mut slice = harness.api.slices().next().unwrap().clone();
    slice["metadata"]["annotations"]["foreign"] = json!("value");
    let slice = harness.api.put(SLICES, slice);
    harness.api.delete(SLICES, &fake_api::object_ref(&slice).name);
    assert!(harness.send(0, 0, Fault::None) && harness.report(0, 0));
    assert_eq!(cached(&harness), 0);
    assert!(harness.deliver(SLICES));
    assert_eq!(cached(&harness), 0, "an event from before the deletion");
    harness.run_until_quiescent();
    assert_eq!((harness.published("web").len(), cached(&harness)), (1, 1));
}

/// Between commit and response, another client deletes the slice and a relist does not contain it.
#[test]
fn a_create_that_a_relist_does_not_contain_is_superseded() {
    let mut harness = with_pod();
    while harness.deliver("nodes") || harness.deliver("services") || harness.deliver("pods") {}
    harness.process_due();
    assert!(harness.send(0, 0, Fault::None));
    let name = fake_api::object_ref(harness.api.slices().next().unwrap()).name;
    harness.api.delete(SLICES, &name);
    harness.list(SLICES);
    assert!(harness.report(0, 0));
    harness.run();
    assert_eq!(
        (harness.published("web").len(), cached(&harness)),
        (1, 1),
        "created again"
    );
}

/// Its version does not compare with those of the new epoch, which are lower (F14).
#[test]
fn f14_a_response_of_an_earlier_epoch_is_not_applied() {
    let mut harness = with_pod();
    harness.run_until_quiescent();
    let mut slice = harness.api.slices().next().unwrap().clone();
    harness.api.put("pods", pod("p0", 0, false));
    harness.deliver("pods");
    harness.process_due();
    slice["metadata"]["annotations"]["foreign"] = json!("value");
    let live = harness.api.put(SLICES, slice);
    assert!(harness.send(0, 0, Fault::None), "a conflict");
    harness.engine.slices.start_epoch();
    assert!(harness.report(0, 0));
    let mut restored = live;
    restored["metadata"]["resourceVersion"] = json!("1");
    let object_ref = fake_api::object_ref(&restored);
    let object = serde_json::from_value(restored).unwrap();
    let event = WatchEvent::Apply(slice_controller::Decoded { object_ref, object });
    harness.engine.handle_slice_event(event, harness.now);
    let cached = &harness.engine.slices.get(&Key::new("ns", "web"))[0];
    assert_eq!(cached.metadata.resource_version.as_deref(), Some("1"));
}

/// The key is synced again with the live slice; nothing is wrong.
#[test]
fn conflicts_are_not_reported_by_events() {
    let mut harness = with_pod();
    harness.run_until_quiescent();
    harness.api.put("pods", pod("p0", 0, false));
    harness.deliver("pods");
    for attempt in 0..5 {
        harness.process_due();
        let mut slice = harness.api.slices().next().unwrap().clone();
        slice["metadata"]["annotations"]["foreign"] = json!(attempt.to_string());
        harness.api.put(SLICES, slice);
        assert!(harness.send(0, 0, Fault::None) && harness.report(0, 0));
        assert_eq!(harness.engine.queue.failures(&Key::new("ns", "web")), attempt + 1);
        harness.now += Duration::from_secs(60);
    }
    assert!(harness.events.is_empty(), "{:?}", harness.events);
}

/// A conflict reads the live slice; before the response arrives, the watch shows its deletion. For an update of a slice, and for a
/// create whose name another client took in the meantime.
#[test]
fn a_conflict_does_not_restore_a_slice_whose_deletion_was_observed() {
    for is_update in [true, false] {
        let mut harness = with_pod();
        harness.run_until_quiescent();
        let slice = harness.api.slices().next().unwrap().clone();
        let name = fake_api::object_ref(&slice).name;
        if is_update {
            harness.api.put("pods", pod("p0", 0, false));
            harness.deliver("pods");
        } else {
            harness.api.delete(SLICES, &name);
            harness.deliver(SLICES);
        }
        harness.now += Duration::from_secs(1);
        harness.process_due();
        let mut edited = slice;
        edited["metadata"]["labels"]["foreign"] = json!("value");
        harness.api.put(SLICES, edited);
        assert!(harness.send(0, 0, Fault::None));
        harness.api.delete(SLICES, &name);
        while harness.deliver(SLICES) {}
        assert!(harness.report(0, 0));
        assert_eq!(cached(&harness), 0, "update: {is_update}");
        harness.run_until_quiescent();
        assert_eq!(
            (harness.published("web").len(), cached(&harness)),
            (1, 1),
            "update: {is_update}"
        );
    }
}
