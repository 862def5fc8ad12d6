//! `cargo xtask test`: every check that CI runs.

use std::process::Command;

use devtools::{TestSandbox, cargo, quiet_unless_terminal, recorder};

use crate::{deny, fuzz, programs, published_crates, steps::Steps, targets, tidy, words};

/// The number of random schedules: a minute on two cores.
const SCHEDULES: &str = "--schedules=20000";

/// Fixed, so that a new failure is caused by a change of the code or by timing.
const SOAK_SEED: &str = "--seed=1";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Skip the slow steps: cargo-deny, the fuzz target, the packages, and what needs Go: the recorder and the real control
    /// plane
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let targets = targets::test_targets()?;
    let sandbox = TestSandbox::new()?;
    let mut steps = Steps::default();
    steps.command("format", cargo().args(["fmt", "--all", "--check"]));
    steps.run("tidy", tidy::run);
    steps.run("words", words::run);
    steps.run("pure crates", published_crates::check_no_io_dependencies);
    steps.command(
        "lints",
        cargo()
            .args(["clippy", "--workspace", "--all-targets"])
            .args(quiet_unless_terminal())
            .args(["--", "-D", "warnings"]),
    );
    steps.command(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--no-deps"])
            .args(quiet_unless_terminal())
            .env("RUSTDOCFLAGS", "-D warnings"),
    );
    steps.tests(
        "tests",
        sandbox.confine(&mut test_command(
            ["--lib", "--bins", "--examples"]
                .into_iter()
                .chain(test_arguments(&targets.without_control_plane)),
        )),
    );
    steps.tests("examples in the documentation", &mut test_command(["--doc"]));
    steps.command(
        "a consumer outside of the workspace",
        &mut published_crates::run_consumer()?,
    );
    steps.command(
        "a consumer of the runtime outside of the workspace",
        &mut published_crates::run_runtime_consumer()?,
    );
    steps.run("random schedules", || programs::run("simulate", SCHEDULES));
    steps.run("reference pages", || programs::run("reference", "--check"));
    steps.run("manifests", || programs::run("manifests", "--check"));
    if args.quick {
        println!(
            "\nskipped by --quick: cargo-deny, the fuzz target, the packages, and because they need Go, the tests of the recorder \
             and the test programs {}",
            targets.with_control_plane.join(", ")
        );
    } else {
        steps.run("licences, bans and sources", deny::run);
        steps.command("fuzz target", &mut fuzz::check_target()?);
        steps.run("packages", published_crates::package);
        steps.run("control plane", || programs::run("control-plane-assets", "--all"));
        steps.tests(
            "tests on the real control plane",
            sandbox.confine(&mut test_command(test_arguments(&targets.with_control_plane))),
        );
        steps.command("tests of the recorder", &mut recorder::test());
        // Through Cargo: the tests may have rebuilt xtask, which replaces the file of this process.
        steps.command("conformance", sandbox.confine(cargo().args(["xtask", "conformance"])));
        steps.command(
            "soak",
            sandbox.confine(cargo().args(["xtask", "soak", "--minutes=2", SOAK_SEED])),
        );
        steps.run("no leaked processes or files", || sandbox.assert_no_leaks());
    }
    steps.finish()
}

/// `cargo test` with a selection of targets; the tests print a dot each, even where Cargo shows its progress.
fn test_command<'a>(selection: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).args(selection);
    match quiet_unless_terminal() {
        // Cargo passes it on to the tests.
        Some(quiet) => command.arg(quiet),
        None => command.args(["--", "--quiet"]),
    };
    command
}

fn test_arguments(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().flat_map(|name| ["--test", name])
}
