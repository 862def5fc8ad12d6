//! The EndpointSlice mirroring controller as a standalone binary.

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
    owner: Some(mirroring::OWNER_RESOURCE),
    secure_port: mirroring::SECURE_PORT,
    ..ProgramInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), mirroring::MANAGED_BY)
};

/// EndpointSlice mirroring controller: mirrors Endpoints objects of Services without a selector into EndpointSlices
#[derive(Debug, Parser)]
struct Args {
    /// Maximum number of Endpoints objects synced concurrently (1 to 50)
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true)]
    mirroring_concurrent_service_endpoint_syncs: i64,
    /// Maximum number of mirrored addresses per Endpoints subset (1 to 1000)
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, allow_negative_numbers = true)]
    mirroring_max_endpoints_per_subset: i64,
    /// Delay between an EndpointSlice change and the sync of its Endpoints object, to batch changes (0 = no delay)
    #[arg(long, value_name = "DURATION", default_value = "0s", allow_hyphen_values = true)]
    mirroring_endpointslice_updates_batch_period: GoDuration,
    /// Watch only Services that match this label selector
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    service_selector: String,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    program::run_with(&INFO, |args: Args, errors| {
        let syncs = args.mirroring_concurrent_service_endpoint_syncs;
        let addresses = args.mirroring_max_endpoints_per_subset;
        let batch_period = args.mirroring_endpointslice_updates_batch_period.as_duration();
        let concurrency = errors.in_range("mirroring-concurrent-service-endpoint-syncs", syncs, CONCURRENCY);
        let max_endpoints_per_subset =
            errors.in_range("mirroring-max-endpoints-per-subset", addresses, ENDPOINTS_PER_SLICE);
        let config = Config {
            managed_by: args.common.controller_name.clone(),
            max_endpoints_per_subset,
            batch_period,
            service_selector: args.service_selector,
        };
        ProgramSpec {
            controller: MirroringController::new(config),
            common: args.common,
            concurrency,
            foreign_change_delay: batch_period,
        }
    })
}
