//! Soak: two replicas of each controller on the real control plane, under random changes and random damage of the network, the
//! controllers, kube-apiserver and etcd. Each round of about a minute ends without damage: the cluster must converge, and the oracle
//! checks every revision of the round.

mod cluster;
mod damage;
mod inject;
mod replica;
mod report;
mod round;
mod writers;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use testenv::{CONTROLLERS, ControlPlane};
use tokio::time::Instant;

use cluster::Cluster;
use damage::Damage;
use round::{Figures, Random};

/// A round takes at least this long.
const ROUND: Duration = Duration::from_secs(60);

/// Run both controllers in two replicas each on a real control plane, under random changes and damage, and check every slice
#[derive(Debug, Parser)]
#[command(name = "cargo xtask soak", bin_name = "cargo xtask soak")]
pub struct Args {
    /// Number of rounds of one minute
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// The seed of all changes and damage (default: a random one)
    #[arg(long)]
    seed: Option<u64>,
    /// Print the damage of every round
    #[arg(long)]
    trace: bool,
}

/// Runs the rounds. Fails at the first round with a violation.
pub fn run(args: &Args) -> Result<()> {
    let programs = testenv::build(&CONTROLLERS)?;
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    runtime.block_on(soak(args, seed, &programs))
}

async fn soak(args: &Args, seed: u64, programs: &[PathBuf]) -> Result<()> {
    println!("soak: seed {seed}, {} minutes", args.minutes);
    let control_plane = ControlPlane::start().await?;
    let cluster = Cluster::start(&control_plane, programs).await?;
    let mut random = Random::new(seed);
    let (mut total, mut minutes) = (Figures::default(), 0);
    while minutes < args.minutes && total.violations == 0 {
        minutes += 1;
        let end = Instant::now() + ROUND;
        let damage = random.damage.next_round();
        if args.trace {
            print_damage(&damage);
        }
        let round = round::run(&cluster, &mut random.changes, &damage, end).await;
        let round = round.with_context(|| format!("soak: seed {seed}, minute {minutes}"))?;
        let Figures {
            changes,
            faults,
            kills,
            stops,
            freezes,
            writes,
            violations,
        } = round.figures;
        println!(
            "minute {minutes}: {changes} changes, {faults} faults, {kills} kills, {stops} stops, {freezes} freezes, \
             {writes} writes, {violations} violations; converged in {:.1?}",
            round.convergence
        );
        if round.uncertain_edits > 0 {
            println!(
                "  revisions after {} edits of slices have an unknown author",
                round.uncertain_edits
            );
        }
        if violations > 0 {
            println!("{}", round.description);
            println!("damage of the round:");
            print_damage(&damage);
        }
        total += round.figures;
    }
    let Figures {
        faults,
        writes,
        violations,
        ..
    } = total;
    println!("soak: seed {seed}, {minutes} minutes, faults {faults}, writes {writes}, violations {violations}");
    ensure!(
        violations == 0,
        "{violations} violations with --seed {seed}, in minute {minutes}"
    );
    Ok(())
}

fn print_damage(round: &[Damage]) {
    for damage in round {
        println!("  after {:.1?}: {damage}", damage.at);
    }
}
