//! The figures: a line each as soon as it is known, and all of them as JSON.

use std::{fs, path, time::Duration};

use anyhow::Context as _;
use serde::Serialize;

use crate::case::Case;

/// What a sync starts from and ends with.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Path {
    /// The controllers' own objects.
    Compact,
    /// From objects of the API to slices that can be sent.
    Public,
}

/// One figure.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    case: Case,
    n: usize,
    path: Path,
    upstream_ns: u64,
    ours_ns: u64,
    ratio: f64,
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "a time in nanoseconds has fewer than 53 bits")]
    pub(crate) fn new(case: Case, n: usize, path: Path, upstream_ns: u64, ours_ns: u64) -> Self {
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

/// All figures.
#[derive(Debug)]
pub(crate) struct Report(Vec<Row>);

impl Report {
    pub(crate) fn new() -> Self {
        println!(
            "median time of one sync, the fastest of a few turns; ns: ours, per pod; ours with one thread and the allocator \
             that the programs use"
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
                Path::Compact => "compact",
                Path::Public => "public",
            },
            time(row.upstream_ns),
            time(row.ours_ns),
            row.ratio,
            row.ours_ns / row.n as u64,
        );
        self.0.push(row);
    }

    pub(crate) fn save(&self, file: &path::Path) -> anyhow::Result<()> {
        let figures = serde_json::to_vec_pretty(&self.0)?;
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
        }
        fs::write(file, figures).with_context(|| format!("cannot write {}", file.display()))
    }
}

fn time(ns: u64) -> String {
    format!("{:.1?}", Duration::from_nanos(ns))
}
