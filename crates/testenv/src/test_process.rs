//! A process under test.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

pub use rustix::process::Signal;

use crate::{
    error::Error,
    reaper::{Process, Reaper},
};

/// Timeout of all waits; generous, because the machine may be loaded.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(10);

/// A process under test. It runs in an empty directory with a clean environment and is killed when this is dropped.
pub struct TestProcess {
    process: Process,
    log: PathBuf,
    /// Kills the process when dropped.
    _reaper: Reaper,
}

impl TestProcess {
    /// Starts a program with these arguments and environment variables.
    pub fn start(program: impl AsRef<Path>, args: &[&str], variables: &[(&str, &str)]) -> Result<Self, Error> {
        let program = program.as_ref();
        let reaper = Reaper::new().map_err(Error::system("set up a temporary directory"))?;
        let log = reaper.directory().join("log");
        let outputs = File::create(&log).and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = outputs.map_err(Error::system(format!("write to {}", log.display())))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("HOME", reaper.directory())
            // Tests run several of our controllers at the same time: with the default port, all but one would fail to start, and
            // with one Lease, all but one would stand by.
            .env("ENDPOINTSLICE_SECURE_PORT", "0")
            .env("ENDPOINTSLICE_LEADER_ELECT", "false")
            .envs(variables.iter().copied())
            .current_dir(reaper.directory())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        let process = reaper
            .spawn(&mut command)
            .map_err(Error::system(format!("run {}", program.display())))?;
        Ok(Self {
            process,
            log,
            _reaper: reaper,
        })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The output (stdout and stderr) so far.
    #[must_use]
    pub fn output(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits until the output contains `text`; returns the whole line.
    pub async fn wait_for_output(&self, text: &str) -> Result<String, Error> {
        let mut line = None;
        let future = until(text, || {
            let exited = self.try_exit().is_some();
            let output = self.output();
            line = output.lines().find(|line| line.contains(text)).map(ToOwned::to_owned);
            std::future::ready(line.is_some() || exited)
        });
        let result = future.await;
        line.ok_or_else(|| self.failed(text, result))
    }

    /// The exit status, if the process has ended.
    #[must_use]
    pub fn try_exit(&self) -> Option<ExitStatus> {
        self.process.exited()
    }

    /// Waits until the process ends; returns its exit status.
    pub async fn wait(&self) -> Result<ExitStatus, Error> {
        let mut status = None;
        let future = until("exit", || {
            status = self.try_exit();
            std::future::ready(status.is_some())
        });
        let result = future.await;
        status.ok_or_else(|| self.failed("exit", result))
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let sent = self.process.signal(signal);
        sent.map_err(Error::system(format!("send a signal to {}", self.process.id())))
    }

    pub(crate) fn failed(&self, expected: &str, result: Result<(), Error>) -> Error {
        let how = match result {
            Ok(()) => "the process ended first".to_owned(),
            Err(error) => error.to_string(),
        };
        Error::UnexpectedOutput {
            expected: expected.to_owned(),
            how,
            output: self.output(),
        }
    }
}

/// Polls a condition until it holds; returns an error after the timeout.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Result<(), Error> {
    let start = Instant::now();
    while !condition().await {
        if start.elapsed() > TIMEOUT {
            return Err(Error::Timeout {
                what: what.to_owned(),
                seconds: TIMEOUT.as_secs(),
            });
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> TestProcess {
        TestProcess::start("/bin/sh", &["-c", script], &[("NAME", "x")]).unwrap()
    }

    #[tokio::test]
    async fn output_and_exit_status_are_captured() {
        let process = shell(
            "echo one $NAME ${CARGO_MANIFEST_DIR:-nothing}; echo two >&2; trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done",
        );
        assert_eq!(process.wait_for_output("one").await.unwrap(), "one x nothing");
        process.wait_for_output("ready").await.unwrap();
        assert_eq!(process.output(), "one x nothing\ntwo\nready\n");
        assert_eq!(process.try_exit(), None);
        process.signal(Signal::TERM).unwrap();
        assert_eq!(process.wait().await.unwrap().code(), Some(7));
        assert_eq!(process.try_exit().unwrap().code(), Some(7));
    }

    #[tokio::test]
    async fn missing_output_is_an_error_as_soon_as_the_process_ends() {
        let error = shell("echo one").wait_for_output("two").await.unwrap_err().to_string();
        assert!(error.contains("two") && error.contains("one"), "{error}");
    }

    #[tokio::test]
    async fn drop_kills_the_process() {
        let process = shell("echo up; while :; do sleep 1; done");
        process.wait_for_output("up").await.unwrap();
        let child = process.process.clone();
        drop(process);
        assert!(child.exited().is_some());
    }
}
