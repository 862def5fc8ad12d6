//! A replica of one of the programs, behind a fault proxy of its own.

use std::{
    cell::{Cell, RefCell},
    fmt::Write as _,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result};
use apisim::faults::{Match, Recorded};
use churn::CONTROLLER_FLAGS;
use serde::Deserialize;
use testenv::{
    CONTROLLERS, ControlPlane, ControllerProcess, FaultProxy, Protocol, ProxyProtocols, Signal, TestProcess,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

use crate::{
    damage::{Interruption, ReplicaId},
    writers::{LEASE_FLAGS, LeaseWrite, ReplicaRecord, SliceWrite},
};

/// A controller with leader election, which is started again when it ends.
pub(crate) struct Replica<'a> {
    pub(crate) id: ReplicaId,
    pub(crate) proxy: FaultProxy<'a>,
    pub(crate) record: RefCell<ReplicaRecord>,
    program: &'a Path,
    arguments: Vec<String>,
    process: Mutex<Option<ControllerProcess>>,
    /// The output of the processes of this round that have ended.
    output: RefCell<String>,
    /// What its processes did that they must not: panic, exit without a signal, fail after SIGTERM.
    failures: RefCell<Vec<String>>,
    starts: Cell<usize>,
}

impl<'a> Replica<'a> {
    /// Starts the program. The first replica uses HTTP/1.1, the second HTTP/2.
    pub(crate) async fn start(
        control_plane: &'a ControlPlane,
        programs: &'a [impl AsRef<Path>],
        id: ReplicaId,
    ) -> Result<Self> {
        let protocols = ProxyProtocols {
            clients: if id.number == 0 {
                Protocol::Http1
            } else {
                Protocol::Http2
            },
            upstream: Protocol::Http1,
        };
        let proxy = FaultProxy::start_with(control_plane, protocols).await?;
        let kubeconfig = proxy.kubeconfig(control_plane.admin())?;
        let mut arguments = vec![
            format!("--kubeconfig={}", kubeconfig.path.display()),
            format!("--disable-http2={}", id.number == 0),
            CONTROLLER_FLAGS[id.program].to_owned(),
        ];
        arguments.extend(LEASE_FLAGS.map(str::to_owned));
        let replica = Self {
            id,
            proxy,
            record: RefCell::default(),
            program: programs[id.program].as_ref(),
            arguments,
            process: Mutex::new(None),
            output: RefCell::default(),
            failures: RefCell::default(),
            starts: Cell::new(0),
        };
        let process = replica.start_process().await?;
        process.wait_ready().await?;
        *replica.process.lock().await = Some(process);
        Ok(replica)
    }

    async fn start_process(&self) -> Result<ControllerProcess> {
        self.record.borrow_mut().starts.push(Instant::now());
        self.starts.set(self.starts.get() + 1);
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let started = ControllerProcess::start(self.program, &arguments).await;
        started.with_context(|| format!("cannot start {}", self.id))
    }

    /// Kills, stops or freezes the process; starts or continues it after a while.
    pub(crate) async fn interrupt(&self, interruption: Interruption, lasts: Duration) -> Result<()> {
        self.ensure_running().await?;
        let mut current = self.process.lock().await;
        let Some(running) = &*current else { return Ok(()) };
        let process = &running.process;
        match interruption {
            Interruption::Freeze => {
                process.signal(Signal::STOP)?;
                sleep(lasts).await;
                self.record.borrow_mut().process_continued.push(Instant::now());
                return Ok(process.signal(Signal::CONT)?);
            }
            Interruption::Kill => {
                process.signal(Signal::KILL)?;
                process.wait().await?;
            }
            Interruption::Terminate => {
                process.signal(Signal::TERM)?;
                let status = process.wait().await?;
                if !status.success() {
                    self.fail(process, &format!("{status} after SIGTERM"));
                }
            }
        }
        self.keep_output(process);
        sleep(lasts).await;
        *current = Some(self.start_process().await?);
        Ok(())
    }

    /// Starts the process again if it has ended without a signal, which is a failure.
    pub(crate) async fn ensure_running(&self) -> Result<()> {
        let mut current = self.process.lock().await;
        if let Some(ended) = &*current {
            let Some(status) = ended.process.try_exit() else {
                return Ok(());
            };
            self.fail(&ended.process, &format!("{status} without a signal"));
            self.keep_output(&ended.process);
        }
        *current = Some(self.start_process().await?);
        Ok(())
    }

    /// The failures of this round, and the output of all its processes.
    pub(crate) async fn failures_and_output(&self) -> (Vec<String>, String) {
        let current = self.process.lock().await;
        let output = current.as_ref().map(|running| running.process.output());
        let output = self.output.borrow().clone() + &output.unwrap_or_default();
        let mut failures = self.failures.borrow().clone();
        failures.extend(panics(&output).map(|line| format!("{}: {line}", self.id)));
        (failures, output)
    }

    /// Adds the requests since the last call to the record.
    pub(crate) fn read_requests(&self) {
        let mut record = self.record.borrow_mut();
        let leases = Match::writes().resource("leases").name(CONTROLLERS[self.id.program]);
        let renewals = self.proxy.faults().requests(&leases);
        record.lease_writes.extend(renewals.iter().filter_map(lease_write));
        let writes = self
            .proxy
            .faults()
            .requests(&Match::writes().resource("endpointslices"));
        record.slice_writes.extend(writes.into_iter().map(|write| SliceWrite {
            at: write.at,
            verb: write.request.verb,
            slice: write.request.name.unwrap_or_default(),
            status: write.status,
        }));
        self.proxy.faults().clear_log();
    }

    /// Begins a new round.
    pub(crate) fn forget(&self) {
        self.record.borrow_mut().forget_writes(Instant::now());
        self.output.borrow_mut().clear();
        self.failures.borrow_mut().clear();
    }

    fn fail(&self, process: &TestProcess, what: &str) {
        let output = process.output();
        let lines: Vec<&str> = output.lines().collect();
        let end = lines[lines.len().saturating_sub(20)..].join("\n");
        let failure = format!("{}: {what}; end of its output:\n{end}", self.id);
        self.failures.borrow_mut().push(failure);
    }

    fn keep_output(&self, process: &TestProcess) {
        let mut output = self.output.borrow_mut();
        output.push_str(&process.output());
        // Infallible for a String.
        let _ = writeln!(output, "--- end of process {} of {}", self.starts.get(), self.id);
    }
}

fn panics(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter(|line| line.contains("panicked at"))
}

/// A write of the Lease, if its success was reported to the client.
fn lease_write(recorded: &Recorded) -> Option<LeaseWrite> {
    recorded.status.filter(http::StatusCode::is_success)?;
    let lease: Lease = serde_json::from_slice(&recorded.body).ok()?;
    Some(LeaseWrite {
        at: recorded.at,
        holds: lease.spec.holder_identity.is_some_and(|holder| !holder.is_empty()),
    })
}

#[derive(Deserialize)]
struct Lease {
    spec: LeaseSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    holder_identity: Option<String>,
}
