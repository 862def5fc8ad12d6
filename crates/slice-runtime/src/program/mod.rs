//! A controller as a program: flags, client configuration, review of permissions, logging, HTTP endpoints, shutdown by signals.

mod authorization;
mod client_config;
mod config_errors;
mod flags;
mod go_duration;
mod liveness;
mod logging;
mod secure_port;
mod server;
mod signals;
mod status_endpoints;
mod usage;

use std::{num::NonZeroUsize, process::ExitCode, sync::Arc, time::Duration};

use clap::{CommandFactory, FromArgMatches, Parser};
use slice_controller::Controller;
use tokio::sync::mpsc;

pub use config_errors::{CONCURRENCY, ConfigErrors, ENDPOINTS_PER_SLICE};
pub use flags::CommonArgs;
pub use go_duration::GoDuration;
pub use usage::print_usage_error;

use crate::{
    Health, Metrics, RunError, RunOptions,
    leader_election::LeaseClock,
    preflight,
    preflight::{Permissions, review_permissions},
    rbac::required_access,
    run::run_with_debug,
};
use status_endpoints::StatusEndpoints;

/// The constants of a program: its names and defaults.
#[derive(Clone, Copy, Debug)]
pub struct ProgramInfo {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Default value of the managed-by label on its slices (flag `--controller-name`).
    pub managed_by: &'static str,
    /// The source component of recorded events.
    pub event_source: &'static str,
    /// Prefix of metric names; invalid characters become underscores.
    pub metrics_subsystem: &'static str,
    /// Label `name` of the metrics of the work queue.
    pub work_queue: &'static str,
    /// The target of its own log lines, which are shown from INFO on: the name of its crate. Dashes become underscores.
    pub log_target: &'static str,
    /// The resource that owns its slices, such as `services`: the permission to set its finalizers is reviewed too (see
    /// [`policy_rules`](crate::policy_rules)).
    pub owner: Option<&'static str>,
    /// Default of the flag `--secure-port`; 0 means that the port is not served.
    pub secure_port: u16,
}

impl ProgramInfo {
    /// A program that uses its name for events, metrics and log lines.
    #[must_use]
    pub const fn new(name: &'static str, version: &'static str, managed_by: &'static str) -> Self {
        Self {
            name,
            version,
            managed_by,
            event_source: name,
            metrics_subsystem: name,
            work_queue: name,
            log_target: name,
            owner: None,
            secure_port: 0,
        }
    }

    fn metrics_prefix(&self) -> String {
        let allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
        self.metrics_subsystem.replace(|character| !allowed(character), "_")
    }

    fn log_target(&self) -> String {
        self.log_target.replace('-', "_")
    }
}

/// A controller with its configuration.
#[derive(Debug)]
pub struct ProgramSpec<C> {
    /// The controller.
    pub controller: C,
    /// The common flags.
    pub common: CommonArgs,
    /// Maximum number of keys with writes in flight.
    pub concurrency: NonZeroUsize,
    /// The delay before a key is synced after another writer changed one of its slices.
    pub foreign_change_delay: Duration,
}

/// The flags of [`run`].
#[derive(Debug, Parser)]
#[command(about = None, long_about = None)]
struct DefaultArgs {
    /// Maximum number of keys with writes in flight, 1 to 50
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true)]
    concurrency: i64,
    #[command(flatten)]
    common: CommonArgs,
}

/// The minimum delay of upstream's controller (R23).
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(1);

/// The whole `main` of a controller: common flags, client configuration, review of permissions, logging, HTTP endpoints,
/// shutdown.
///
/// Configuration errors are printed in one line each, and the exit code is a failure. An API server that cannot be reached,
/// lacks a resource or denies access is none: the program waits for it.
pub fn run<C: Controller + Send>(info: ProgramInfo, controller: impl FnOnce(&CommonArgs) -> C) -> ExitCode {
    run_with(&info, |args: DefaultArgs, errors| ProgramSpec {
        controller: controller(&args.common),
        concurrency: errors.in_range("concurrency", args.concurrency, CONCURRENCY),
        foreign_change_delay: FOREIGN_CHANGE_DELAY,
        common: args.common,
    })
}

