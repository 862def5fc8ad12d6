//! The EndpointSlice controller as a standalone binary.

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use service_slices::controller::{Config, ServiceController};
use slice_runtime::program::{
    self, CONCURRENCY, CommonArgs, ENDPOINTS_PER_SLICE, GoDuration, ProgramInfo, ProgramSpec,
};

const INFO: ProgramInfo = ProgramInfo {
    event_source: service_slices::EVENT_SOURCE,
    metrics_subsystem: service_slices::METRICS_SUBSYSTEM,
    work_queue: service_slices::WORK_QUEUE,
    owner: Some(service_slices::OWNER_RESOURCE),
    secure_port: service_slices::SECURE_PORT,
    ..ProgramInfo::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        service_slices::MANAGED_BY,
    )
};

/// Minimum delay of the sync after another client changed one of our slices (R23).
const FOREIGN_CHANGE_DELAY_MIN: Duration = Duration::from_secs(1);

/// EndpointSlice controller: publishes the pods of Services with a selector as EndpointSlices
#[derive(Debug, Parser)]
struct Args {
    /// Maximum number of Services synced concurrently (1 to 50)
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true)]
    concurrent_service_endpoint_syncs: i64,
    /// Maximum number of endpoints per EndpointSlice (1 to 1000)
    #[arg(long, value_name = "NUMBER", default_value_t = 100, allow_negative_numbers = true)]
    max_endpoints_per_slice: i64,
    /// Delay between a pod change and the sync of its Services, to batch changes (0 = no delay)
    #[arg(long, value_name = "DURATION", default_value = "0s", allow_hyphen_values = true)]
    endpointslice_updates_batch_period: GoDuration,
    /// Watch only Services that match this label selector
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    service_selector: String,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    program::run_with(&INFO, |args: Args, errors| {
        let syncs = args.concurrent_service_endpoint_syncs;
        let endpoints = args.max_endpoints_per_slice;
        let batch_period = args.endpointslice_updates_batch_period.as_duration();
        let concurrency = errors.in_range("concurrent-service-endpoint-syncs", syncs, CONCURRENCY);
        let config = Config {
            managed_by: args.common.controller_name.clone(),
            max_endpoints_per_slice: errors.in_range("max-endpoints-per-slice", endpoints, ENDPOINTS_PER_SLICE),
            batch_period,
            service_selector: args.service_selector,
        };
        ProgramSpec {
            controller: ServiceController::new(config),
            common: args.common,
            concurrency,
            foreign_change_delay: batch_period.max(FOREIGN_CHANGE_DELAY_MIN),
        }
    })
}
