//! Random changes of slices and all their inputs, checked by the oracle.
//!
//! `CHURN_SEED` sets the seed, `CHURN_SECONDS` the duration.

mod action;
mod generator;
mod model;
mod operator;

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

use self::{generator::Generator, operator::Operator};
use crate::controllers::OurControllers;

const NAMESPACE: &str = "churn";
/// Fixed, so that a new failure is caused by a change of the code.
const SEED: u64 = 5;
const IDLE: Duration = Duration::from_secs(3);
/// Low, so that there are several slices.
const MAX_ENDPOINTS: usize = 5;
const MAX_ADDRESSES: usize = 6;

/// Prints how to reproduce a failure when a test panics.
struct SeedReport {
    seed: u64,
    steps: usize,
}

impl Drop for SeedReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with CHURN_SEED={}, after {} steps", self.seed, self.steps);
        }
    }
}

/// Runs both controllers under random changes, at most one step per `pace`, for `seconds` or `CHURN_SECONDS`, and
/// checks the history.
pub(crate) async fn churn(client: Client, flags: &[String; 2], seconds: u64, pace: Duration) {
    let seed = number("CHURN_SEED").unwrap_or(SEED);
    let duration = Duration::from_secs(number("CHURN_SECONDS").unwrap_or(seconds));
    println!("CHURN_SEED={seed} CHURN_SECONDS={}", duration.as_secs());
    let mut seed_report = SeedReport { seed, steps: 0 };
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create(&Api::<Namespace>::all(client.clone()), namespace).await.unwrap();
    // A Service without endpoints, so that placeholders are checked.
    let without_pods =
        json!({"metadata": {"name": "no-pods"}, "spec": {"selector": {"app": "no-pods"}, "ports": [{"port": 80}]}});
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    create(&services, without_pods).await.unwrap();
    let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await.unwrap();
    let endpoints = format!("--max-endpoints-per-slice={MAX_ENDPOINTS}");
    let addresses = format!("--mirroring-max-endpoints-per-subset={MAX_ADDRESSES}");
    let ours = OurControllers::start(&[], &[&flags[0], &endpoints], &[&flags[1], &addresses]).await;

    let operator = Operator {
        client,
        namespace: NAMESPACE,
        recorder: &recorder,
    };
    let mut generator = Generator::new(seed);
    let mut pace = tokio::time::interval(pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let start = Instant::now();
    while start.elapsed() < duration {
        pace.tick().await;
        for action in generator.next() {
            operator.execute(&action).await;
        }
        seed_report.steps += 1;
    }
    operator.release_all().await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    println!("{} steps", seed_report.steps);
    let report = assert_clean(&recorder.history().unwrap(), &config(), env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    assert_eq!(report.checks.len(), 7, "some invariants were not checked: {report}");
    ours.stop().await;
}

fn config() -> CheckConfig {
    let default = CheckConfig::default();
    let at_most = |manager: Option<Manager>, max_endpoints| {
        manager.map(|default| Manager {
            max_endpoints,
            ..default
        })
    };
    CheckConfig {
        services: at_most(default.services, MAX_ENDPOINTS),
        mirroring: at_most(default.mirroring, MAX_ADDRESSES),
        ..CheckConfig::default()
    }
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {value}")),
    )
}

#[test]
fn actions_depend_on_the_seed_only() {
    let actions = |seed| {
        let mut generator = Generator::new(seed);
        (0..2000).map(|_| generator.next()).collect::<Vec<_>>()
    };
    assert_eq!(actions(7), actions(7));
    assert_ne!(actions(7), actions(8));
}
