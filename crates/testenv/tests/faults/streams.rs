//! Faults of watch streams.

use apisim::{
    faults::{Match, Rule, StreamFault},
    request::Verb,
};
use kube::api::WatchParams;

use super::{FaultHarness, create, has_no_events, next_added, status_of, watch, watch_from};

pub(crate) async fn a_cut_stream_ends_between_events(harness: FaultHarness) {
    harness
        .faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::Cut));
    let mut stream = watch(&harness.leases()).await;
    create(&harness.direct_leases(), "a").await.unwrap();
    create(&harness.direct_leases(), "b").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    assert_eq!(next_added(&mut stream).await, None);
}

pub(crate) async fn a_stream_cut_in_mid_event_is_resumed_without_loss(harness: FaultHarness) {
    harness.faults.add(
        Rule::on(Verb::Watch, "leases")
            .times(1)
            .stream_after(1, StreamFault::CutMidEvent),
    );
    let mut stream = watch(&harness.leases()).await;
    let a = create(&harness.direct_leases(), "a").await.unwrap();
    create(&harness.direct_leases(), "b").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    assert_eq!(next_added(&mut stream).await, None);
    let mut resumed = watch_from(&harness.leases(), &a.metadata.resource_version.unwrap()).await;
    assert_eq!(next_added(&mut resumed).await.as_deref(), Some("b"));
}

pub(crate) async fn a_held_stream_delivers_everything_on_release(harness: FaultHarness) {
    let rule = harness
        .faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::Hold));
    let mut held = watch(&harness.leases()).await;
    let mut direct = watch(&harness.direct_leases()).await;
    for name in ["a", "b", "c"] {
        create(&harness.direct_leases(), name).await.unwrap();
        assert_eq!(next_added(&mut direct).await.as_deref(), Some(name));
    }
    assert_eq!(next_added(&mut held).await.as_deref(), Some("a"));
    assert!(has_no_events(&mut held).await);
    rule.remove();
    assert_eq!(next_added(&mut held).await.as_deref(), Some("b"));
    assert_eq!(next_added(&mut held).await.as_deref(), Some("c"));
}

pub(crate) async fn a_half_open_stream_neither_delivers_nor_ends(harness: FaultHarness) {
    let rule = harness
        .faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::HalfOpen));
    let mut lost = watch(&harness.leases()).await;
    create(&harness.direct_leases(), "a").await.unwrap();
    assert_eq!(next_added(&mut lost).await.as_deref(), Some("a"));
    create(&harness.direct_leases(), "b").await.unwrap();
    assert!(has_no_events(&mut lost).await);
    // Lost events stay lost, but a new stream has no fault.
    rule.remove();
    create(&harness.direct_leases(), "c").await.unwrap();
    assert!(has_no_events(&mut lost).await);
    let mut direct = watch(&harness.leases()).await;
    create(&harness.direct_leases(), "d").await.unwrap();
    assert_eq!(next_added(&mut direct).await.as_deref(), Some("d"));
}

pub(crate) async fn a_fault_affects_an_open_stream(harness: FaultHarness) {
    let watches = Match::verb(Verb::Watch).resource("leases");
    let mut stream = watch(&harness.leases()).await;
    assert_eq!(harness.faults.open_streams(&watches), 1);
    create(&harness.direct_leases(), "a").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    let rule = harness.faults.add(Rule::when(watches.clone()).stream(StreamFault::Cut));
    assert_eq!(next_added(&mut stream).await, None);
    assert_eq!(rule.hits(), 1);
    drop(stream);
    while harness.faults.open_streams(&watches) > 0 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_rejected_watch(harness: FaultHarness) {
    harness.faults.add(Rule::on(Verb::Watch, "leases").answer(410));
    let error = harness
        .leases()
        .watch(&WatchParams::default(), "1")
        .await
        .err()
        .unwrap();
    assert_eq!(status_of(error), (410, "Expired".into()));
}
