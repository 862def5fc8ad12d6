//! Mirrors hand-made Endpoints objects into EndpointSlices.

use anyhow::bail;
use clap::Parser;

/// Mirrors hand-made Endpoints objects into EndpointSlices.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {}

fn main() -> anyhow::Result<()> {
    let Args {} = Args::parse();
    bail!("this version holds no controller yet: leave the built-in one of kube-controller-manager running")
}
