//! Faults that meet watch streams.

use apisim::{
    faults::{Match, Rule, StreamFault},
    request::Verb,
};
use kube::api::WatchParams;

use super::{Way, create, is_silent, next_added, status_of, watch, watch_from};

pub(crate) async fn a_cut_stream_ends_between_events(way: Way) {
    way.faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::Cut));
    let mut stream = watch(&way.leases()).await;
    create(&way.sound_leases(), "a").await.unwrap();
    create(&way.sound_leases(), "b").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    assert_eq!(next_added(&mut stream).await, None);
}

pub(crate) async fn a_stream_cut_in_mid_event_is_resumed_without_loss(way: Way) {
    way.faults.add(
        Rule::on(Verb::Watch, "leases")
            .times(1)
            .stream_after(1, StreamFault::CutMidEvent),
    );
    let mut stream = watch(&way.leases()).await;
    let a = create(&way.sound_leases(), "a").await.unwrap();
    create(&way.sound_leases(), "b").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    assert_eq!(next_added(&mut stream).await, None);
    let mut resumed = watch_from(&way.leases(), &a.metadata.resource_version.unwrap()).await;
    assert_eq!(next_added(&mut resumed).await.as_deref(), Some("b"));
}

pub(crate) async fn a_held_stream_delivers_everything_on_release(way: Way) {
    let rule = way
        .faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::Hold));
    let mut held = watch(&way.leases()).await;
    let mut sound = watch(&way.sound_leases()).await;
    for name in ["a", "b", "c"] {
        create(&way.sound_leases(), name).await.unwrap();
        assert_eq!(next_added(&mut sound).await.as_deref(), Some(name));
    }
    assert_eq!(next_added(&mut held).await.as_deref(), Some("a"));
    assert!(is_silent(&mut held).await);
    rule.remove();
    assert_eq!(next_added(&mut held).await.as_deref(), Some("b"));
    assert_eq!(next_added(&mut held).await.as_deref(), Some("c"));
}

pub(crate) async fn a_half_open_stream_neither_delivers_nor_ends(way: Way) {
    let rule = way
        .faults
        .add(Rule::on(Verb::Watch, "leases").stream_after(1, StreamFault::HalfOpen));
    let mut lost = watch(&way.leases()).await;
    create(&way.sound_leases(), "a").await.unwrap();
    assert_eq!(next_added(&mut lost).await.as_deref(), Some("a"));
    create(&way.sound_leases(), "b").await.unwrap();
    assert!(is_silent(&mut lost).await);
    // What is lost stays lost, but a new stream is sound.
    rule.remove();
    create(&way.sound_leases(), "c").await.unwrap();
    assert!(is_silent(&mut lost).await);
    let mut sound = watch(&way.leases()).await;
    create(&way.sound_leases(), "d").await.unwrap();
    assert_eq!(next_added(&mut sound).await.as_deref(), Some("d"));
}

pub(crate) async fn a_stream_that_is_already_open_breaks_too(way: Way) {
    let watches = Match::verb(Verb::Watch).resource("leases");
    let mut stream = watch(&way.leases()).await;
    assert_eq!(way.faults.open_streams(&watches), 1);
    create(&way.sound_leases(), "a").await.unwrap();
    assert_eq!(next_added(&mut stream).await.as_deref(), Some("a"));
    let rule = way.faults.add(Rule::when(watches.clone()).stream(StreamFault::Cut));
    assert_eq!(next_added(&mut stream).await, None);
    assert_eq!(rule.hits(), 1);
    drop(stream);
    while way.faults.open_streams(&watches) > 0 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_refused_watch(way: Way) {
    way.faults.add(Rule::on(Verb::Watch, "leases").answer(410));
    let error = way.leases().watch(&WatchParams::default(), "1").await.err().unwrap();
    assert_eq!(status_of(error), (410, "Expired".into()));
}