/// As [`run`], with flags `A` of your own: `prepare` builds the controller from them, and adds configuration errors.
pub fn run_with<A, C>(info: &ProgramInfo, prepare: impl FnOnce(A, &mut ConfigErrors) -> ProgramSpec<C>) -> ExitCode
where
    A: CommandFactory + FromArgMatches,
    C: Controller + Send,
{
    let args = match flags::parse(info, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return print_usage_error(&error, info.name),
    };
    match start(info, |errors| prepare(args, errors)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Err(errors) => {
            for error in errors.lines() {
                eprintln!("error: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start<C>(
    info: &ProgramInfo,
    prepare: impl FnOnce(&mut ConfigErrors) -> ProgramSpec<C>,
) -> Result<Result<(), RunError>, ConfigErrors>
where
    C: Controller + Send,
{
    let mut errors = ConfigErrors::default();
    let program = prepare(&mut errors);
    program.common.check(&mut errors);
    errors.into_result()?;
    logging::init(program.common.logging_format, program.common.v, &info.log_target());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run_until_stopped(info, program));
    // Do not wait for blocking threads, such as a name resolution in progress.
    runtime.shutdown_background();
    logging::flush();
    result
}

async fn run_until_stopped<C>(info: &ProgramInfo, program: ProgramSpec<C>) -> Result<Result<(), RunError>, ConfigErrors>
where
    C: Controller + Send,
{
    let stop = signals::stop()?;
    tokio::pin!(stop);
    let common = &program.common;
    let user_agent = format!("{}/{}", info.name, info.version);
    let config = client_config::load(&common.kubeconfig, &common.master, &user_agent).await?;
    let server = client_config::without_userinfo(&config.cluster_url);
    let load_arguments = (common.kubeconfig.clone(), common.master.clone(), user_agent.clone());
    let connections = client_config::connections(config, common.connection_options(), load_arguments)?;
    let options = run_options(info, &program);
    let mut errors = ConfigErrors::default();
    for error in preflight(&program.controller, &options) {
        errors.add(&error);
    }
    errors.into_result()?;
    tracing::info!(
        version = info.version,
        server,
        controller_name = options.managed_by,
        dry_run = options.dry_run,
        "starting"
    );
    let metrics = Arc::new(Metrics::new(&info.metrics_prefix(), info.work_queue));
    let health = Arc::new(Health::default());
    let permissions = Arc::new(Permissions::default());
    let (debug, debug_requests) = mpsc::channel(1);
    metrics.build_info(info.version);
    // Before anything waits for the API server, so that `/readyz` reports why.
    let endpoints = StatusEndpoints {
        metrics: Arc::clone(&metrics),
        health: Arc::clone(&health),
        permissions: Arc::clone(&permissions),
        debug,
    };
    if !common.http_address.is_empty() {
        start_http(&common.http_address, endpoints.clone()).await?;
    }
    secure_port::start(common, info.name, &user_agent, endpoints).await?;
    let probe = liveness::fresh_connection(common, &options, user_agent);
    tokio::spawn(liveness::probe(Arc::clone(&health), probe));
    let mut required = required_access(&program.controller, info.owner, &options);
    required.extend(common.secure_port.required_access());
    tokio::spawn(review_permissions(connections.clone(), required, permissions));
    let result = run_with_debug(
        program.controller,
        connections,
        options,
        health,
        metrics,
        debug_requests,
        LeaseClock::system(),
        stop,
    )
    .await;
    match &result {
        Ok(()) => tracing::info!("stopped"),
        Err(error) => tracing::error!(%error, "stopped"),
    }
    Ok(result)
}

async fn start_http(address: &str, endpoints: StatusEndpoints) -> Result<(), ConfigErrors> {
    let listener = server::listen(address).await.map_err(|error| {
        let mut errors = ConfigErrors::default();
        errors.add(&format!("cannot listen on --http-address={address}: {error}"));
        errors
    })?;
    tracing::info!(address = %listener.local_addr()?, "metrics and health are served");
    let port = server::Port {
        endpoints,
        secure: None,
    };
    tokio::spawn(server::serve(listener, port));
    Ok(())
}

fn run_options<C>(info: &ProgramInfo, program: &ProgramSpec<C>) -> RunOptions {
    let common = &program.common;
    RunOptions {
        managed_by: common.controller_name.clone(),
        event_source: info.event_source,
        namespace: common.namespace.clone(),
        concurrency: program.concurrency,
        foreign_change_delay: program.foreign_change_delay,
        resync_period: common.resync_period(fastrand::f64()),
        rate_limit: common.rate_limit(),
        dry_run: common.dry_run,
        leader_election: common.leader_election.lease(identity),
    }
}

/// The identity of this process in leader election: the host, and a random part, so that a restart is another instance.
fn identity() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    format!("{host}_{:032x}", fastrand::u128(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_is_used_for_events_metrics_and_logs() {
        let info = ProgramInfo::new("my-controller.v2", "1", "us.example");
        assert_eq!(
            (info.event_source, info.work_queue),
            ("my-controller.v2", "my-controller.v2")
        );
        assert_eq!(info.metrics_prefix(), "my_controller_v2");
        let log_target = "my-crate::logs";
        assert_eq!(ProgramInfo { log_target, ..info }.log_target(), "my_crate::logs");
    }

    #[test]
    fn run_has_the_common_flags_and_concurrency() {
        let info = ProgramInfo::new("my-controller", "1", "us.example");
        let parse = |flags: &[&str]| flags::parse::<DefaultArgs>(&info, [&["my-controller"], flags].concat());
        let args = parse(&[]).unwrap();
        assert_eq!((args.concurrency, &*args.common.controller_name), (5, "us.example"));
        assert_eq!(parse(&["--concurrency=7"]).unwrap().concurrency, 7);
        assert!(parse(&["--nonsense"]).is_err());
    }
}
