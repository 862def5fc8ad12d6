//! Tests of the controller: watch events in, enqueued keys out, and plans executed on slices in memory.

mod capacity;
mod enqueue;
mod fixtures;
mod harness;
mod hints;
mod metrics;
mod sync;
mod upstream_cases;

use serde_json::{Value, json};

use self::{
    fixtures::{node, pod, service, with, write_error},
    harness::Harness,
};
use super::*;

/// No keys or writes.
const NONE: [&str; 0] = [];
