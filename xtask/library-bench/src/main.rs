//! Compares the duration of one sync with upstream's, on the same objects in the same run.
//!
//! `cargo xtask bench library` builds the recorder and runs this program in release mode.

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
    ours::OurReconciler,
    report::{CodePath, Report, Row},
    upstream::Recorder,
};

/// Rounds per case; in each, upstream is timed, then our crates. The fastest round of each counts, because other load on the
/// machine disturbs some of them.
const ROUNDS: usize = 5;

/// Upstream's default.
pub(crate) const MAX_ENDPOINTS_PER_SLICE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Compare the duration of one sync of a Service with upstream
#[derive(Debug, Parser)]
struct Args {
    /// Path of the recorder, which times upstream
    #[arg(long)]
    recorder: PathBuf,
    /// JSON file to write
    #[arg(long)]
    output: PathBuf,
    /// Numbers of pods of the Service
    #[arg(long = "n", value_delimiter = ',', default_values_t = [100, 1_000, 5_000, 50_000])]
    sizes: Vec<usize>,
    /// Cases to run (default: all)
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
            let input = case.prepare(size)?;
            let mut reconciler = OurReconciler::new(&input);
            let mut upstream = recorder.time(&input)?;
            let mut ours = reconciler.time()?;
            for _ in 1..ROUNDS {
                upstream.ns_per_sync = upstream.ns_per_sync.min(recorder.time(&input)?.ns_per_sync);
                let next = reconciler.time()?;
                ours.compact_ns = ours.compact_ns.min(next.compact_ns);
                ours.public_ns = ours.public_ns.min(next.public_ns);
            }
            ensure!(
                upstream.writes == ours.writes,
                "{case}, {size} pods: upstream plans {:?}, our crates plan {:?}: the times are not comparable",
                upstream.writes,
                ours.writes
            );
            let row = |path, ours| Row::new(*case, size, path, upstream.ns_per_sync, ours);
            report.add(row(CodePath::Compact, ours.compact_ns));
            report.add(row(CodePath::Public, ours.public_ns));
        }
    }
    recorder.finish()?;
    report.save(&args.output)
}
