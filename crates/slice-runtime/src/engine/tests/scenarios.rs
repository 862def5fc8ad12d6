//! Scenarios of the controller for Services: batching, repairs, conflicts, failures, restarts.

use serde_json::json;

use super::{
    super::*,
    fake_api::{self, FakeApi, RESOURCES, SLICES},
    fixtures::{node, pod, service},
    harness::{Fault, Harness},
};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The metric that shows a second writer with our managed-by value.
const FOREIGN_CHANGES: &str = "foreign_changes_total";

/// A Service, a node and this number of ready pods, converged.
fn converged(pods: u8, max: usize, batch: Duration) -> Harness {
    let mut harness = Harness::new(max, batch);
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    for i in 0..pods {
        harness.api.put("pods", pod(&format!("p{i}"), i, true));
    }
    harness.run_until_quiescent();
    assert_eq!(harness.published("web").len(), usize::from(pods));
    harness.writes = 0;
    harness
}

/// Interning: slice, pod, node index and known objects share one identity.
#[test]
fn slices_share_the_identities_of_their_pods() {
    let harness = converged(1, 100, ms(0));
    let slice = &harness.engine.slices.get(&Key::new("ns", "web"))[0];
    let pod = slice.endpoints[0].target.as_ref().unwrap().identity();
    let references = [
        "the slice",
        "the pod",
        "the pods of its node",
        "the known objects",
        "the interner",
    ];
    assert_eq!(Arc::strong_count(pod), references.len(), "{pod:?}");
}

/// Three pod changes at these times lead to this number of writes (T-CTL-19…27).
#[test]
fn pod_changes_are_batched_from_the_first_on() {
    let actions: [fn(&mut FakeApi, u8); 3] = [
        |api, i| drop(api.put("pods", pod(&format!("new{i}"), 100 + i, true))),
        |api, i| drop(api.put("pods", pod(&format!("p{i}"), 100 + i, true))),
        |api, i| assert!(api.delete("pods", &format!("p{i}"))),
    ];
    for (action, change) in actions.iter().enumerate() {
        for (batch, times, writes) in [
            (ms(0), [200, 300, 400], 3),
            (ms(1000), [200, 300, 400], 1),
            (ms(1000), [200, 300, 1300], 2),
        ] {
            let mut harness = converged(10, 100, batch);
            let mut passed = 0;
            for (i, time) in times.into_iter().enumerate() {
                harness.advance(ms(time - passed));
                passed = time;
                change(&mut harness.api, u8::try_from(i).unwrap());
                harness.run();
            }
            harness.run_until_quiescent();
            assert_eq!(harness.writes, writes, "action {action}, batch {batch:?}, {times:?}");
        }
    }
}

/// After a resync, a relist and a restart (R12, R46, I6, I11).
#[test]
fn a_converged_engine_writes_nothing() {
    let mut harness = converged(7, 3, ms(0));
    harness.engine.resync_all(harness.now);
    assert_eq!(harness.writes_until_quiescent(), 0);
    for resource in RESOURCES {
        harness.list(resource);
    }
    assert_eq!(harness.writes_until_quiescent(), 0);
    let mut again = Harness::restarted(harness.api, 3, ms(0));
    assert_eq!(again.writes_until_quiescent(), 0);
}

/// No key is synced before (R45, M33, I11, F10).
#[test]
fn nothing_is_written_before_all_initial_lists_are_complete() {
    let mut before = converged(3, 100, ms(0));
    before.api.delete("pods", "p0");
    let mut harness = Harness::unlisted(before.api, 100, ms(0));
    for resource in ["services", SLICES, "nodes"] {
        harness.list(resource);
        harness.advance(ms(10_000));
        assert_eq!((harness.writes, harness.engine.is_synced()), (0, false), "{resource}");
    }
    harness.list("pods");
    assert_eq!(harness.writes_until_quiescent(), 1);
}

/// A slice that another client deletes, edits, relabels or copies (T-CTL-12, R23, G-05…G-09).
#[test]
fn foreign_changes_of_slices_are_repaired() {
    let ours = json!({"endpointslice.kubernetes.io/managed-by": service_slices::MANAGED_BY});
    for (edit, pointer, value) in [
        ("endpoints", "/endpoints", json!([])),
        ("ports", "/ports", json!([{"name": "x", "port": 1}])),
        ("a label", "/metadata/labels/a", json!("foreign label")),
        (
            "another service",
            "/metadata/labels/kubernetes.io~1service-name",
            json!("other"),
        ),
        ("no service", "/metadata/labels", ours),
    ] {
        let mut harness = converged(3, 100, ms(0));
        assert_eq!(harness.metric(FOREIGN_CHANGES), "0", "our own writes");
        let mut slice = harness.api.slices().next().unwrap().clone();
        slice["metadata"]["labels"]["a"] = json!("label");
        *slice.pointer_mut(pointer).unwrap() = value;
        harness.api.put(SLICES, slice);
        harness.run();
        assert_eq!(harness.writes, 0, "{edit}: not at once");
        assert_eq!(harness.metric(FOREIGN_CHANGES), "1", "{edit}");
        harness.advance(ms(1000));
        harness.run_until_quiescent();
        assert_eq!((harness.published("web").len(), harness.writes), (3, 1), "{edit}");
    }
    let mut harness = converged(3, 100, ms(0));
    let name = name_of_first_slice(&harness);
    harness.api.delete(SLICES, &name);
    assert_eq!(
        (harness.writes_until_quiescent(), harness.published("web").len()),
        (1, 3)
    );
    let mut copy = harness.api.slices().next().unwrap().clone();
    copy["metadata"]["name"] = json!("copy");
    harness.api.put(SLICES, copy);
    assert_eq!(
        (harness.writes_until_quiescent(), harness.published("web").len()),
        (1, 3)
    );
}

