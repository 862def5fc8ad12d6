//! One round: changes under damage, then convergence, then the checks.

use std::{
    cell::Cell,
    fmt::Write as _,
    fs::File,
    io::BufWriter,
    ops::AddAssign,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use futures::future::{join_all, try_join};
use k8s_openapi::jiff::Timestamp;
use slice_oracle::{CheckConfig, History, RecordError, Recorder, Window, check_final_state, verify};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    cluster::{Changes, Cluster, NAMESPACE},
    damage::{self, Damage},
    inject::{self, Counts},
    replica::Replica,
    report::{self, Request, Subject, Violation},
    writers,
};

/// Without a slice event for this long, the cluster is quiescent.
const IDLE: Duration = Duration::from_secs(3);
/// A key that failed is tried again within 60 s.
const CONVERGENCE: Duration = Duration::from_secs(90);
/// Nothing is written for at least this long after that.
const CALM: Duration = Duration::from_secs(5);
/// Longer than any damage: a cache may be as old.
const LAG: Duration = Duration::from_secs(120);

/// The generators of all random choices.
pub(crate) struct Random {
    pub(crate) changes: churn::Generator,
    pub(crate) damage: damage::Generator,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            changes: churn::Generator::new(seed),
            damage: damage::Generator::new(seed),
        }
    }
}

/// The figures of a round, or of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Steps of changes.
    pub(crate) changes: usize,
    /// Requests, watch streams and connections with a fault.
    pub(crate) faults: usize,
    pub(crate) kills: usize,
    pub(crate) stops: usize,
    pub(crate) freezes: usize,
    /// Revisions of slices that the controllers wrote.
    pub(crate) writes: usize,
    pub(crate) violations: usize,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.changes += other.changes;
        self.faults += other.faults;
        self.kills += other.kills;
        self.stops += other.stops;
        self.freezes += other.freezes;
        self.writes += other.writes;
        self.violations += other.violations;
    }
}

/// The result of a round.
pub(crate) struct Round {
    pub(crate) figures: Figures,
    /// From the end of the damage.
    pub(crate) convergence: Duration,
    /// Edits of slices by the client of changes whose result is unknown, so that the author of later revisions is unknown as well.
    pub(crate) uncertain_edits: usize,
    /// The violations with their histories; empty if there are none.
    pub(crate) description: String,
}

/// Runs a round. Between convergence and `end`, nothing may be written.
pub(crate) async fn run(
    cluster: &Cluster<'_>,
    generator: &mut churn::Generator,
    damage: &[Damage],
    end: Instant,
) -> Result<Round> {
    // For the times of requests.
    let clock = (Instant::now(), Timestamp::now());
    let recorder = Recorder::start_namespaced(cluster.client.clone(), NAMESPACE).await?;
    let (changes, counts) = (Changes::new(cluster, &recorder), Counts::default());
    damage_and_change(&changes, generator, (damage, &counts)).await?;

    let config = CheckConfig {
        lag: LAG,
        ..churn::checks()
    };
    let calm_since = Instant::now();
    let mut violations = Vec::new();
    if converge(&recorder, &config, calm_since + CONVERGENCE).await? {
        recorder.mark("calm", Window::NoWrites).await?;
    } else {
        let message = format!("not converged {CONVERGENCE:?} after the end of all damage");
        violations.push(Violation::without_slices(message));
    }
    let convergence = calm_since.elapsed();
    sleep_until(end.max(Instant::now() + CALM)).await;
    recorder.wait_caught_up().await?;

    let mut history = recorder.history()?;
    report::excuse(&mut history, &changes.uncertain.borrow());
    let verified = tokio::task::spawn_blocking(move || (verify(&history, &config), history));
    let (found, history) = verified.await?;
    violations.extend(found.violations.into_iter().map(Violation::from));
    violations.extend(check_writers(cluster));
    let replicas = join_all(cluster.replicas.iter().map(Replica::failures_and_output)).await;
    let (failures, outputs): (Vec<_>, Vec<_>) = replicas.into_iter().unzip();
    violations.extend(failures.into_iter().flatten().map(Violation::without_slices));
    let mut description = String::new();
    if !violations.is_empty() {
        description = report::describe(&violations, &history, &requests(cluster, clock));
        let directory = save(&history, &outputs)?;
        // Infallible for a String.
        let _ = write!(
            description,
            "the complete history and the logs are in {}",
            directory.display()
        );
    }
    cluster.replicas.iter().for_each(Replica::forget);
    Ok(Round {
        figures: Figures {
            changes: changes.steps.get(),
            faults: counts.faults.get(),
            kills: counts.kills.get(),
            stops: counts.stops.get(),
            freezes: counts.freezes.get(),
            writes: found.writes.values().sum(),
            violations: violations.len(),
        },
        convergence,
        uncertain_edits: changes.uncertain.borrow().len(),
        description,
    })
}

