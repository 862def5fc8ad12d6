//! `cargo xtask upstream-failures`: runs the scenarios with both implementations and prints a table.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use futures::{StreamExt as _, stream};
use testenv::CONTROLLERS;

use super::{Environment, Failure, Implementation, Outcome, all};

/// Number of scenarios that run at the same time.
const MAX_CONCURRENT_SCENARIOS: usize = 2;
/// Longest evidence in the table; the whole text is printed when the scenario ends.
const MAX_EVIDENCE_CHARS: usize = 200;

/// Run past failures of upstream with our controllers and with kube-controller-manager, and print which still has them
#[derive(Debug, Parser)]
#[command(name = "cargo xtask upstream-failures", bin_name = "cargo xtask upstream-failures")]
pub struct Args {
    /// Scenarios to run, by number or part of the name (default: all)
    scenarios: Vec<String>,
    /// Only print the scenarios
    #[arg(long)]
    list: bool,
    /// Run our controllers only
    #[arg(long)]
    only_ours: bool,
}

/// Runs the scenarios and prints a table. Fails if our controllers have one of the failures, or if a scenario could not be run.
pub fn run(args: &Args) -> Result<()> {
    let chosen = choose(&args.scenarios)?;
    if args.list {
        for failure in chosen {
            println!("{}: {}", failure.name, failure.description);
        }
        return Ok(());
    }
    let programs = testenv::build(&CONTROLLERS)?;
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    let (version, rows) = runtime.block_on(run_all(&chosen, &programs, args.only_ours))?;
    print!("{}", table(&version, &rows));
    finish(&rows)
}

fn choose(parts: &[String]) -> Result<Vec<Failure>> {
    let mut all = all();
    for part in parts {
        ensure!(
            all.iter().any(|failure| failure.name.contains(part.as_str())),
            "no scenario has {part:?} in its name; `cargo xtask upstream-failures --list` lists all"
        );
    }
    all.retain(|failure| parts.is_empty() || parts.iter().any(|part| failure.name.contains(part.as_str())));
    Ok(all)
}

/// A scenario with its outcome for each implementation.
struct Row<'a> {
    failure: &'a Failure,
    ours: Outcome,
    upstream: Option<Outcome>,
}

/// Runs all with our controllers on one control plane, and with upstream's on one each. Also returns the version of Kubernetes.
async fn run_all<'a>(failures: &'a [Failure], programs: &[PathBuf], only_ours: bool) -> Result<(String, Vec<Row<'a>>)> {
    let shared = Environment::start().await?;
    let rows = stream::iter(failures).map(async |failure| -> Result<Row<'a>> {
        let ours = failure.run(&shared, Implementation::Ours(programs)).await;
        eprintln!("{}: ours: {}", failure.name, describe(&ours));
        let upstream = if only_ours {
            None
        } else {
            let environment = Environment::start().await?;
            let upstream = failure.run(&environment, Implementation::Upstream).await;
            eprintln!("{}: kube-controller-manager: {}", failure.name, describe(&upstream));
            Some(upstream)
        };
        Ok(Row {
            failure,
            ours,
            upstream,
        })
    });
    let rows: Vec<Result<Row<'a>>> = rows.buffered(MAX_CONCURRENT_SCENARIOS).collect().await;
    let rows: Result<_> = rows.into_iter().collect();
    Ok((shared.version().await?, rows?))
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Failed(evidence) => format!("fails: {evidence}"),
        Outcome::NotRun(error) => format!("not run: {error:#}"),
    }
}

/// The rows as a Markdown table.
fn table(version: &str, rows: &[Row<'_>]) -> String {
    let mut text = format!("| # | what is checked | ours | kube-controller-manager {version} |\n|---|---|---|---|\n");
    for row in rows {
        let cell = |outcome: &Outcome| {
            let text = describe(outcome).replace(['|', '\n'], " ");
            match text.char_indices().nth(MAX_EVIDENCE_CHARS) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        };
        let upstream = row.upstream.as_ref().map_or_else(String::new, cell);
        let (numbers, description) = (row.failure.numbers(), row.failure.description);
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {numbers} | {description} | {} | {upstream} |", cell(&row.ours));
    }
    text
}

fn finish(rows: &[Row<'_>]) -> Result<()> {
    let names = |matches: fn(&Row<'_>) -> bool| -> Vec<&str> {
        let rows = rows.iter().filter(|row| matches(row));
        rows.map(|row| row.failure.name).collect()
    };
    let failed = names(|row| matches!(row.ours, Outcome::Failed(_)));
    let not_run = names(|row| {
        let outcomes = [Some(&row.ours), row.upstream.as_ref()];
        outcomes
            .iter()
            .flatten()
            .any(|outcome| matches!(outcome, Outcome::NotRun(_)))
    });
    if !failed.is_empty() || !not_run.is_empty() {
        bail!("our controllers have the failures {failed:?}; not run: {not_run:?}");
    }
    Ok(())
}
