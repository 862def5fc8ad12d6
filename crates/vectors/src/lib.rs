//! `cargo xtask vectors`: what we would do about recorded steps, compared with what upstream did.

mod causes;
mod chain;
mod compare;
mod deviations;
mod hints;
mod mirroring_chains;
mod moves;
mod record;
mod service_chains;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Parser;

use self::{
    causes::is_dual_stack,
    chain::Chain,
    compare::{Answer, Difference, Scope, differences},
    deviations::{Deviation, Situation},
};

/// The recordings that are kept with the project.
const OURS: [&str; 2] = ["mirroring.jsonl.gz", "service.jsonl.gz"];

/// Replay recorded answers of upstream and compare them with ours
#[derive(Debug, Parser)]
#[command(name = "cargo xtask vectors", bin_name = "cargo xtask vectors")]
pub struct Args {
    /// Recordings to replay, .jsonl or .jsonl.gz; by default those of the project
    files: Vec<PathBuf>,
    #[command(flatten)]
    recording: record::Recording,
}

/// The deviations for which recorded steps may differ.
pub fn deviations() -> impl Iterator<Item = &'static str> {
    deviations::DEVIATIONS.iter().map(|deviation| deviation.id)
}

#[derive(Debug, Default)]
struct Tally {
    steps: usize,
    equal: usize,
    excused: usize,
    failed: usize,
    /// How many steps each deviation excused.
    by_id: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// A step is excused when every difference lies within the reach of a deviation whose cause is in its input.
    fn count(&mut self, chain: &Chain, number: usize, found: &[Difference], now: &Situation<'_>) {
        self.steps += 1;
        if found.is_empty() {
            self.equal += 1;
            return;
        }
        let excuse = |difference| Some(Deviation::behind(difference, now)?.id);
        if let Some(ids) = found.iter().map(excuse).collect::<Option<BTreeSet<_>>>() {
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

    /// A step that we have no answer to fails as well.
    fn count_unanswered(&mut self, chain: &Chain, number: usize, reason: &anyhow::Error) {
        self.steps += 1;
        self.fail(chain, number);
        println!("no answer: {reason:#}");
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
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slice-reconciler/tests/vectors");
    let ours: Vec<PathBuf> = OURS.iter().map(|name| home.join(name)).collect();
    let files = if args.files.is_empty() { &ours } else { &args.files };
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
        bail!("{failed} steps differ from upstream, or have no answer");
    }
    Ok(())
}

fn replay(chain: &Chain, tally: &mut Tally) {
    let mut controller = service_chains::Controller::new();
    let max = chain.max_endpoints_per_slice;
    let (mut auto, mut dual_stack) = (false, false);
    for (number, step) in chain.steps.iter().enumerate() {
        let scope = Scope::of(step);
        auto |= !scope.exact_hints;
        dual_stack |= is_dual_stack(step);
        let ours = match &step.service {
            Some(service) if !chain.is_of_mirroring() => controller.answer(step, service, max),
            _ => mirroring_chains::answer(step, max),
        };
        let ours = match ours {
            Ok(ours) => ours,
            Err(reason) => {
                tally.count_unanswered(chain, number, &reason);
                continue;
            }
        };
        let upstream = Answer::from(&step.expect);
        let found = differences(&step.existing_slices, &upstream, &ours, &scope);
        let now = Situation {
            step,
            max,
            auto,
            dual_stack,
        };
        tally.count(chain, number, &found, &now);
    }
}
