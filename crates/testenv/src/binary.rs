//! A program under test, as a person would run it.

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

/// What a busy machine needs at most for what takes moments.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(10);

/// A program that runs in an empty directory, knows nothing of the user's settings, and does not outlive this.
pub struct Binary {
    process: Process,
    log: PathBuf,
    /// Ends the program when it is dropped.
    _reaper: Reaper,
}

impl Binary {
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

    /// All that it has said so far.
    #[must_use]
    pub fn said(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits until it has said `text`; answers the whole line.
    pub async fn says(&self, text: &str) -> Result<String, Error> {
        let mut line = None;
        let waited = until(text, || {
            let ended = self.ended().is_some();
            let said = self.said();
            line = said.lines().find(|line| line.contains(text)).map(ToOwned::to_owned);
            std::future::ready(line.is_some() || ended)
        });
        let waited = waited.await;
        line.ok_or_else(|| self.failed(text, waited))
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process.exited()
    }

    /// Waits until it ends; answers how.
    pub async fn ends(&self) -> Result<ExitStatus, Error> {
        let mut status = None;
        let waited = until("its end", || {
            status = self.ended();
            std::future::ready(status.is_some())
        });
        let waited = waited.await;
        status.ok_or_else(|| self.failed("its end", waited))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let sent = self.process.signal(signal);
        sent.map_err(Error::system(format!("send a signal to {}", self.process.id())))
    }

    pub(crate) fn failed(&self, expected: &str, waited: Result<(), Error>) -> Error {
        let how = match waited {
            Ok(()) => "before the program ended".to_owned(),
            Err(error) => error.to_string(),
        };
        Error::Silent {
            expected: expected.to_owned(),
            how,
            said: self.said(),
        }
    }
}

/// Waits until a condition holds; an error, if it never does.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Result<(), Error> {
    let begin = Instant::now();
    while !condition().await {
        if begin.elapsed() > PATIENCE {
            return Err(Error::Timeout {
                what: what.to_owned(),
                seconds: PATIENCE.as_secs(),
            });
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Binary {
        Binary::start("/bin/sh", &["-c", script], &[("NAME", "x")]).unwrap()
    }

    #[tokio::test]
    async fn what_it_says_and_how_it_ends_is_seen() {
        let binary = shell(
            "echo one $NAME ${CARGO_MANIFEST_DIR:-nothing}; echo two >&2; trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done",
        );
        assert_eq!(binary.says("one").await.unwrap(), "one x nothing");
        binary.says("ready").await.unwrap();
        assert_eq!(binary.said(), "one x nothing\ntwo\nready\n");
        assert_eq!(binary.ended(), None);
        binary.signal(Signal::TERM).unwrap();
        assert_eq!(binary.ends().await.unwrap().code(), Some(7));
        assert_eq!(binary.ended().unwrap().code(), Some(7));
    }

    #[tokio::test]
    async fn what_is_never_said_is_an_error_as_soon_as_that_is_certain() {
        let error = shell("echo one").says("two").await.unwrap_err().to_string();
        assert!(error.contains("two") && error.contains("one"), "{error}");
    }

    #[tokio::test]
    async fn a_drop_ends_it() {
        let binary = shell("echo up; while :; do sleep 1; done");
        binary.says("up").await.unwrap();
        let process = binary.process.clone();
        drop(binary);
        assert!(process.exited().is_some());
    }
}
