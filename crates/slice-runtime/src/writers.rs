//! The writer tasks, which execute plans.

use std::collections::HashMap;

use slice_controller::Key;
use slice_reconciler::{Operation, WriteStatus, execute};
use tokio::{
    sync::mpsc,
    task::{Id, JoinSet},
};
use tracing::Instrument as _;

use crate::{
    admission::Response,
    api::{SliceApi, WriteResult},
    engine::Job,
    escape::Escaped,
};

/// The writer tasks: one per key in flight, each executes the plan of its key.
pub(crate) struct WriterPool {
    api: SliceApi,
    tasks: JoinSet<()>,
    keys: HashMap<Id, Key>,
    sender: mpsc::UnboundedSender<WriteReport>,
    reports: mpsc::UnboundedReceiver<WriteReport>,
}

/// A message of a writer.
#[derive(Debug)]
pub(crate) enum WriteReport {
    /// A write of the plan has a result.
    Result {
        key: Key,
        /// The index of the write in the plan.
        write: usize,
        result: WriteResult,
    },
    /// All writes of the key are done.
    Done(Key),
}

impl WriterPool {
    pub(crate) fn new(api: SliceApi) -> Self {
        // Bounded by the number of writes in flight.
        let (sender, reports) = mpsc::unbounded_channel();
        Self {
            api,
            tasks: JoinSet::new(),
            keys: HashMap::new(),
            sender,
            reports,
        }
    }

    /// Starts a writer for a plan. Its log lines are in the span of the sync.
    pub(crate) fn spawn(&mut self, job: Job) {
        let key = job.key.clone();
        let span = job.span.clone();
        let writer = write(self.api.clone(), job, self.sender.clone());
        let task = self.tasks.spawn(writer.instrument(span));
        self.keys.insert(task.id(), key);
    }

    /// The next report of any writer. `Done` follows all results of its key, and comes even if the writer panicked, so that no
    /// key stays in flight forever.
    pub(crate) async fn next_report(&mut self) -> WriteReport {
        loop {
            tokio::select! {
                biased;
                Some(report) = self.reports.recv() => return report,
                Some(ended) = self.tasks.join_next_with_id() => {
                    let (id, error) = match ended {
                        Ok((id, ())) => (id, None),
                        Err(error) => (error.id(), Some(error)),
                    };
                    let Some(key) = self.keys.remove(&id) else { continue };
                    if let Some(error) = error {
                        tracing::error!(key = %Escaped(&key), %error, "writer panicked; the key will be requeued");
                    }
                    // Behind the results in the channel.
                    if self.sender.send(WriteReport::Done(key)).is_err() {
                        std::future::pending::<()>().await;
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

async fn write(api: SliceApi, job: Job, sender: mpsc::UnboundedSender<WriteReport>) {
    let Job {
        key,
        writes,
        max_in_flight,
        probe,
        ..
    } = job;
    let report = |write: usize, result: WriteResult| {
        let key = key.clone();
        // The receiver is dropped at shutdown.
        let _ = sender.send(WriteReport::Result { key, write, result });
    };
    let send = |index: usize, operation: Operation| {
        let (api, key, report) = (&api, &key, &report);
        async move {
            let result = api.write(&key.namespace, &operation, probe).await;
            tracing::debug!(write = %Escaped(&operation), result = result.name(), "EndpointSlice write finished");
            let status = match result {
                WriteResult::Stored(_) | WriteResult::Deleted => Ok(()),
                _ => Err(Response::of(&result)),
            };
            report(index, result);
            status
        }
    };
    let ends_plan = |response: &Option<Response>| response.is_some_and(Response::ends_plan);
    let statuses = execute(writes, max_in_flight, ends_plan, send).await;
    for (index, status) in statuses.into_iter().enumerate() {
        if status == WriteStatus::Skipped {
            report(index, WriteResult::DependencyFailed);
        }
    }
}
