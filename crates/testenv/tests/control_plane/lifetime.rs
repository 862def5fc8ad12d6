//! No process or file outlives its environment, however it ends.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use futures::FutureExt as _;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use testenv::ControlPlane;

use crate::until;

/// Set in the child process that runs [`run_control_plane`].
const HOLD: &str = "TESTENV_HOLD";

/// The processes with `directory` in their arguments: the components and the watchdog, but not the test itself. Zombies
/// have no arguments.
fn processes_of(directory: &Path) -> Vec<String> {
    let directory = directory.to_str().unwrap();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|arguments| String::from_utf8_lossy(&arguments).replace('\0', " "))
        .filter(|arguments| arguments.contains(directory))
        .collect()
}

#[tokio::test]
async fn drop_kills_all_processes_even_frozen_ones() {
    let control_plane = ControlPlane::start().await.unwrap();
    let directory = control_plane.directory().to_owned();
    let manager = control_plane
        .controller_manager(&["namespace-controller"], &[])
        .await
        .unwrap();
    control_plane.etcd().freeze().await.unwrap();
    // etcd, kube-apiserver, kube-controller-manager and the watchdog.
    assert_eq!(processes_of(&directory).len(), 4);

    drop(control_plane);
    assert_eq!(processes_of(&directory), Vec::<String>::new());
    assert!(!directory.exists());
    assert!(!manager.is_running());
    assert!(manager.start().await.is_err());
}

#[tokio::test]
async fn a_panic_kills_all_processes() {
    let control_plane = ControlPlane::start().await.unwrap();
    let directory = control_plane.directory().to_owned();
    let test = AssertUnwindSafe(async move {
        let _control_plane = control_plane;
        panic!("as a failing test does");
    });
    assert!(test.catch_unwind().await.is_err());
    assert_eq!(processes_of(&directory), Vec::<String>::new());
    assert!(!directory.exists());
}

/// Not a test: runs a control plane in a child process until it is killed.
#[tokio::test]
#[ignore = "the other tests start it and kill it"]
async fn run_control_plane() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let control_plane = ControlPlane::start().await.unwrap();
    println!("\n{HOLD} {}", control_plane.directory().display());
    std::future::pending::<()>().await;
}

/// Starts [`run_control_plane`] in a child process with its own process group.
fn start_child() -> (Child, PathBuf) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lifetime::run_control_plane", "--ignored", "--nocapture"])
        .env(HOLD, "1")
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let directory = output
        .lines()
        .find_map(|line| Some(PathBuf::from(line.unwrap().strip_prefix(HOLD)?.trim())))
        .expect("the child prints the directory of its control plane");
    (child, directory)
}

async fn assert_cleaned_up_after(end: impl FnOnce(Pid)) {
    let (mut child, directory) = start_child();
    assert!(directory.exists());
    assert_eq!(processes_of(&directory).len(), 3);
    end(Pid::from_child(&child));
    assert!(!child.wait().unwrap().success());
    until("the processes and the directory are gone", async || {
        processes_of(&directory).is_empty() && !directory.exists()
    })
    .await;
}

#[tokio::test]
async fn a_killed_test_process_leaves_nothing() {
    assert_cleaned_up_after(|child| kill_process(child, Signal::KILL).unwrap()).await;
}

#[tokio::test]
async fn ctrl_c_leaves_nothing() {
    assert_cleaned_up_after(|child| kill_process_group(child, Signal::INT).unwrap()).await;
}
