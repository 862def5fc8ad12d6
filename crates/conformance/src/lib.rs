//! The same stories on two real control planes, one with upstream's controllers and one with ours, compared at every rest.

mod expect;
mod picture;
mod play;
mod scenario;
mod scenarios;
mod side;

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use futures::{StreamExt as _, stream};
use testenv::{CONTROLLERS, Component, ControlPlane, ControllerProcess};

use play::{Played, play};
use scenario::Scenario;
use side::Side;

/// Scenarios that are played at the same time.
const AT_ONCE: usize = 12;
/// What both sides have beside them: who removes what has lost its owner, and who writes the Endpoints of Services.
const OTHERS: [&str; 2] = ["garbage-collector-controller", "endpoints-controller"];
/// Nobody should wait for the limits of kube-controller-manager.
const FAST: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

/// Play the same scenarios with upstream's controllers and with ours, and compare
#[derive(Debug, Parser)]
#[command(name = "cargo xtask conformance", bin_name = "cargo xtask conformance")]
pub struct Args {
    /// The scenarios to play; all, if none is named
    scenarios: Vec<String>,
    /// Only print the scenarios and the rules they play
    #[arg(long)]
    list: bool,
}

/// The scenarios, and the rules and test cases that each plays.
pub fn played() -> impl Iterator<Item = (&'static str, String)> {
    let scenarios = scenarios::all().into_iter();
    scenarios.map(|scenario| (scenario.name, scenario.rules.join(", ")))
}

/// The documented deviations by which scenarios excuse a difference.
#[must_use]
pub fn excuses() -> BTreeSet<&'static str> {
    let scenarios = scenarios::all().into_iter();
    scenarios
        .flat_map(|scenario| scenario.steps)
        .flat_map(|step| step.deviations)
        .map(|(deviation, _)| deviation)
        .collect()
}

/// Plays the scenarios and fails when one ends differently.
pub fn run(args: &Args) -> Result<()> {
    if args.list {
        played().for_each(|(name, rules)| println!("{name}: {rules}"));
        println!("rules that no scenario, recorded step or test shows: cargo xtask catalogue --left-out");
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
            "there is no scenario {name:?}; `cargo xtask conformance --list` prints all"
        );
    }
    let chosen = |scenario: &Scenario| names.is_empty() || names.iter().any(|name| scenario.name == name);
    Ok(all.into_iter().filter(chosen).collect())
}

async fn compare(scenarios: Vec<Scenario>, programs: &[PathBuf]) -> Result<()> {
    let (theirs, ours) = tokio::try_join!(upstream(), ourselves(programs))?;
    let (alone, together): (Vec<Scenario>, Vec<Scenario>) = scenarios.into_iter().partition(|scenario| scenario.alone);
    let (mut passed, mut failed) = (0, 0);
    let mut tell = |played: Played| {
        print!("{played}");
        *if played.problems.is_empty() {
            &mut passed
        } else {
            &mut failed
        } += 1;
    };
    let (their_side, our_side) = (&theirs.side, &ours.side);
    let mut playing = stream::iter(together)
        .map(|scenario| play(scenario, their_side, our_side))
        .buffer_unordered(AT_ONCE);
    while let Some(played) = playing.next().await {
        tell(played?);
    }
    for scenario in alone {
        tell(play(scenario, their_side, our_side).await?);
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        bail!("{failed} scenarios end differently with our controllers");
    }
    Ok(())
}

/// A control plane with controllers.
struct World {
    side: Side,
    _control_plane: ControlPlane,
    _manager: Component,
    _programs: Vec<ControllerProcess>,
}

async fn upstream() -> Result<World> {
    let control_plane = ControlPlane::start().await?;
    let manager = control_plane
        .controller_manager(&[CONTROLLERS, OTHERS].concat(), &FAST)
        .await?;
    Ok(World {
        side: Side {
            name: "upstream",
            client: control_plane.client()?,
        },
        _control_plane: control_plane,
        _manager: manager,
        _programs: Vec::new(),
    })
}

async fn ourselves(programs: &[PathBuf]) -> Result<World> {
    let control_plane = ControlPlane::start().await?;
    let manager = control_plane.controller_manager(&OTHERS, &FAST).await?;
    let kubeconfig = control_plane.kubeconfig(control_plane.admin())?;
    let argument = format!("--kubeconfig={}", kubeconfig.path.display());
    let mut started = Vec::new();
    for program in programs {
        let program = ControllerProcess::start(program, &[&argument]).await?;
        program.wait_ready().await?;
        started.push(program);
    }
    Ok(World {
        side: Side {
            name: "we",
            client: control_plane.client()?,
        },
        _programs: started,
        _control_plane: control_plane,
        _manager: manager,
    })
}
