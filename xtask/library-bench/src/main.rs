//! Times the library side by side with upstream, on the same objects in the same run.
//!
//! `cargo xtask bench library` builds what this needs and runs it optimised.

mod case;
mod cluster;
mod ours;
mod report;
mod upstream;

use std::{num::NonZeroUsize, path::PathBuf};

use anyhow::ensure;
use clap::{Parser, ValueEnum as _};

use crate::{
    case::Case,
    ours::OurSide,
    report::{Path, Report, Row},
    upstream::Recorder,
};

/// How often both sides take turns; the fastest turn of each counts. Who shares the machine with us disturbs one or the other
/// for a second now and then.
const ROUNDS: usize = 5;

/// As upstream has it by default.
pub(crate) const MAX_ENDPOINTS_PER_SLICE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Compare the library with upstream: how long one sync of a Service takes.
#[derive(Debug, Parser)]
struct Args {
    /// The program that times upstream
    #[arg(long)]
    recorder: PathBuf,
    /// Where the figures go, as JSON
    #[arg(long)]
    output: PathBuf,
    /// How many pods the Service has
    #[arg(long = "n", value_delimiter = ',', default_values_t = [100, 1_000, 5_000, 50_000])]
    sizes: Vec<usize>,
    /// What happens; everything by default
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    cases: Vec<Case>,
}

fn main() -> anyhow::Result<()> {
    let mut args = Args::parse();
    if args.cases.is_empty() {
        args.cases = Case::value_variants().to_vec();
    }
    let mut recorder = Recorder::start(&args.recorder)?;
    let mut report = Report::new();
    for size in args.sizes {
        for case in &args.cases {
            let sync = case.prepare(size)?;
            let mut side = OurSide::new(&sync);
            let mut upstream = recorder.time(&sync)?;
            let mut ours = side.time()?;
            for _ in 1..ROUNDS {
                upstream.ns_per_sync = upstream.ns_per_sync.min(recorder.time(&sync)?.ns_per_sync);
                let again = side.time()?;
                ours.compact_ns = ours.compact_ns.min(again.compact_ns);
                ours.public_ns = ours.public_ns.min(again.public_ns);
            }
            ensure!(
                upstream.writes == ours.writes,
                "{case}, {size} pods: upstream writes {:?}, and we {:?}: the times do not compare",
                upstream.writes,
                ours.writes
            );
            let row = |path, ours| Row::new(*case, size, path, upstream.ns_per_sync, ours);
            report.add(row(Path::Compact, ours.compact_ns));
            report.add(row(Path::Public, ours.public_ns));
        }
    }
    recorder.finish()?;
    report.save(&args.output)
}
