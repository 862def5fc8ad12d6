//! A component of the control plane: a process that can be stopped, killed, frozen and restarted.

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
/// Starting takes seconds, and much longer on a loaded machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const LOG_TAIL_LINES: usize = 25;

/// How to run a component and probe its readiness.
pub(crate) struct ComponentSpec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Client configuration and path of the readiness probe.
    pub(crate) probe: (Config, &'static str),
}

/// A component of the control plane. It is killed with its environment, even if a clone of this value still exists.
#[derive(Clone)]
pub struct Component {
    name: &'static str,
    log: Arc<Path>,
    spec: Arc<ComponentSpec>,
    reaper: Arc<Reaper>,
    process: Arc<Mutex<Option<Process>>>,
}

impl Component {
    pub(crate) fn new(name: &'static str, log: PathBuf, spec: ComponentSpec, reaper: Arc<Reaper>) -> Self {
        Self {
            name,
            log: log.into(),
            spec: Arc::new(spec),
            reaper,
            process: Arc::default(),
        }
    }

    /// Starts or restarts the component with the same arguments, ports and data, and waits until it is ready.
    pub async fn start(&self) -> Result<(), Error> {
        if self.is_running() {
            return Err(self.wrong_state("start", "is already running"));
        }
        let process = self.spawn()?;
        *self.current() = Some(process.clone());
        self.wait_ready(&process).await
    }

    /// Stops the component (SIGTERM, and SIGCONT if it is frozen) and waits until it has ended.
    pub async fn stop(&self) -> Result<(), Error> {
        self.end(&[Signal::TERM, Signal::CONT]).await
    }

    /// Kills the component (SIGKILL) and waits until it has ended.
    pub async fn kill(&self) -> Result<(), Error> {
        self.end(&[Signal::KILL]).await
    }

    /// Freezes the component (SIGSTOP): its connections stay open, and it does not respond.
    pub async fn freeze(&self) -> Result<(), Error> {
        let process = self.running("freeze")?;
        self.signal(&process, Signal::STOP)?;
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let start = Instant::now();
        while let Some(id) = id
            && process.exited().is_none()
            && !matches!(rustix::process::waitid(WaitId::Pid(id), options), Ok(Some(_)))
        {
            self.poll_until_timeout(start, "freeze").await?;
        }
        Ok(())
    }

    /// Resumes a frozen component (SIGCONT).
    pub fn thaw(&self) -> Result<(), Error> {
        let process = self.running("thaw")?;
        self.signal(&process, Signal::CONT)
    }

    /// Whether the process exists; true for a frozen one.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid().is_some()
    }

    /// The process id, while the process exists.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let process = self.current().clone()?;
        process.exited().is_none().then(|| process.id())
    }

    /// Sends a GET request, such as for metrics, with sufficient rights.
    pub async fn get(&self, path: &str) -> Result<String, Error> {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError);
        let client = client(&self.spec.probe.0)?;
        let response = match request {
            Ok(request) => client.request_text(request).await,
            Err(error) => Err(error),
        };
        response.map_err(Error::request(format!("get {path} from {}", self.name)))
    }

    /// The log file.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
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
            // Isolated from the user's environment and kubeconfig.
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

    async fn wait_ready(&self, process: &Process) -> Result<(), Error> {
        let (config, path) = &self.spec.probe;
        let client = client(config)?;
        let start = Instant::now();
        loop {
            if let Some(status) = process.exited() {
                return Err(Error::Ended {
                    component: self.name,
                    status,
                    log: self.log_tail(),
                });
            }
            if is_ready(&client, path).await {
                return Ok(());
            }
            if start.elapsed() > START_TIMEOUT {
                return Err(Error::NotReady {
                    component: self.name,
                    seconds: START_TIMEOUT.as_secs(),
                    log: self.log_tail(),
                });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn end(&self, signals: &[Signal]) -> Result<(), Error> {
        let Some(process) = self.current().clone() else {
            return Ok(());
        };
        for signal in signals {
            self.signal(&process, *signal)?;
        }
        let start = Instant::now();
        while process.exited().is_none() {
            self.poll_until_timeout(start, "end").await?;
        }
        Ok(())
    }

    /// Sleeps for one poll interval; returns an error after the timeout.
    async fn poll_until_timeout(&self, start: Instant, action: &'static str) -> Result<(), Error> {
        if start.elapsed() > STOP_TIMEOUT {
            return Err(Error::NoReaction {
                component: self.name,
                action,
                seconds: STOP_TIMEOUT.as_secs(),
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
        self.current()
            .clone()
            .filter(|process| process.exited().is_none())
            .ok_or_else(|| self.wrong_state(action, "is not running"))
    }

    fn wrong_state(&self, action: &'static str, state: &'static str) -> Error {
        Error::WrongState {
            component: self.name,
            action,
            state,
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client without retries, so that a test sees the first response.
pub(crate) fn client(config: &Config) -> Result<Client, Error> {
    let mut config = config.clone();
    config.default_retry = false;
    let url = config.cluster_url.to_string();
    Client::try_from(config).map_err(|source| Error::Client {
        url,
        source: Box::new(source),
    })
}

async fn is_ready(client: &Client, path: &str) -> bool {
    let Ok(request) = http::Request::get(path).body(Vec::new()) else {
        return false;
    };
    // A server may accept connections long before it responds.
    let response = tokio::time::timeout(Duration::from_secs(5), client.request_text(request));
    matches!(response.await, Ok(Ok(_)))
}
