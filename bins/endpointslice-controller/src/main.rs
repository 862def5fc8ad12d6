//! Writes the EndpointSlices of Services that select pods.

use anyhow::bail;
use clap::Parser;

/// Writes the EndpointSlices of Services that select pods.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {}

fn main() -> anyhow::Result<()> {
    let Args {} = Args::parse();
    bail!("this version holds no controller yet: leave the built-in one of kube-controller-manager running")
}
