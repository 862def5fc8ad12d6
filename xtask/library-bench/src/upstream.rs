//! Upstream's side: a program that reads objects and answers how long upstream needs for them.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use crate::{MAX_ENDPOINTS_PER_SLICE, case::Sync};

/// Upstream's syncs per turn: fewer of those that take long.
const SYNCS: std::ops::RangeInclusive<usize> = 5..=200;
const PODS_PER_TURN: usize = 50_000;

/// How many writes a sync comes to.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) creates: usize,
    pub(crate) updates: usize,
    pub(crate) deletes: usize,
}

/// What upstream needs for a sync, and does in it.
#[derive(Debug, Deserialize)]
pub(crate) struct Timing {
    pub(crate) ns_per_sync: u64,
    #[serde(flatten)]
    pub(crate) writes: Writes,
}

/// The program.
#[derive(Debug)]
pub(crate) struct Recorder {
    child: Child,
    questions: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    #[serde(flatten)]
    sync: &'a Sync,
    max_endpoints_per_slice: usize,
    iterations: usize,
}

impl Recorder {
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(["time", "--kind", "service"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            questions: BufWriter::new(stdin.context("the recorder has no input")?),
            answers: BufReader::new(stdout.context("the recorder has no output")?),
            child,
        })
    }

    /// Has upstream sync these objects.
    pub(crate) fn time(&mut self, sync: &Sync) -> anyhow::Result<Timing> {
        let question = Question {
            sync,
            max_endpoints_per_slice: MAX_ENDPOINTS_PER_SLICE.get(),
            iterations: (PODS_PER_TURN / sync.pods.len().max(1)).clamp(*SYNCS.start(), *SYNCS.end()),
        };
        serde_json::to_writer(&mut self.questions, &question).context("the recorder does not listen")?;
        self.questions.flush().context("the recorder does not listen")?;
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .context("the recorder does not answer")?;
        serde_json::from_str(&answer).with_context(|| format!("the recorder answered {answer:?}"))
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Self {
            mut child, questions, ..
        } = self;
        drop(questions);
        let status = child.wait().context("waiting for the recorder")?;
        ensure!(status.success(), "the recorder ended with {status}");
        Ok(())
    }
}
