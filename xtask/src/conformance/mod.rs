//! The same stories on two real control planes, one with upstream's controllers and one with ours, compared at every rest.

mod picture;
mod play;
mod scenario;
mod scenarios;
mod side;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use futures::{StreamExt as _, stream};
use testenv::{CONTROLLERS, ControlPlane, Part, Program};

use play::{Played, play};
use scenario::Scenario;
use side::Side;

/// Scenarios that are played at the same time.
const AT_ONCE: usize = 12;
const GARBAGE_COLLECTOR: &str = "garbage-collector-controller";

/// Play the same scenarios with upstream's controllers and with ours, and compare
#[derive(Debug, Parser)]
pub(super) struct Args {
    /// The scenarios to play; all, if none is named
    scenarios: Vec<String>,
    /// Only print the scenarios and the rules they play
    #[arg(long)]
    list: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let chosen = choose(&args.scenarios)?;
    if args.list {
        for scenario in chosen {
            println!("{}: {}", scenario.name, scenario.rules.join(", "));
        }
        return Ok(());
    }
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
    _manager: Part,
    _programs: Vec<Program>,
}

async fn upstream() -> Result<World> {
    let control_plane = ControlPlane::start().await?;
    let controllers = [CONTROLLERS[0], CONTROLLERS[1], GARBAGE_COLLECTOR];
    // Nobody should wait for upstream's limits.
    let fast = ["--kube-api-qps=1000", "--kube-api-burst=1000"];
    let manager = control_plane.controller_manager(&controllers, &fast).await?;
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
    let manager = control_plane.controller_manager(&[GARBAGE_COLLECTOR], &[]).await?;
    let kubeconfig = control_plane.kubeconfig(control_plane.admin())?;
    let argument = format!("--kubeconfig={}", kubeconfig.path.display());
    let mut started = Vec::new();
    for program in programs {
        let program = Program::start(program, &[&argument]).await?;
        program.ready().await?;
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
