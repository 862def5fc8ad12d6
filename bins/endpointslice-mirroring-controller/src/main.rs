//! Mirrors hand-made Endpoints objects into EndpointSlices.

use std::process::ExitCode;

use clap::Parser;
use mirroring::controller::{Config, MirroringController};
use slice_runtime::program::{
    self, CONCURRENCY, CommonArgs, ENDPOINTS_PER_SLICE, GoDuration, ProgramInfo, ProgramSpec,
};

const INFO: ProgramInfo = ProgramInfo {
    event_source: mirroring::EVENT_SOURCE,
    metrics_subsystem: mirroring::METRICS_SUBSYSTEM,
    work_queue: mirroring::WORK_QUEUE,
    ..ProgramInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), mirroring::MANAGED_BY)
};

/// Mirrors hand-made Endpoints objects into EndpointSlices
#[derive(Debug, Parser)]
struct Args {
    /// Endpoints objects with writes under way at the same time, 1 to 50
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true)]
    mirroring_concurrent_service_endpoint_syncs: i64,
    /// Addresses of one subset that are mirrored at most, 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, allow_negative_numbers = true)]
    mirroring_max_endpoints_per_subset: i64,
    /// How long changes of slices are collected before their Endpoints objects are looked at
    #[arg(long, value_name = "DURATION", default_value = "0s", allow_hyphen_values = true)]
    mirroring_endpointslice_updates_batch_period: GoDuration,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    program::run_with(&INFO, |args: Args, complaints| {
        let syncs = args.mirroring_concurrent_service_endpoint_syncs;
        let addresses = args.mirroring_max_endpoints_per_subset;
        let batch_period = args.mirroring_endpointslice_updates_batch_period.as_duration();
        let concurrency = complaints.in_range("mirroring-concurrent-service-endpoint-syncs", syncs, CONCURRENCY);
        let max_endpoints_per_subset =
            complaints.in_range("mirroring-max-endpoints-per-subset", addresses, ENDPOINTS_PER_SLICE);
        let config = Config {
            managed_by: args.common.controller_name.clone(),
            max_endpoints_per_subset,
            batch_period,
            service_selector: args.common.service_selector.clone(),
        };
        ProgramSpec {
            controller: MirroringController::new(config),
            common: args.common,
            concurrency,
            foreign_change_delay: batch_period,
        }
    })
}
