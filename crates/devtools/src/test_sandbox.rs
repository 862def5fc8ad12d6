//! Leak check: finds processes and directories that a test run left behind.

use std::{
    fs::{self, DirEntry},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// Processes that exit on their own get this long after the tests.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The temporary directory of one test run. Leaked processes are found by their `TMPDIR` or working directory.
#[derive(Debug)]
pub struct TestSandbox(TempDir);

impl TestSandbox {
    /// Creates the directory.
    pub fn new() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("xtask-test-").tempdir();
        directory
            .map(Self)
            .context("cannot create a directory for temporary files")
    }

    /// Sets `TMPDIR` of a command, and so of its child processes, to the directory.
    pub fn confine<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("TMPDIR", self.0.path())
    }

    /// Fails if a process of the run is still running, or the directory of a control plane still exists.
    pub fn assert_no_leaks(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            let mut leaks = self.processes();
            leaks.extend(self.control_plane_directories());
            if leaks.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("leaked by the tests: {}", leaks.join(", "));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Running processes whose `TMPDIR` or working directory is in the sandbox.
    fn processes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| has_tmpdir(entry, self.0.path()) || works_in(entry, self.0.path()))
            .map(|entry| {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                format!("{} ({})", name.trim(), entry.file_name().display())
            })
            .collect()
    }

    fn control_plane_directories(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).into_iter().flatten().filter_map(Result::ok);
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("testenv-")).collect()
    }
}

/// Whether the process was started with this `TMPDIR`.
fn has_tmpdir(process: &DirEntry, directory: &Path) -> bool {
    let variable = format!("TMPDIR={}", directory.display());
    fs::read(process.path().join("environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|found| found == variable.as_bytes())
    })
}

/// Whether the working directory of the process is below `directory`. Servers of the control plane have an empty environment, but
/// run in their own directory.
fn works_in(process: &DirEntry, directory: &Path) -> bool {
    fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Stdio};

    use super::*;

    fn spawn(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_is_a_leak_until_it_exits() {
        let sandbox = TestSandbox::new().unwrap();
        let mut confined = spawn(sandbox.confine(&mut Command::new("cat")));
        let mut inside = spawn(Command::new("cat").env_clear().current_dir(sandbox.0.path()));
        let mut expected = [format!("cat ({})", confined.id()), format!("cat ({})", inside.id())];
        let mut found = sandbox.processes();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        for child in [&mut confined, &mut inside] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        sandbox.assert_no_leaks().unwrap();
    }

    #[test]
    fn the_directory_of_a_control_plane_is_a_leak() {
        let sandbox = TestSandbox::new().unwrap();
        fs::create_dir(sandbox.0.path().join("testenv-x")).unwrap();
        assert_eq!(sandbox.control_plane_directories(), ["testenv-x"]);
    }
}
