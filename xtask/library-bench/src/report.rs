//! Prints each result as a table row, and writes all of them as JSON.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use serde::Serialize;

use crate::case::Case;

/// The input of our sync.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CodePath {
    /// Compact objects, as in a controller.
    Compact,
    /// API objects, as in a program that uses the public functions.
    Public,
}

/// One result.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    case: Case,
    n: usize,
    path: CodePath,
    upstream_ns: u64,
    ours_ns: u64,
    ratio: f64,
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "a time in nanoseconds has fewer than 53 bits")]
    pub(crate) fn new(case: Case, n: usize, path: CodePath, upstream_ns: u64, ours_ns: u64) -> Self {
        Self {
            case,
            n,
            path,
            upstream_ns,
            ours_ns,
            ratio: upstream_ns as f64 / ours_ns as f64,
        }
    }
}

/// All results.
#[derive(Debug)]
pub(crate) struct Report(Vec<Row>);

impl Report {
    pub(crate) fn new() -> Self {
        println!(
            "median time of one sync, the fastest of a few rounds; ns: ours, per pod; ours with one thread and the allocator \
             of the binaries"
        );
        println!("    n  case       path       upstream        ours   ratio    ns");
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, row: Row) {
        println!(
            "{:5}  {:9}  {:7}  {:>10}  {:>10}  {:5.0}×  {:4}",
            row.n,
            row.case,
            match row.path {
                CodePath::Compact => "compact",
                CodePath::Public => "public",
            },
            format_time(row.upstream_ns),
            format_time(row.ours_ns),
            row.ratio,
            row.ours_ns / row.n as u64,
        );
        self.0.push(row);
    }

    pub(crate) fn save(&self, file: &Path) -> anyhow::Result<()> {
        let rows = serde_json::to_vec_pretty(&self.0)?;
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
        }
        fs::write(file, rows).with_context(|| format!("cannot write {}", file.display()))
    }
}

fn format_time(ns: u64) -> String {
    format!("{:.1?}", Duration::from_nanos(ns))
}
