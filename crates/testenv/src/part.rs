//! One program of an environment, which can be stopped, killed, frozen and
//! started again.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::error::Error;
use crate::reaper::{Process, Reaper};

const POLL: Duration = Duration::from_millis(50);
/// Starting takes seconds; a busy machine may make many of them.
const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(60);
const LINES_OF_LOG: usize = 25;

/// How to run a program and how to see that it is ready.
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Whom to ask, and for which path.
    pub(crate) probe: (Config, &'static str),
}

/// A program of an environment. It goes with its environment, whoever still
/// has a `Part`.
#[derive(Clone)]
pub struct Part {
    name: &'static str,
    log: Arc<Path>,
    spec: Arc<Spec>,
    reaper: Arc<Reaper>,
    process: Arc<Mutex<Option<Process>>>,
}

impl Part {
    pub(crate) fn new(name: &'static str, log: PathBuf, spec: Spec, reaper: Arc<Reaper>) -> Self {
        Self {
            name,
            log: log.into(),
            spec: Arc::new(spec),
            reaper,
            process: Arc::default(),
        }
    }

    /// Starts it, again with the same arguments, ports and data, and waits
    /// until it is ready.
    pub async fn start(&self) -> Result<(), Error> {
        if self.is_running() {
            return Err(self.wrong_state("start", "runs already"));
        }
        let process = self.spawn()?;
        *self.slot() = Some(process.clone());
        self.ready(&process).await
    }

    /// Asks it to end (SIGTERM) and waits until it has. A frozen one is thawed
    /// for that.
    pub async fn stop(&self) -> Result<(), Error> {
        self.end(&[Signal::TERM, Signal::CONT]).await
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub async fn kill(&self) -> Result<(), Error> {
        self.end(&[Signal::KILL]).await
    }

    /// Freezes it (SIGSTOP): it keeps its connections and answers nothing.
    pub async fn freeze(&self) -> Result<(), Error> {
        let process = self.running("freeze")?;
        self.signal(&process, Signal::STOP)?;
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let begin = Instant::now();
        while let Some(id) = id
            && process.exited().is_none()
            && !matches!(rustix::process::waitid(WaitId::Pid(id), options), Ok(Some(_)))
        {
            self.patience(begin, "freeze").await?;
        }
        Ok(())
    }

    /// Lets a frozen one go on (SIGCONT).
    pub fn thaw(&self) -> Result<(), Error> {
        let process = self.running("thaw")?;
        self.signal(&process, Signal::CONT)
    }

    /// Whether it runs; a frozen one does.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid().is_some()
    }

    /// The number of its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let process = self.slot().clone()?;
        process.exited().is_none().then(|| process.id())
    }

    /// Asks it for a page, such as its metrics, as somebody who may see it.
    pub async fn page(&self, path: &str) -> Result<String, Error> {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError);
        let client = client(&self.spec.probe.0)?;
        let page = match request {
            Ok(request) => client.request_text(request).await,
            Err(error) => Err(error),
        };
        page.map_err(Error::request(format!("get {path} from {}", self.name)))
    }

    /// The file to which it writes what it does.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES_OF_LOG)..].join("\n")
    }

    fn spawn(&self) -> Result<Process, Error> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = log.map_err(Error::system(format!("write to {}", self.log.display())))?;
        let mut command = Command::new(&self.spec.program);
        command
            .args(&self.spec.args)
            // Nothing of the user's own cluster or settings gets in.
            .env_clear()
            .env("HOME", self.reaper.directory())
            .current_dir(self.reaper.directory())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        self.reaper
            .spawn(&mut command)
            .map_err(Error::system(format!("run {}", self.spec.program.display())))
    }

    async fn ready(&self, process: &Process) -> Result<(), Error> {
        let (config, path) = &self.spec.probe;
        let client = client(config)?;
        let begin = Instant::now();
        loop {
            if let Some(status) = process.exited() {
                return Err(Error::Ended {
                    part: self.name,
                    status,
                    log: self.log_tail(),
                });
            }
            if answers(&client, path).await {
                return Ok(());
            }
            if begin.elapsed() > START {
                return Err(Error::NotReady {
                    part: self.name,
                    seconds: START.as_secs(),
                    log: self.log_tail(),
                });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn end(&self, signals: &[Signal]) -> Result<(), Error> {
        let Some(process) = self.slot().clone() else {
            return Ok(());
        };
        for signal in signals {
            self.signal(&process, *signal)?;
        }
        let begin = Instant::now();
        while process.exited().is_none() {
            self.patience(begin, "end").await?;
        }
        Ok(())
    }

    /// Waits a moment, or says that it has been too long.
    async fn patience(&self, begin: Instant, action: &'static str) -> Result<(), Error> {
        if begin.elapsed() > STOP {
            return Err(Error::Deaf {
                part: self.name,
                action,
                seconds: STOP.as_secs(),
            });
        }
        tokio::time::sleep(POLL / 5).await;
        Ok(())
    }

    fn signal(&self, process: &Process, signal: Signal) -> Result<(), Error> {
        process
            .signal(signal)
            .map_err(Error::system(format!("send a signal to {}", self.name)))
    }

    fn running(&self, action: &'static str) -> Result<Process, Error> {
        self.slot()
            .clone()
            .filter(|process| process.exited().is_none())
            .ok_or_else(|| self.wrong_state(action, "does not run"))
    }

    fn wrong_state(&self, action: &'static str, state: &'static str) -> Error {
        Error::WrongState {
            part: self.name,
            action,
            state,
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that does not try again by itself: a test wants to see the first
/// answer.
pub(crate) fn client(config: &Config) -> Result<Client, Error> {
    let mut config = config.clone();
    config.default_retry = false;
    let url = config.cluster_url.to_string();
    Client::try_from(config).map_err(|source| Error::Client {
        url,
        source: Box::new(source),
    })
}

async fn answers(client: &Client, path: &str) -> bool {
    let Ok(request) = http::Request::get(path).body(Vec::new()) else {
        return false;
    };
    // A server may take the connection long before it answers on it.
    let answer = tokio::time::timeout(Duration::from_secs(5), client.request_text(request));
    matches!(answer.await, Ok(Ok(_)))
}
