//! Does the damage of a round.

use std::{cell::Cell, collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use apisim::{
    faults::{self, Answer, Match, Rule},
    request::Verb,
};
use futures::future::try_join_all;
use http::{HeaderValue, header::RETRY_AFTER};
use testenv::{FaultProxy, until};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{
    cluster::Cluster,
    damage::{ConnectionFault, Damage, Interruption, Kind, Place, RequestFault, Requests, Server, StreamFault},
    replica::Replica,
};

/// A server that has not ended so long after SIGTERM is killed, as a kubelet does: kube-apiserver waits for open watches.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// What was done in a round.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests, watch streams and connections with a fault.
    pub(crate) faults: Cell<usize>,
    pub(crate) kills: Cell<usize>,
    pub(crate) stops: Cell<usize>,
    pub(crate) freezes: Cell<usize>,
}

/// Does all damage of a round that begins now. At each place, damage that is late begins after the one before it.
pub(crate) async fn run(cluster: &Cluster<'_>, round: &[Damage], counts: &Counts) -> Result<()> {
    let start = Instant::now();
    let mut by_place: BTreeMap<Place, Vec<&Damage>> = BTreeMap::new();
    for damage in round {
        by_place.entry(damage.place()).or_default().push(damage);
    }
    let places = by_place.into_values().map(async |damages| {
        for damage in damages {
            sleep_until(start + damage.at).await;
            inject(cluster, damage, counts)
                .await
                .with_context(|| format!("cannot inject: {damage}"))?;
        }
        anyhow::Ok(())
    });
    try_join_all(places).await.map(drop)
}

async fn inject(cluster: &Cluster<'_>, damage: &Damage, counts: &Counts) -> Result<()> {
    let lasts = damage.lasts;
    match damage.kind {
        Kind::Requests {
            replica,
            requests,
            fault,
        } => {
            let rule = request_rule(requests, fault);
            let hits = with_rules(&cluster.replica(replica).proxy, [rule], lasts).await;
            add(&counts.faults, hits);
        }
        Kind::Streams {
            replica,
            resource,
            fault,
        } => {
            let rules = stream_rules(resource, fault);
            let hits = with_rules(&cluster.replica(replica).proxy, rules, lasts).await;
            add(&counts.faults, hits);
        }
        Kind::Connections { replica, fault } => {
            let affected = connections(cluster.replica(replica), fault, lasts).await;
            add(&counts.faults, affected);
        }
        Kind::Process { replica, interruption } => {
            count(interruption, counts);
            cluster.replica(replica).interrupt(interruption, lasts).await?;
        }
        Kind::Server { server, interruption } => {
            count(interruption, counts);
            interrupt_server(cluster, server, interruption, lasts).await?;
        }
    }
    Ok(())
}

/// Applies rules for a while; returns the number of faults.
async fn with_rules(proxy: &FaultProxy<'_>, rules: impl IntoIterator<Item = Rule>, lasts: Duration) -> usize {
    let rules: Vec<_> = rules.into_iter().map(|rule| proxy.faults().add(rule)).collect();
    sleep(lasts).await;
    let hits = rules.iter().map(faults::RuleHandle::hits).sum();
    rules.into_iter().for_each(faults::RuleHandle::remove);
    hits
}

fn request_rule(requests: Requests, fault: RequestFault) -> Rule {
    let rule = Rule::when(match requests {
        Requests::All => Match::default(),
        Requests::SliceWrites => Match::writes().resource("endpointslices"),
        Requests::Leases => Match::default().resource("leases"),
        Requests::Lists => Match::verb(Verb::List),
    });
    match fault {
        RequestFault::Delay(delay) => rule.delay(delay),
        RequestFault::Answer(429) => {
            rule.answer(Answer::status(429).header(RETRY_AFTER, HeaderValue::from_static("1")))
        }
        RequestFault::Answer(status) => rule.answer(status),
        RequestFault::DropRequest => rule.drop_request(),
        RequestFault::DropAnswer => rule.drop_answer(),
        RequestFault::HoldRequest => rule.hold_request(),
        RequestFault::HoldAnswer => rule.hold_answer(),
    }
}

fn stream_rules(resource: &str, fault: StreamFault) -> Vec<Rule> {
    let watches = || Rule::on(Verb::Watch, resource);
    match fault {
        StreamFault::CutAfter(events) => vec![watches().stream_after(events, faults::StreamFault::Cut)],
        StreamFault::CutMidEvent => vec![watches().stream(faults::StreamFault::CutMidEvent)],
        StreamFault::Hold => vec![watches().stream(faults::StreamFault::Hold)],
        StreamFault::Gone => vec![
            watches().times(1).answer(410),
            watches().times(1).stream(faults::StreamFault::Cut),
        ],
    }
}

/// Returns the number of affected connections.
async fn connections(replica: &Replica<'_>, fault: ConnectionFault, lasts: Duration) -> usize {
    let connections = replica.proxy.connections();
    let is_open = |connection: &&apisim::serve::OpenedConnection| connection.is_open;
    let open = connections.opened().iter().filter(is_open).count();
    match fault {
        ConnectionFault::Freeze => {
            connections.freeze_all();
            sleep(lasts).await;
            replica.record.borrow_mut().connections_continued.push(Instant::now());
            connections.thaw_all();
        }
        ConnectionFault::Close => connections.close_all(),
        ConnectionFault::Drain => connections.drain_all(),
    }
    open
}

/// Kills, stops or freezes a server; starts or continues it after a while.
async fn interrupt_server(
    cluster: &Cluster<'_>,
    server: Server,
    interruption: Interruption,
    lasts: Duration,
) -> Result<()> {
    let component = match server {
        Server::Etcd => cluster.control_plane.etcd(),
        Server::Apiserver => cluster.control_plane.apiserver(),
    };
    // No edit of a slice is in flight while etcd is interrupted: who wrote it would be unknown.
    let _no_edits = match server {
        Server::Etcd => Some(cluster.etcd_available.write().await),
        Server::Apiserver => None,
    };
    match interruption {
        Interruption::Freeze => {
            component.freeze().await?;
            sleep(lasts).await;
            component.thaw()?;
        }
        Interruption::Kill | Interruption::Terminate => {
            if interruption == Interruption::Terminate
                && let Ok(stopped) = timeout(GRACE_PERIOD, component.stop()).await
            {
                stopped?;
            }
            component.kill().await?;
            sleep(lasts).await;
            component.start().await?;
        }
    }
    until("a ready API server", async || {
        cluster.observer.component().get("/readyz").await.is_ok()
    })
    .await?;
    Ok(())
}

fn count(interruption: Interruption, counts: &Counts) {
    let counter = match interruption {
        Interruption::Kill => &counts.kills,
        Interruption::Terminate => &counts.stops,
        Interruption::Freeze => &counts.freezes,
    };
    add(counter, 1);
}

fn add(counter: &Cell<usize>, number: usize) {
    counter.set(counter.get() + number);
}