fn name_of_first_slice(harness: &Harness) -> String {
    fake_api::object_ref(harness.api.slices().next().unwrap())
        .name
        .to_string()
}

/// A slice that was deleted before a restart, or that was not written since one (W2, G-17).
#[test]
fn foreign_deletions_around_a_restart_are_repaired() {
    let mut before = converged(3, 100, ms(0));
    let name = name_of_first_slice(&before);
    before.api.delete(SLICES, &name);
    let mut harness = Harness::restarted(before.api, 100, ms(0));
    assert_eq!(
        (harness.writes_until_quiescent(), harness.published("web").len()),
        (1, 3)
    );
    let mut harness = Harness::restarted(harness.api, 100, ms(0));
    assert_eq!(harness.writes_until_quiescent(), 0);
    let name = name_of_first_slice(&harness);
    harness.api.delete(SLICES, &name);
    assert_eq!(
        (harness.writes_until_quiescent(), harness.published("web").len()),
        (1, 3)
    );
}

#[test]
fn g_37_a_slice_without_a_service_is_ignored() {
    let mut harness = converged(3, 100, ms(0));
    let mut unlabelled = harness.api.slices().next().unwrap().clone();
    unlabelled["metadata"]["name"] = json!("unlabelled");
    unlabelled["metadata"]["labels"] = json!({"endpointslice.kubernetes.io/managed-by": service_slices::MANAGED_BY});
    harness.api.put(SLICES, unlabelled);
    assert_eq!((harness.writes_until_quiescent(), harness.api.slices().count()), (0, 2));
}

/// Unlike R36, the batch period of the pod then leads to no further sync.
#[test]
fn g_03_a_service_change_publishes_batched_pods_at_once() {
    let mut harness = converged(1, 100, ms(10_000));
    harness.api.put("pods", pod("p1", 1, true));
    harness.run();
    assert_eq!((harness.writes, harness.published("web").len()), (0, 1));
    let mut changed = service("web", "web");
    changed["metadata"]["labels"] = json!({"a": "label"});
    harness.api.put("services", changed);
    harness.run();
    assert_eq!((harness.writes, harness.published("web").len()), (1, 2));
    assert_eq!(harness.writes_until_quiescent(), 0);
}

/// A Service that changes its IP family: the delete of the old slice depends on the create of the new one.
fn changing_ip_family() -> Harness {
    let mut harness = converged(0, 100, ms(0));
    let mut dual = pod("p0", 0, true);
    dual["status"]["podIPs"] = json!([{"ip": "10.0.0.0"}, {"ip": "fd00::1"}]);
    harness.api.put("pods", dual);
    harness.run_until_quiescent();
    harness.writes = 0;
    let mut changed = service("web", "web");
    changed["spec"]["ipFamilies"] = json!(["IPv6"]);
    harness.api.put("services", changed);
    while harness.deliver("services") {}
    harness
}

/// It is a success without retry, and writes that depend on the create are skipped (M102).
#[test]
fn t_gx_06_t_mir_n17_a_terminating_namespace_is_no_failure() {
    let mut harness = changing_ip_family();
    harness.run_with(Fault::NamespaceTerminating);
    assert_eq!((harness.writes, harness.api.slices().count()), (0, 1));
    assert_eq!(harness.engine.queue.failing().count(), 0);
    assert_eq!(harness.engine.next_deadline(harness.now), None);
}

/// The restored namespace is not terminating, and its objects are the same (F14).
#[test]
fn a_new_epoch_leads_to_a_sync_of_all_keys() {
    let mut harness = Harness::new(100, Duration::ZERO);
    harness.api.put("services", service("web", "web"));
    harness.run_with(Fault::NamespaceTerminating);
    assert_eq!(harness.api.slices().count(), 0);
    harness
        .engine
        .handle_slice_event(crate::watch::WatchEvent::NewEpoch, harness.now);
    harness.list(SLICES);
    harness.run_until_quiescent();
    assert_eq!(harness.api.slices().count(), 1);
}

