//! `cargo xtask vectors`: replays recorded reconciliations of upstream's controllers and compares the results with ours.
//!
//! * `chain.rs` reads recorded chains of steps; `record.rs` records new ones.
//! * `service_replay.rs` and `mirroring_replay.rs` run our controllers on a step.
//! * `compare/`, `moves.rs` and `hints.rs` find the differences between two results.
//! * `deviations.rs` lists the differences that are allowed, with their causes in the input (`causes/`).

mod causes;
mod chain;
mod compare;
mod deviations;
mod hints;
mod mirroring_replay;
mod moves;
mod record;
mod service_replay;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Parser;

use self::{
    causes::is_dual_stack,
    chain::Chain,
    compare::{Difference, ReconcileResult, Scope, differences},
    deviations::{Deviation, StepContext},
};

/// The recordings in the repository.
const RECORDINGS: [&str; 2] = ["mirroring.jsonl.gz", "service.jsonl.gz"];

/// Replay recorded reconciliations of upstream and compare the results with ours
#[derive(Debug, Parser)]
#[command(name = "cargo xtask vectors", bin_name = "cargo xtask vectors")]
pub struct Args {
    /// Recordings to replay, .jsonl or .jsonl.gz; by default those of the repository
    files: Vec<PathBuf>,
    #[command(flatten)]
    recording: record::Recording,
}

/// Ids of the deviations for which recorded steps may differ.
pub fn deviations() -> impl Iterator<Item = &'static str> {
    deviations::DEVIATIONS.iter().map(|deviation| deviation.id)
}

/// Number of steps by result.
#[derive(Debug, Default)]
struct Tally {
    steps: usize,
    equal: usize,
    excused: usize,
    failed: usize,
    /// Number of steps by deviation.
    by_id: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts a replayed step. It is excused if each difference is explained by a deviation whose cause is in its input.
    fn count(&mut self, chain: &Chain, number: usize, found: &[Difference], context: &StepContext<'_>) {
        self.steps += 1;
        if found.is_empty() {
            self.equal += 1;
            return;
        }
        let explaining = |difference| Some(Deviation::explaining(difference, context)?.id);
        if let Some(ids) = found.iter().map(explaining).collect::<Option<BTreeSet<_>>>() {
            self.excused += 1;
            for id in ids {
                *self.by_id.entry(id).or_default() += 1;
            }
            return;
        }
        self.fail(chain, number);
        for difference in found {
            println!("{}", difference.text);
        }
    }

    /// Counts a step whose replay returned an error, as failed.
    fn count_error(&mut self, chain: &Chain, number: usize, error: &anyhow::Error) {
        self.steps += 1;
        self.fail(chain, number);
        println!("replay failed: {error:#}");
    }

    fn fail(&mut self, chain: &Chain, number: usize) {
        self.failed += 1;
        println!("\n{} step {number} ({}):", chain.name, chain.steps[number].change);
    }
}

/// Replays recorded steps, or records new ones.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.recording.record {
        return record::record(&args.recording);
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slice-reconciler/tests/vectors");
    let recordings: Vec<PathBuf> = RECORDINGS.iter().map(|name| directory.join(name)).collect();
    let files = if args.files.is_empty() {
        &recordings
    } else {
        &args.files
    };
    let mut tally = Tally::default();
    for file in files {
        for chain in chain::read(file)? {
            replay(&chain, &mut tally);
        }
    }
    let Tally {
        steps,
        equal,
        excused,
        failed,
        by_id,
    } = tally;
    for (id, steps) in by_id {
        println!("excused by {id}: {steps}");
    }
    println!("vectors: {steps} steps, {equal} equal, {excused} excused, {failed} failed");
    if failed > 0 {
        bail!("{failed} steps differ from upstream or could not be replayed");
    }
    Ok(())
}

/// Replays all steps of a chain.
fn replay(chain: &Chain, tally: &mut Tally) {
    let mut services = service_replay::ServiceReplay::new();
    let max = chain.max_endpoints_per_slice;
    let (mut auto, mut dual_stack) = (false, false);
    for (number, step) in chain.steps.iter().enumerate() {
        let scope = Scope::from_step(step);
        auto |= !scope.exact_hints;
        dual_stack |= is_dual_stack(step);
        let ours = match &step.service {
            Some(service) if !chain.is_of_mirroring() => services.replay(step, service, max),
            _ => mirroring_replay::replay(step, max),
        };
        let ours = match ours {
            Ok(ours) => ours,
            Err(error) => {
                tally.count_error(chain, number, &error);
                continue;
            }
        };
        let upstream = ReconcileResult::from(&step.expect);
        let found = differences(&step.existing_slices, &upstream, &ours, &scope);
        let context = StepContext {
            step,
            max,
            auto,
            dual_stack,
        };
        tally.count(chain, number, &found, &context);
    }
}
