//! Times upstream by the recorder, a program that reads objects on stdin and writes durations to stdout.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use crate::{MAX_ENDPOINTS_PER_SLICE, case::SyncInput};

/// Upstream's syncs per measurement: fewer for large Services.
const ITERATIONS: std::ops::RangeInclusive<usize> = 5..=200;
const PODS_PER_MEASUREMENT: usize = 50_000;

/// Number of writes of a sync.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) creates: usize,
    pub(crate) updates: usize,
    pub(crate) deletes: usize,
}

/// Median duration and writes of upstream's sync.
#[derive(Debug, Deserialize)]
pub(crate) struct UpstreamTiming {
    pub(crate) ns_per_sync: u64,
    #[serde(flatten)]
    pub(crate) writes: Writes,
}

/// The running recorder.
#[derive(Debug)]
pub(crate) struct Recorder {
    child: Child,
    requests: BufWriter<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimingRequest<'a> {
    #[serde(flatten)]
    input: &'a SyncInput,
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
            requests: BufWriter::new(stdin.context("the recorder has no input")?),
            responses: BufReader::new(stdout.context("the recorder has no output")?),
            child,
        })
    }

    /// Times upstream's sync of these objects.
    pub(crate) fn time(&mut self, input: &SyncInput) -> anyhow::Result<UpstreamTiming> {
        let request = TimingRequest {
            input,
            max_endpoints_per_slice: MAX_ENDPOINTS_PER_SLICE.get(),
            iterations: (PODS_PER_MEASUREMENT / input.pods.len().max(1)).clamp(*ITERATIONS.start(), *ITERATIONS.end()),
        };
        serde_json::to_writer(&mut self.requests, &request).context("cannot write to the recorder")?;
        self.requests.flush().context("cannot write to the recorder")?;
        let mut response = String::new();
        self.responses
            .read_line(&mut response)
            .context("cannot read from the recorder")?;
        serde_json::from_str(&response)
            .with_context(|| format!("the recorder returned an invalid response: {response:?}"))
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Self {
            mut child, requests, ..
        } = self;
        drop(requests);
        let status = child.wait().context("cannot wait for the recorder")?;
        ensure!(status.success(), "the recorder failed with {status}");
        Ok(())
    }
}
