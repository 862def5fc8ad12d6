//! Runs named steps and prints a summary.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};

/// Runs steps one after the other. A failed step does not stop the next one.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    tests: TestCount,
}

#[derive(Debug)]
struct Step {
    name: String,
    duration: Duration,
    result: anyhow::Result<()>,
}

/// Number of tests by result.
#[derive(Debug, Default, PartialEq, Eq)]
struct TestCount {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Steps {
    /// Runs a function as a step.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> anyhow::Result<()>) {
        self.step(name, |_| step());
    }

    /// Runs a command as a step.
    pub(crate) fn command(&mut self, name: &str, command: &mut Command) {
        self.run(name, || {
            check_status(command.status().with_context(|| cannot_start(command))?, command)
        });
    }

    /// Runs `cargo test` as a step and counts the tests.
    pub(crate) fn tests(&mut self, name: &str, command: &mut Command) {
        self.step(name, |tests| {
            command.stdout(Stdio::piped());
            let mut child = command.spawn().with_context(|| cannot_start(command))?;
            if let Some(stdout) = child.stdout.take() {
                for line in BufReader::new(stdout).lines() {
                    let line = line.context("cannot read the output of the tests")?;
                    println!("{line}");
                    tests.add(&line);
                }
            }
            check_status(child.wait().context("cannot wait for the tests")?, command)
        });
    }

    fn step(&mut self, name: &str, step: impl FnOnce(&mut TestCount) -> anyhow::Result<()>) {
        println!("\n==> {name}");
        let start = Instant::now();
        let result = step(&mut self.tests);
        if let Err(error) = &result {
            println!("error: {error:#}");
        }
        self.done.push(Step {
            name: name.to_owned(),
            duration: start.elapsed(),
            result,
        });
    }

    /// Prints the summary. Fails if a step failed.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        println!("\n==> summary");
        for step in &self.done {
            let mark = if step.result.is_ok() { "ok    " } else { "FAILED" };
            println!("{mark} {:>5} s  {}", step.duration.as_secs(), step.name);
        }
        let total: Duration = self.done.iter().map(|step| step.duration).sum();
        println!("       {:>5} s  total", total.as_secs());
        let TestCount {
            passed,
            failed,
            ignored,
        } = self.tests;
        println!("tests: {passed} passed, {failed} failed, {ignored} skipped");
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|step| step.result.is_err())
            .map(|step| step.name.as_str())
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

impl TestCount {
    /// Adds the counts of a result line such as `test result: ok. 4 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        let count = |word: &str| {
            counts
                .split([';', '.'])
                .filter_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u64>().ok())
                .sum::<u64>()
        };
        self.passed += count("passed");
        self.failed += count("failed");
        self.ignored += count("ignored");
    }
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

fn check_status(status: std::process::ExitStatus, command: &Command) -> anyhow::Result<()> {
    if status.success() {
        return Ok(());
    }
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    bail!(
        "`{} {}` ended with {status}",
        command.get_program().display(),
        arguments.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_counted() {
        let mut count = TestCount::default();
        for line in [
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.12s",
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s",
            "running 4 tests",
        ] {
            count.add(line);
        }
        assert_eq!(
            count,
            TestCount {
                passed: 6,
                failed: 3,
                ignored: 1
            }
        );
    }

    #[test]
    fn a_failed_step_fails_the_run_but_does_not_stop_it() {
        let mut steps = Steps::default();
        let mut ran = false;
        steps.run("one", || bail!("broken"));
        steps.run("two", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
        assert_eq!(steps.finish().unwrap_err().to_string(), "failed: one");
    }
}
