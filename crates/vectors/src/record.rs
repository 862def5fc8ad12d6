//! Records reconciliations of upstream's controllers with a Go program.

use std::{
    path::{self, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};

use devtools::recorder;

/// Flags of a recording.
#[derive(Debug, clap::Args)]
pub(super) struct Recording {
    /// Record new chains from upstream instead of replaying; needs Go
    #[arg(long, requires_all = ["kind", "seed", "count", "output"])]
    pub(super) record: bool,
    /// Which controller
    #[arg(long, requires = "record")]
    kind: Option<Kind>,
    /// Random seed; the same seed gives the same chains
    #[arg(long, requires = "record")]
    seed: Option<u64>,
    /// How many chains to generate
    #[arg(long, requires = "record")]
    count: Option<u64>,
    /// The file to write, .jsonl or .jsonl.gz
    #[arg(short, long, requires = "record")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    Service,
    Mirroring,
}

pub(super) fn record(recording: &Recording) -> anyhow::Result<()> {
    let (Some(kind), Some(seed), Some(count), Some(output)) =
        (recording.kind, recording.seed, recording.count, &recording.output)
    else {
        bail!("--record needs --kind, --seed, --count and --output");
    };
    let output = path::absolute(output).context("cannot resolve the path of --output")?;
    let kind = match kind {
        Kind::Service => "service",
        Kind::Mirroring => "mirroring",
    };
    let directory = tempfile::tempdir().context("cannot create a temporary directory for the recorder")?;
    let recorder = directory.path().join("recorder");
    recorder::build(&recorder)?;
    let status = Command::new(&recorder)
        .args(["record", "--kind", kind])
        .args(["--seed", &seed.to_string(), "--count", &count.to_string(), "-o"])
        .arg(output)
        .status()
        .context("cannot start the recorder")?;
    if !status.success() {
        bail!("the recorder failed: {status}");
    }
    Ok(())
}
