//! Cleans up the processes and the directory of an environment.
//!
//! Every environment has two helper processes. The *leader* only leads the process group that all components join. The
//! *watchdog* reads a pipe whose other end is in this process: however this process ends, even by SIGKILL, the system
//! closes the pipe, and the watchdog kills the group and removes the directory. Neither is in the group of this
//! process, so that Ctrl-C at a terminal does not end them (and the components) early.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

/// Arguments: process group, directory. A line on stdin means that the cleanup is done; end of input without a line
/// means that the watchdog must do it.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
if read -r _; then exit 0; fi
# Not "kill -9 --": that is more than every shell understands.
kill -s KILL -- "-$1"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf -- "$2"
  sleep 0.1
  if [ ! -e "$2" ]; then exit 0; fi
done
"#;

/// The directory and processes of an environment.
pub(crate) struct Reaper {
    path: PathBuf,
    state: Mutex<Option<State>>,
}

struct State {
    directory: TempDir,
    leader: Child,
    watchdog: Child,
    processes: Vec<Process>,
}

impl Reaper {
    pub(crate) fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("testenv-").tempdir()?;
        let leader = spawn_idle(&mut Command::new("cat"))?;
        let watchdog = spawn_idle(
            Command::new("sh")
                .args(["-c", WATCHDOG, "testenv-watchdog"])
                .arg(leader.id().to_string())
                .arg(directory.path()),
        )?;
        Ok(Self {
            path: directory.path().to_owned(),
            state: Mutex::new(Some(State {
                directory,
                leader,
                watchdog,
                processes: Vec::new(),
            })),
        })
    }

    /// The temporary directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.path
    }

    /// Starts a process in the group.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Process> {
        let mut state = lock(&self.state);
        let Some(state) = state.as_mut() else {
            return Err(io::Error::other("the environment was shut down"));
        };
        state.processes.retain(|process| process.exited().is_none());
        let group = i32::try_from(state.leader.id()).map_err(io::Error::other)?;
        let process = Process::new(command.process_group(group).spawn()?);
        state.processes.push(process.clone());
        Ok(process)
    }

    /// Kills the group, waits until all processes have ended and removes the directory.
    pub(crate) fn shut_down(&self) {
        let Some(mut state) = lock(&self.state).take() else {
            return;
        };
        // The watchdog does the same once the pipe closes, so that failures of these steps can be ignored.
        let _ = rustix::process::kill_process_group(pid(&state.leader), Signal::KILL);
        let _ = state.leader.wait();
        for process in &state.processes {
            let _ = process.wait();
        }
        if state.directory.close().is_ok()
            && let Some(pipe) = &mut state.watchdog.stdin
        {
            let _ = pipe.write_all(b"done\n");
        }
        // Closes the pipe before it waits.
        let _ = state.watchdog.wait();
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// A started process.
#[derive(Clone)]
pub(crate) struct Process {
    id: Pid,
    child: Arc<Mutex<Child>>,
}

impl Process {
    fn new(child: Child) -> Self {
        Self {
            id: pid(&child),
            child: Arc::new(Mutex::new(child)),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended, if it did.
    pub(crate) fn exited(&self) -> Option<ExitStatus> {
        lock(&self.child).try_wait().ok().flatten()
    }

    /// Sends a signal; does nothing if the process has ended.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let mut child = lock(&self.child);
        // While the lock is held, no other thread can reap the process, so the pid is still valid.
        match child.try_wait()? {
            Some(_) => Ok(()),
            None => Ok(rustix::process::kill_process(self.id, signal)?),
        }
    }

    fn wait(&self) -> io::Result<ExitStatus> {
        lock(&self.child).wait()
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Locks a mutex even if it is poisoned: cleanup must run after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process in its own group that ends at the end of its input.
fn spawn_idle(command: &mut Command) -> io::Result<Child> {
    command
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn sleeper(reaper: &Reaper) -> Process {
        let mut command = Command::new("sleep");
        reaper.spawn(command.arg("60").stdin(Stdio::null())).unwrap()
    }

    #[test]
    fn shutdown_kills_running_and_stopped_processes_and_removes_the_directory() {
        let reaper = Reaper::new().unwrap();
        let directory = reaper.directory().to_owned();
        std::fs::write(directory.join("file"), "").unwrap();
        let (running, stopped) = (sleeper(&reaper), sleeper(&reaper));
        stopped.signal(Signal::STOP).unwrap();
        assert_eq!((running.exited(), stopped.exited()), (None, None));
        drop(reaper);
        assert!(running.exited().is_some());
        assert!(stopped.exited().is_some());
        assert!(!directory.exists());
    }

    #[test]
    fn no_process_starts_after_shutdown() {
        let reaper = Reaper::new().unwrap();
        reaper.shut_down();
        let error = reaper.spawn(&mut Command::new("true")).err().unwrap();
        assert_eq!(error.to_string(), "the environment was shut down");
    }

    #[test]
    fn the_watchdog_cleans_up_when_the_pipe_closes() {
        let reaper = Reaper::new().unwrap();
        let process = sleeper(&reaper);
        let mut state = reaper.state.lock().unwrap().take().unwrap();
        drop(state.watchdog.stdin.take());
        assert!(state.watchdog.wait().unwrap().success());
        assert!(!reaper.directory().exists());
        assert_eq!(process.wait().unwrap().signal(), Some(9));
        assert_eq!(state.leader.wait().unwrap().signal(), Some(9));
    }
}
