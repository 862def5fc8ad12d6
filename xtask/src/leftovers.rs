//! Whether the tests left a process behind.

use std::{
    fs,
    process::{self, Command},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::bail;

/// Processes carry this in their environment, and hand it on to their children.
const VARIABLE: &str = "ENDPOINTSLICE_TEST_RUN";
/// What ends by itself ends within this time after the tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// A mark in the environment by which the processes of one run are found again.
#[derive(Debug)]
pub(crate) struct Marker(String);

impl Marker {
    pub(crate) fn new() -> Self {
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self(format!("{}-{}", process::id(), since_epoch.as_nanos()))
    }

    pub(crate) fn put_on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(VARIABLE, &self.0)
    }

    /// Fails when a marked process goes on.
    pub(crate) fn nothing_left(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("still running after the tests: {}", left.join(", "));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn processes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let mark = format!("{VARIABLE}={}", self.0);
        entries
            .filter_map(Result::ok)
            .filter(|entry| {
                fs::read(entry.path().join("environ")).is_ok_and(|environ| {
                    environ
                        .split(|byte| *byte == 0)
                        .any(|variable| variable == mark.as_bytes())
                })
            })
            .map(|entry| {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                format!("{} ({})", name.trim(), entry.file_name().display())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_marked_process_is_found_until_it_ends() {
        let marker = Marker::new();
        let mut child = marker
            .put_on(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()))
            .spawn()
            .unwrap();
        assert_eq!(marker.processes(), [format!("cat ({})", child.id())]);
        drop(child.stdin.take());
        child.wait().unwrap();
        marker.nothing_left().unwrap();
    }
}
