//! The tasks that carry out plans.

use std::collections::HashMap;

use slice_controller::Key;
use slice_reconciler::{Operation, WriteStatus, execute};
use tokio::{
    sync::mpsc,
    task::{Id, JoinSet},
};

use crate::{
    api::{Answer, SliceApi},
    engine::Job,
};

/// The tasks that carry out plans, one per key.
pub(crate) struct Writers {
    api: SliceApi,
    tasks: JoinSet<()>,
    keys: HashMap<Id, Key>,
    report: mpsc::UnboundedSender<Progress>,
    reports: mpsc::UnboundedReceiver<Progress>,
}

/// What a writer has to say.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A write was answered, or withheld.
    Answered { key: Key, write: usize, answer: Answer },
    /// No more answers will come for this key.
    Finished(Key),
}

impl Writers {
    pub(crate) fn new(api: SliceApi) -> Self {
        // Bounded by the writes of the keys that are under way.
        let (report, reports) = mpsc::unbounded_channel();
        Self {
            api,
            tasks: JoinSet::new(),
            keys: HashMap::new(),
            report,
            reports,
        }
    }

    /// Starts to carry out a plan.
    pub(crate) fn start(&mut self, job: Job) {
        let key = job.key.clone();
        let task = self.tasks.spawn(write(self.api.clone(), job, self.report.clone()));
        self.keys.insert(task.id(), key);
    }

    /// The next thing that a writer has to say. All answers for a key come before its end, which comes even if the task
    /// died: no key stays under way for ever.
    pub(crate) async fn next(&mut self) -> Progress {
        loop {
            tokio::select! {
                biased;
                Some(answer) = self.reports.recv() => return answer,
                Some(ended) = self.tasks.join_next_with_id() => {
                    let id = match ended {
                        Ok((id, ())) => id,
                        Err(error) => {
                            tracing::error!(%error, "a writer died; its key will be tried again");
                            error.id()
                        }
                    };
                    if let Some(key) = self.keys.remove(&id) {
                        // What it said last comes first.
                        if self.report.send(Progress::Finished(key)).is_err() {
                            std::future::pending::<()>().await;
                        }
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

async fn write(api: SliceApi, job: Job, report: mpsc::UnboundedSender<Progress>) {
    let Job { key, writes } = job;
    let send_report = |write: usize, answer: Answer| {
        let key = key.clone();
        // The receiver is dropped when the program ends.
        let _ = report.send(Progress::Answered { key, write, answer });
    };
    let send = |index: usize, operation: Operation| {
        let (api, key, send_report) = (&api, &key, &send_report);
        async move {
            let answer = api.write(&key.namespace, &operation).await;
            let result = match answer {
                Answer::Stored(_) | Answer::Gone => Ok(()),
                _ => Err(()),
            };
            send_report(index, answer);
            result
        }
    };
    for (index, status) in execute(writes, send).await.into_iter().enumerate() {
        if status == WriteStatus::Skipped {
            send_report(index, Answer::Withheld);
        }
    }
}
