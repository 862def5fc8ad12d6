//! Frozen and drained connections.

use std::time::Duration;

use testenv::Protocol;
use tokio::time::{Instant, timeout};

use crate::{
    fixtures,
    harness::{Harness, SERVICE},
};

/// A frozen connection is noticed within 15 s; the rest is for the new connections and the write.
const NOTICED: Duration = Duration::from_secs(20);

pub(crate) async fn f9_frozen_connections_are_replaced(protocol: Protocol) {
    let harness = Harness::start("f09", protocol).await;
    let frozen = harness.proxy.connections().freeze_all();
    assert!(frozen > 0);
    harness.put(&fixtures::pod(4)).await;
    let start = Instant::now();
    let published = timeout(NOTICED, harness.wait_published(SERVICE, 1..=4)).await;
    println!("F9: published after {:?}, {frozen} frozen connections", start.elapsed());
    assert!(
        published.is_ok(),
        "not published within {NOTICED:?}:\n{}",
        harness.controller().process.output()
    );
    harness.finish().await;
}

pub(crate) async fn f12_drained_connections_are_replaced(protocol: Protocol) {
    let harness = Harness::start("f12-drain", protocol).await;
    let start = Instant::now();
    harness.proxy.connections().drain_all();
    for number in 4..=6 {
        harness.put(&fixtures::pod(number)).await;
        harness.wait_published(SERVICE, 1..=number).await;
    }
    let reconnects = harness.connections_per_second(start);
    println!(
        "F12: at most {reconnects} connections/s after GOAWAY, {} lists",
        harness.lists()
    );
    assert!(reconnects <= 10, "{reconnects} connections within a second");
    assert_eq!(harness.lists(), 0);
    harness.finish().await;
}
