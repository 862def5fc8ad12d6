//! Random changes of slices and all their inputs, checked by the oracle.
//!
//! `CHURN_SEED` sets the seed, `CHURN_SECONDS` the duration.

use std::{
    env,
    time::{Duration, Instant},
};

use churn::{CONTROLLER_FLAGS, Generator, Operator};
use kube::Client;
use slice_oracle::{Recorder, assert_clean};
use tokio::time::MissedTickBehavior;

use crate::controllers::OurControllers;

const NAMESPACE: &str = "churn";
/// Fixed, so that a new failure is caused by a change of the code.
const SEED: u64 = 5;
const IDLE: Duration = Duration::from_secs(3);

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
    churn::prepare(&client, NAMESPACE).await.unwrap();
    let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await.unwrap();
    let [services, mirroring] = CONTROLLER_FLAGS;
    let ours = OurControllers::start(&[], &[&flags[0], services], &[&flags[1], mirroring]).await;

    let operator = Operator {
        client,
        namespace: NAMESPACE,
        recorder: &recorder,
        repeats: false,
    };
    let mut generator = Generator::new(seed);
    let mut pace = tokio::time::interval(pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let start = Instant::now();
    while start.elapsed() < duration {
        pace.tick().await;
        for action in generator.next_step() {
            let executed = operator.execute(&action).await;
            executed.unwrap_or_else(|error| panic!("{action:?}: {error:?}"));
        }
        seed_report.steps += 1;
    }
    operator.release_all().await.unwrap();
    recorder.wait_quiescent(IDLE).await.unwrap();
    println!("{} steps", seed_report.steps);
    let report = assert_clean(
        &recorder.history().unwrap(),
        &churn::checks(),
        env!("CARGO_TARGET_TMPDIR"),
    );
    println!("{report}");
    assert_eq!(report.checks.len(), 7, "some invariants were not checked: {report}");
    ours.stop().await;
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {value}")),
    )
}
