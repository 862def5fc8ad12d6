//! Conformance: runs the same scenarios on two real control planes, one with upstream's controllers and one with ours, and
//! compares them whenever both are quiescent.

mod cluster;
mod expectation;
mod run;
mod scenario;
mod scenarios;
mod snapshot;
pub mod upstream_failures;

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use futures::{StreamExt as _, stream};
use testenv::{CONTROLLERS, Component, ControlPlane, ControllerProcess};

use cluster::ClusterUnderTest;
use run::{ScenarioResult, run_scenario};
use scenario::Scenario;

/// Number of scenarios that run at the same time.
const MAX_CONCURRENT_SCENARIOS: usize = 12;
/// Controllers of kube-controller-manager that run in both clusters.
const COMMON_CONTROLLERS: [&str; 2] = ["garbage-collector-controller", "endpoints-controller"];
/// Raises the client rate limits of kube-controller-manager, so that they do not delay scenarios.
const RATE_LIMIT_FLAGS: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

/// Run the same scenarios with upstream's controllers and with ours, and compare
#[derive(Debug, Parser)]
#[command(name = "cargo xtask conformance", bin_name = "cargo xtask conformance")]
pub struct Args {
    /// Scenarios to run (default: all)
    scenarios: Vec<String>,
    /// Only print the scenarios and the rules they cover
    #[arg(long)]
    list: bool,
}

/// Names of the scenarios, with the ids of the rules and test cases that each covers.
pub fn played() -> impl Iterator<Item = (&'static str, String)> {
    let scenarios = scenarios::all().into_iter();
    scenarios.map(|scenario| (scenario.name, scenario.rules.join(", ")))
}

/// Ids of the readme deviations that scenarios allow.
#[must_use]
pub fn excuses() -> BTreeSet<&'static str> {
    let scenarios = scenarios::all().into_iter();
    scenarios
        .flat_map(|scenario| scenario.steps)
        .flat_map(|step| step.deviations)
        .map(|(deviation, _)| deviation)
        .collect()
}

/// Runs the scenarios. Fails if our controllers differ from upstream's in one of them.
pub fn run(args: &Args) -> Result<()> {
    if args.list {
        played().for_each(|(name, rules)| println!("{name}: {rules}"));
        println!("rules that no scenario, recorded step or test covers: cargo xtask spec-coverage --uncovered");
        return Ok(());
    }
    let chosen = choose(&args.scenarios)?;
    let programs = testenv::build(&CONTROLLERS)?;
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    runtime.block_on(compare(chosen, &programs))
}

fn choose(names: &[String]) -> Result<Vec<Scenario>> {
    let all = scenarios::all();
    for name in names {
        ensure!(
            all.iter().any(|scenario| scenario.name == name),
            "no scenario is named {name:?}; `cargo xtask conformance --list` lists all"
        );
    }
    let chosen = |scenario: &Scenario| names.is_empty() || names.iter().any(|name| scenario.name == name);
    Ok(all.into_iter().filter(chosen).collect())
}

async fn compare(scenarios: Vec<Scenario>, programs: &[PathBuf]) -> Result<()> {
    let (upstream_environment, our_environment) = tokio::try_join!(start_upstream(), start_ours(programs))?;
    let (exclusive, concurrent): (Vec<Scenario>, Vec<Scenario>) =
        scenarios.into_iter().partition(|scenario| scenario.exclusive);
    let (mut passed, mut failed) = (0, 0);
    let mut report = |result: ScenarioResult| {
        print!("{result}");
        *if result.problems.is_empty() {
            &mut passed
        } else {
            &mut failed
        } += 1;
    };
    let (theirs, ours) = (&upstream_environment.cluster, &our_environment.cluster);
    let mut results = stream::iter(concurrent)
        .map(|scenario| run_scenario(scenario, theirs, ours))
        .buffer_unordered(MAX_CONCURRENT_SCENARIOS);
    while let Some(result) = results.next().await {
        report(result?);
    }
    for scenario in exclusive {
        report(run_scenario(scenario, theirs, ours).await?);
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        bail!("{failed} scenarios differ from upstream; see the lines marked FAILED");
    }
    Ok(())
}

/// A control plane with its controllers, running until dropped.
struct Environment {
    cluster: ClusterUnderTest,
    _control_plane: ControlPlane,
    _manager: Component,
    _programs: Vec<ControllerProcess>,
}

async fn start_upstream() -> Result<Environment> {
    let control_plane = ControlPlane::start().await?;
    let manager = control_plane
        .controller_manager(&[CONTROLLERS, COMMON_CONTROLLERS].concat(), &RATE_LIMIT_FLAGS)
        .await?;
    Ok(Environment {
        cluster: ClusterUnderTest {
            name: "upstream",
            client: control_plane.client()?,
        },
        _control_plane: control_plane,
        _manager: manager,
        _programs: Vec::new(),
    })
}

async fn start_ours(programs: &[PathBuf]) -> Result<Environment> {
    let control_plane = ControlPlane::start().await?;
    let manager = control_plane
        .controller_manager(&COMMON_CONTROLLERS, &RATE_LIMIT_FLAGS)
        .await?;
    let kubeconfig = control_plane.kubeconfig(control_plane.admin())?;
    let kubeconfig_flag = format!("--kubeconfig={}", kubeconfig.path.display());
    let mut started = Vec::new();
    for program in programs {
        let program = ControllerProcess::start(program, &[&kubeconfig_flag]).await?;
        program.wait_ready().await?;
        started.push(program);
    }
    Ok(Environment {
        cluster: ClusterUnderTest {
            name: "ours",
            client: control_plane.client()?,
        },
        _programs: started,
        _control_plane: control_plane,
        _manager: manager,
    })
}
