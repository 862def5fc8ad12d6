//! Relists: objects that cannot be decoded, lists that fail, and the confirmation of large removals.

use slice_reconciler::Plan;

use super::{
    super::*,
    stub::{StubController, applied, engine, list, object_ref, slice, synced, unlisted},
};
use crate::watch::WatchEvent;

fn init_done() -> WatchEvent<String> {
    WatchEvent::InitDone { version: "2".into() }
}

/// An object that exists is not deleted, whether or not its current version can be decoded (F25, I11).
#[test]
fn undecodable_object_of_a_relist_stays_known() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &["a", "b"], now);
    synced(&mut engine, now);
    engine.handle_event(0, WatchEvent::Undecodable(object_ref("a")), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::Init, now);
    engine.handle_event(0, WatchEvent::Undecodable(object_ref("a")), now);
    engine.handle_event(0, init_done(), now);
    assert_eq!(synced(&mut engine, now), ["b"], "b is deleted");
    list(&mut engine, &[], now);
    assert_eq!(synced(&mut engine, now), ["a"], "a was known until now");
}

#[test]
fn undecodable_slice_of_a_relist_stays_cached() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &[], now);
    let object = slice("web-1", "web");
    super::stub::apply_slice(&mut engine, object.clone(), now);
    engine.handle_slice_event(WatchEvent::Init, now);
    let undecodable = slice_controller::ObjectRef::from(&object.metadata);
    engine.handle_slice_event(WatchEvent::Undecodable(undecodable), now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "9".into() }, now);
    assert_eq!(engine.slices.get(&Key::new("ns", "web")).len(), 1);
}

/// The objects of a list that failed were applied, so their keys do not wait for a list that succeeds.
#[test]
fn keys_of_a_failed_relist_are_enqueued() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &["a"], now);
    synced(&mut engine, now);
    engine.handle_event(0, WatchEvent::Init, now);
    engine.handle_event(0, applied("b"), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::InitFailed, now);
    assert_eq!(synced(&mut engine, now), ["b"], "a is not deleted");

    engine.handle_slice_event(WatchEvent::Init, now);
    super::stub::apply_slice(&mut engine, slice("web-1", "web"), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_slice_event(WatchEvent::InitFailed, now);
    assert_eq!(synced(&mut engine, now), ["web"]);
}

/// No key is synced from a part of the first list, also of a resource that was absent before (I11).
#[test]
fn no_key_is_synced_after_an_initial_list_that_failed() {
    let now = Instant::now();
    let mut engine = unlisted(Plan::default());
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    for absent in [false, true] {
        if absent {
            engine.handle_event(0, WatchEvent::Absent, now);
        }
        engine.handle_event(0, WatchEvent::Init, now);
        engine.handle_event(0, applied("a"), now);
        engine.handle_event(0, WatchEvent::InitFailed, now);
        assert_eq!(
            (engine.is_synced(), synced(&mut engine, now)),
            (false, vec![]),
            "{absent}"
        );
    }
    list(&mut engine, &["a"], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
}

/// etcd is restored between two initial lists, so that the version of the second one is older (F14).
#[test]
fn slice_of_an_initial_list_that_failed_is_dropped_if_the_next_list_lacks_it() {
    let now = Instant::now();
    let mut engine = unlisted(Plan::default());
    engine.handle_slice_event(WatchEvent::Init, now);
    super::stub::apply_slice(&mut engine, slice("web-1", "web"), now);
    engine.handle_slice_event(WatchEvent::InitFailed, now);
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    assert!(engine.slices.get(&Key::new("ns", "web")).is_empty());
}

const OBJECTS: usize = 150;

/// An engine that knows 150 objects, of each of which one endpoint depends, and all their names.
fn large_engine(now: Instant) -> (Engine<StubController>, Vec<String>) {
    let names: Vec<String> = (0..OBJECTS).map(|i| format!("n{i}")).collect();
    let (mut engine, _) = engine(Plan::default(), &as_strs(&names), now);
    assert!(engine.take_confirmations().is_empty(), "not for the initial list");
    sync_all(&mut engine, now);
    (engine, names)
}

fn as_strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Syncs all due keys. Returns their number.
fn sync_all(engine: &mut Engine<StubController>, now: Instant) -> usize {
    std::iter::repeat_with(|| synced(engine, now).len())
        .take_while(|synced| *synced > 0)
        .sum()
}

/// A server with a wrong view does not remove most endpoints of the cluster with one list.
#[test]
fn relist_without_most_objects_is_applied_after_a_second_one() {
    let now = Instant::now();
    let after = |seconds| now + Duration::from_secs(seconds);
    let (mut engine, _) = large_engine(now);
    list(&mut engine, &["new"], now);
    assert_eq!(sync_all(&mut engine, now), 1, "what was listed is applied");
    let [(0, request)] = &engine.take_confirmations()[..] else {
        panic!("no confirmation requested");
    };
    assert_eq!(request.delay, Duration::from_secs(30));
    assert_eq!(
        request.message,
        "a relist lacks 150 objects, which would remove 150 of 0 endpoints"
    );
    assert!(engine.metrics.page().contains("stub_unconfirmed_relists_total 1\n"));
    // A list before the delay is over does not confirm it.
    list(&mut engine, &["new"], after(29));
    assert_eq!(sync_all(&mut engine, after(29)), 1);
    list(&mut engine, &["new"], after(30));
    assert_eq!(sync_all(&mut engine, after(30)), 1 + OBJECTS);
}

#[test]
fn second_relist_that_has_the_objects_again_deletes_only_what_it_lacks() {
    let now = Instant::now();
    let later = now + Duration::from_secs(30);
    let (mut engine, names) = large_engine(now);
    list(&mut engine, &[], now);
    assert_eq!((sync_all(&mut engine, now), engine.take_confirmations().len()), (0, 1));
    // A deletion by a watch event is applied at once.
    engine.handle_event(0, WatchEvent::Delete(object_ref("n0")), now);
    assert_eq!(sync_all(&mut engine, now), 1);
    list(&mut engine, &as_strs(&names[2..]), later);
    assert_eq!(
        sync_all(&mut engine, later),
        OBJECTS - 1,
        "n1 is deleted, the others are applied"
    );
    assert!(engine.take_confirmations().is_empty());
    list(&mut engine, &[], later);
    assert_eq!(engine.take_confirmations().len(), 1, "each time");
}