/// Changes objects until all damage has ended. Then every replica runs, and no slice is held by a finalizer.
async fn damage_and_change(
    changes: &Changes<'_>,
    generator: &mut churn::Generator,
    (damage, counts): (&[Damage], &Counts),
) -> Result<()> {
    let is_over = Cell::new(false);
    let damaged = async {
        let damaged = inject::run(changes.cluster, damage, counts).await;
        is_over.set(true);
        damaged
    };
    try_join(damaged, changes.run(generator, &is_over)).await?;
    for replica in &changes.cluster.replicas {
        replica.ensure_running().await?;
    }
    changes.release_all().await
}

/// Waits until the cluster is quiescent and all slices are as desired; returns whether that was in time.
async fn converge(recorder: &Recorder, config: &CheckConfig, deadline: Instant) -> Result<bool> {
    loop {
        match recorder.wait_quiescent(IDLE).await {
            Ok(()) => {
                let (history, config) = (recorder.history()?, config.clone());
                let is_wrong = move || !check_final_state(&history, &config).is_empty();
                if !tokio::task::spawn_blocking(is_wrong).await? {
                    return Ok(true);
                }
            }
            Err(error @ (RecordError::Lost { .. } | RecordError::Version(_))) => return Err(error.into()),
            Err(_) => {}
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// The writes of this round that were sent without the Lease.
fn check_writers(cluster: &Cluster<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for program in 0..testenv::CONTROLLERS.len() {
        let replicas = cluster.replicas.iter().filter(|replica| replica.id.program == program);
        let records: Vec<_> = replicas
            .map(|replica| {
                replica.read_requests();
                (replica.id, replica.record.borrow())
            })
            .collect();
        let records: Vec<_> = records.iter().map(|(id, record)| (*id, &**record)).collect();
        violations.extend(writers::check(&records).into_iter().map(|(slice, message)| Violation {
            message,
            subject: Subject::Slices(vec![slice]),
        }));
    }
    violations
}

/// The requests of this round that wrote slices, or tried to.
fn requests(cluster: &Cluster<'_>, (start, started_at): (Instant, Timestamp)) -> Vec<Request> {
    let mut requests = Vec::new();
    for replica in &cluster.replicas {
        for write in &replica.record.borrow().slice_writes {
            let at = started_at
                .checked_add(write.at.duration_since(start))
                .unwrap_or(started_at);
            requests.push((at, replica.id, write.clone()));
        }
    }
    requests
}

/// Writes the history and the outputs of the replicas to a new directory.
fn save(history: &History, outputs: &[String]) -> Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("soak-{}", Timestamp::now().as_millisecond()));
    let write = |directory: &Path| {
        std::fs::create_dir_all(directory)?;
        history.write(BufWriter::new(File::create(directory.join("history.jsonl"))?))?;
        let mut numbered = (1..).zip(outputs);
        numbered
            .try_for_each(|(number, output)| std::fs::write(directory.join(format!("replica-{number}.log")), output))
    };
    write(&directory).with_context(|| format!("cannot write to {}", directory.display()))?;
    Ok(directory)
}