/// A 404 is the desired result of a delete (M109, W11, D5, 90276).
#[test]
fn g_24_t_gx_07_t_mir_n07_deleting_a_missing_slice_succeeds() {
    let mut harness = changing_ip_family();
    harness.process_due();
    let name = name_of_first_slice(&harness);
    harness.api.delete(SLICES, &name);
    harness.run();
    assert_eq!(harness.engine.queue.failing().count(), 0);
    assert_eq!(harness.published("web"), [("fd00::1".to_owned(), true)]);
    assert_eq!(harness.writes_until_quiescent(), 0);
}

/// The next sync is based on the live slice (F1).
#[test]
fn a_conflict_is_resolved_by_one_further_sync() {
    let mut harness = converged(3, 100, ms(0));
    harness.api.put("pods", pod("p9", 9, true));
    harness.deliver("pods");
    harness.process_due();
    let mut slice = harness.api.slices().next().unwrap().clone();
    slice["metadata"]["annotations"]["foreign"] = json!("value");
    harness.api.put(SLICES, slice);
    harness.run();
    assert_eq!((harness.published("web").len(), harness.writes), (4, 1));
    let slice = harness.api.slices().next().unwrap();
    assert_eq!(slice["metadata"]["annotations"]["foreign"], "value");
}

/// An update that finds no slice leads to a create at once (F2).
#[test]
fn a_slice_deleted_before_an_update_is_recreated() {
    let mut harness = converged(3, 100, ms(0));
    harness.api.put("pods", pod("p9", 9, true));
    harness.deliver("pods");
    harness.process_due();
    let name = name_of_first_slice(&harness);
    harness.api.delete(SLICES, &name);
    harness.run();
    assert_eq!(harness.published("web").len(), 4);
}

/// The retried create finds the slice of the first one (F7).
#[test]
fn a_lost_response_leads_to_no_duplicate() {
    let mut harness = Harness::new(100, ms(0));
    harness.api.put("nodes", node("n1", "a"));
    harness.api.put("services", service("web", "web"));
    harness.api.put("pods", pod("p0", 0, true));
    harness.run_with(Fault::ResponseLost);
    harness.run_until_quiescent();
    assert_eq!((harness.api.slices().count(), harness.published("web").len()), (1, 1));
}

/// Retries with backoff up to a minute, without end, and failure events (F4, F5, I12).
#[test]
fn a_failing_key_is_retried_forever_and_reported_by_events() {
    let mut harness = converged(1, 100, ms(0));
    harness.api.put("pods", pod("p1", 1, true));
    for _ in 0..100 {
        harness.run_with(Fault::Rejected);
        let delay = harness.engine.next_deadline(harness.now).unwrap() - harness.now;
        assert!(delay <= Duration::from_secs(60));
        harness.now += delay;
    }
    assert_eq!(harness.engine.queue.failing().count(), 1);
    let reported = harness
        .events
        .iter()
        .filter(|event| event.reason == "FailedToUpdateEndpointSlices")
        .count();
    assert_eq!(reported, 99, "every failure but the first, which may be temporary");
    harness.run();
    assert_eq!(
        (harness.published("web").len(), harness.engine.queue.failing().count()),
        (2, 0)
    );
}

/// A Service that is deleted and recreated at once does not wait for the garbage collection of the old slices (F23, 141592).
#[test]
fn a_recreated_service_gets_new_slices() {
    for deliver_first in [true, false] {
        let mut harness = converged(2, 100, ms(0));
        harness.api.delete("services", "web");
        if deliver_first {
            harness.run();
        }
        let uid = harness.api.put("services", service("web", "web"))["metadata"]["uid"].clone();
        harness.run();
        while harness.api.collect_garbage() {}
        harness.run_until_quiescent();
        let owners: Vec<_> = harness
            .api
            .slices()
            .map(|slice| slice["metadata"]["ownerReferences"][0]["uid"].clone())
            .collect();
        assert_eq!(
            (owners, harness.published("web").len()),
            (vec![uid], 2),
            "{deliver_first}"
        );
    }
}

/// A slice that lost our managed-by label keeps its name; the new slice gets another one.
#[test]
fn the_name_of_a_foreign_slice_is_not_used() {
    let mut first = converged(2, 100, ms(0));
    let mut foreign = first.api.slices().next().unwrap().clone();
    foreign["metadata"]["labels"] = json!({"foreign": "label"});
    let name = name_of_first_slice(&first);
    first.api.put(SLICES, foreign.clone());
    first.run_until_quiescent();
    let slices: Vec<_> = first
        .api
        .slices()
        .map(|slice| fake_api::object_ref(slice).name.to_string())
        .collect();
    assert_eq!(slices.len(), 2);
    assert!(slices.contains(&name));
    assert_eq!(
        first.api.get(SLICES, &name).unwrap()["metadata"]["labels"],
        foreign["metadata"]["labels"]
    );
}
