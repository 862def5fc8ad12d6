//! Whether the tests left a process or a directory behind.

use std::{
    fs::{self, DirEntry},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// What ends by itself ends within this time after the tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// A directory for temporary files in which one run of the tests lives, and by which what it started is found again.
#[derive(Debug)]
pub struct TestRun(TempDir);

impl TestRun {
    /// Makes the directory.
    pub fn new() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("xtask-test-").tempdir();
        directory
            .map(Self)
            .context("cannot make a directory for temporary files")
    }

    /// Makes a command, and what it starts, keep temporary files in the directory.
    pub fn host<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("TMPDIR", self.0.path())
    }

    /// Fails when a process of the run goes on, or the directory of a control plane is still there.
    pub fn nothing_left(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut left = self.processes();
            left.extend(self.directories());
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("still there after the tests: {}", left.join(", "));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The processes that were told to use the directory, or work in it.
    fn processes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| is_told(entry, self.0.path()) || works_in(entry, self.0.path()))
            .map(|entry| {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                format!("{} ({})", name.trim(), entry.file_name().display())
            })
            .collect()
    }

    fn directories(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).into_iter().flatten().filter_map(Result::ok);
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("testenv-")).collect()
    }
}

fn is_told(process: &DirEntry, directory: &Path) -> bool {
    let variable = format!("TMPDIR={}", directory.display());
    fs::read(process.path().join("environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|found| found == variable.as_bytes())
    })
}

/// Servers get an empty environment, but work in their own directory.
fn works_in(process: &DirEntry, directory: &Path) -> bool {
    fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Stdio};

    use super::*;

    fn waiting(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_of_the_run_is_found_until_it_ends() {
        let run = TestRun::new().unwrap();
        let mut told = waiting(run.host(&mut Command::new("cat")));
        let mut inside = waiting(Command::new("cat").env_clear().current_dir(run.0.path()));
        let mut expected = [format!("cat ({})", told.id()), format!("cat ({})", inside.id())];
        let mut found = run.processes();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        for child in [&mut told, &mut inside] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        run.nothing_left().unwrap();
    }

    #[test]
    fn the_directory_of_a_control_plane_is_found() {
        let run = TestRun::new().unwrap();
        fs::create_dir(run.0.path().join("testenv-x")).unwrap();
        assert_eq!(run.directories(), ["testenv-x"]);
    }
}
