//! Tests of the controller as a state machine: watch events in, keys and plans out, plans executed on slices in memory.

mod cleanup;
mod enqueue;
mod events;
mod fixtures;
mod harness;
mod metrics;
mod selectors;
mod syncs;

use jiff::Timestamp;
use serde_json::{Value, json};
use slice_controller::{MetricValues, WriteError};
use slice_core::CompactSlice;
use slice_reconciler::{Operation, Plan};

use super::*;
use crate::MANAGED_BY;
use fixtures::{KEY, config, endpoints, key, pod_slice, service, service_with_selector, stored, with, write_error};
use harness::{Harness, enqueued_after};
