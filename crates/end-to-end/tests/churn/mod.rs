//! Random changes of everything for a while, and what became of the slices.
//!
//! `CHURN_SEED` chooses the sequence of changes, `CHURN_SECONDS` how long it goes on.

mod action;
mod generator;
mod hand;
mod model;

use std::{
    env,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::{Api, Client};
use serde_json::json;
use slice_oracle::{CheckConfig, Manager, Recorder, assert_clean};
use testenv::objects::create;
use tokio::time::MissedTickBehavior;

use self::{generator::Generator, hand::Hand};
use crate::programs::Ours;

const NAMESPACE: &str = "churn";
/// The same on every run, so that a failure comes with a change.
const SEED: u64 = 5;
const QUIET: Duration = Duration::from_secs(3);
/// Few enough that there are several slices.
const MAX_ENDPOINTS: usize = 5;
const MAX_ADDRESSES: usize = 6;

/// Tells how to see a failure again, when it has happened.
struct Told {
    seed: u64,
    steps: usize,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with CHURN_SEED={}, after {} steps", self.seed, self.steps);
        }
    }
}

/// Changes things for so many seconds, unless the environment says otherwise, with a step in each `pace` at most, and
/// judges.
pub(crate) async fn churn(client: Client, flag: &str, seconds: u64, pace: Duration) {
    let seed = number("CHURN_SEED").unwrap_or(SEED);
    let duration = Duration::from_secs(number("CHURN_SECONDS").unwrap_or(seconds));
    println!("CHURN_SEED={seed} CHURN_SECONDS={}", duration.as_secs());
    let mut told = Told { seed, steps: 0 };
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create(&Api::<Namespace>::all(client.clone()), namespace).await.unwrap();
    // So that there is one without endpoints at the end.
    let nobodys =
        json!({"metadata": {"name": "nobodys"}, "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 80}]}});
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    create(&services, nobodys).await.unwrap();
    let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await.unwrap();
    let endpoints = format!("--max-endpoints-per-slice={MAX_ENDPOINTS}");
    let addresses = format!("--mirroring-max-endpoints-per-subset={MAX_ADDRESSES}");
    let ours = Ours::start(&[flag], &[&endpoints], &[&addresses]).await;

    let hand = Hand {
        client,
        namespace: NAMESPACE,
        recorder: &recorder,
    };
    let mut generator = Generator::new(seed);
    let mut pace = tokio::time::interval(pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let begin = Instant::now();
    while begin.elapsed() < duration {
        pace.tick().await;
        for action in generator.next() {
            hand.act(&action).await;
        }
        told.steps += 1;
    }
    hand.release_all().await;
    recorder.wait_quiescent(QUIET).await.unwrap();
    println!("{} steps", told.steps);
    let report = assert_clean(&recorder.history().unwrap(), &limits(), env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    assert_eq!(report.checks.len(), 7, "not everything was looked at: {report}");
    ours.stop().await;
}

fn limits() -> CheckConfig {
    let usual = CheckConfig::default();
    let at_most = |manager: Option<Manager>, max_endpoints| manager.map(|usual| Manager { max_endpoints, ..usual });
    CheckConfig {
        services: at_most(usual.services, MAX_ENDPOINTS),
        mirroring: at_most(usual.mirroring, MAX_ADDRESSES),
        ..CheckConfig::default()
    }
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {value}")),
    )
}

#[test]
fn a_seed_gives_the_same_actions_and_another_one_others() {
    let actions = |seed| {
        let mut generator = Generator::new(seed);
        (0..2000).map(|_| generator.next()).collect::<Vec<_>>()
    };
    assert_eq!(actions(7), actions(7));
    assert_ne!(actions(7), actions(8));
}
