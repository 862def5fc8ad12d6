//! What makes a program of a controller: flags, connection to the API server, logs, metrics and health over HTTP, signals.

mod config_errors;
mod connect;
mod flags;
mod go_duration;
mod http;
mod logging;
mod pages;
mod signals;
mod usage;

use std::{num::NonZeroUsize, process::ExitCode, sync::Arc, time::Duration};

use clap::{CommandFactory, FromArgMatches, Parser};
use slice_controller::Controller;

pub use config_errors::{CONCURRENCY, ConfigErrors, ENDPOINTS_PER_SLICE};
pub use flags::CommonArgs;
pub use go_duration::GoDuration;
pub use usage::print_usage_error;

use crate::{Health, Metrics, PreflightError, RunOptions, preflight};
use pages::Pages;

/// What a program is, whatever its flags are.
#[derive(Clone, Copy, Debug)]
pub struct ProgramInfo {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Value of the managed-by label on its slices, unless a flag sets another.
    pub managed_by: &'static str,
    /// The component that events come from.
    pub event_source: &'static str,
    /// Prefix of the names of metrics; characters that they cannot have become underscores.
    pub metrics_subsystem: &'static str,
    /// Label `name` of the metrics of the work queue.
    pub work_queue: &'static str,
    /// The target of its own log lines, which are shown from INFO on: the name of its crate, where dashes become underscores.
    pub log_target: &'static str,
}

impl ProgramInfo {
    /// A program whose events, metrics and log lines go by its name.
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

/// A controller, and how it is to be run.
#[derive(Debug)]
pub struct ProgramSpec<C> {
    /// The controller.
    pub controller: C,
    /// The flags that all programs have.
    pub common: CommonArgs,
    /// Keys with writes in flight at the same time.
    pub concurrency: NonZeroUsize,
    /// The delay after another writer changed a slice.
    pub foreign_change_delay: Duration,
}

/// The flags of a program that has none of its own.
#[derive(Debug, Parser)]
#[command(about = None, long_about = None)]
struct DefaultArgs {
    /// Keys with writes in flight at the same time, 1 to 50
    #[arg(long, value_name = "NUMBER", default_value_t = 5, allow_negative_numbers = true)]
    concurrency: i64,
    #[command(flatten)]
    common: CommonArgs,
}

/// As long as upstream's controller waits at least (R23).
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(1);

/// The whole `main` of a program around a controller: the flags that all programs have, logs, metrics, health and shutdown.
///
/// What prevents it from running is printed in one line each, and ends it with a failure.
pub fn run<C: Controller + Send>(info: ProgramInfo, controller: impl FnOnce(&CommonArgs) -> C) -> ExitCode {
    run_with(&info, |args: DefaultArgs, complaints| ProgramSpec {
        controller: controller(&args.common),
        concurrency: complaints.in_range("concurrency", args.concurrency, CONCURRENCY),
        foreign_change_delay: FOREIGN_CHANGE_DELAY,
        common: args.common,
    })
}

/// As [`run`], for a program with flags `A` of its own: `prepare` makes the controller from them, and reports what is wrong
/// with them.
pub fn run_with<A, C>(info: &ProgramInfo, prepare: impl FnOnce(A, &mut ConfigErrors) -> ProgramSpec<C>) -> ExitCode
where
    A: CommandFactory + FromArgMatches,
    C: Controller + Send,
{
    let args = match flags::parse(info, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return print_usage_error(&error, info.name),
    };
    match start(info, |complaints| prepare(args, complaints)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaints) => {
            for complaint in complaints.lines() {
                eprintln!("error: {complaint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start<C>(info: &ProgramInfo, prepare: impl FnOnce(&mut ConfigErrors) -> ProgramSpec<C>) -> Result<(), ConfigErrors>
where
    C: Controller + Send,
{
    let mut complaints = ConfigErrors::default();
    let program = prepare(&mut complaints);
    program.common.check(&mut complaints);
    complaints.check()?;
    logging::start(program.common.logging_format, program.common.v, &info.log_target());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(run_until_stopped(info, program));
    // Whoever still waits for a name to be resolved does so in vain.
    runtime.shutdown_background();
    ended
}

async fn run_until_stopped<C>(info: &ProgramInfo, program: ProgramSpec<C>) -> Result<(), ConfigErrors>
where
    C: Controller + Send,
{
    let stop = signals::stop()?;
    tokio::pin!(stop);
    let common = &program.common;
    let user_agent = format!("{}/{}", info.name, info.version);
    let config = connect::configure(&common.kubeconfig, &common.master, &user_agent).await?;
    let url = config.cluster_url.clone();
    let client = connect::client(config)?;
    let options = options(info, &program);
    tracing::info!(
        version = info.version,
        server = %url,
        controller_name = options.managed_by,
        dry_run = options.dry_run,
        "starting"
    );
    let listener = match common.http_address.as_str() {
        "" => None,
        address => Some(http::listen(address).await.map_err(|error| {
            let mut complaints = ConfigErrors::default();
            complaints.add(&format!("cannot listen at --http-address={address}: {error}"));
            complaints
        })?),
    };
    tokio::select! {
        errors = preflight(&program.controller, client.clone(), &options) => refuse(errors, &url)?,
        () = &mut stop => return Ok(()),
    }
    let metrics = Arc::new(Metrics::new(&info.metrics_prefix(), info.work_queue));
    let health = Arc::new(Health::default());
    if let Some(listener) = listener {
        tracing::info!(address = %listener.local_addr()?, "metrics and health are served");
        let pages = Pages {
            metrics: Arc::clone(&metrics),
            health: Arc::clone(&health),
        };
        tokio::spawn(http::serve(listener, pages));
    }
    crate::run(program.controller, client, options, health, metrics, stop).await;
    tracing::info!("ended");
    Ok(())
}

fn options<C>(info: &ProgramInfo, program: &ProgramSpec<C>) -> RunOptions {
    let common = &program.common;
    RunOptions {
        managed_by: common.controller_name.clone(),
        event_source: info.event_source,
        namespace: common.namespace.clone(),
        concurrency: program.concurrency,
        foreign_change_delay: program.foreign_change_delay,
        resync_period: common.resync(fastrand::f64()),
        rate_limit: common.rate_limit(),
        dry_run: common.dry_run,
    }
}

fn refuse(errors: Vec<PreflightError>, url: &::http::Uri) -> Result<(), ConfigErrors> {
    let mut complaints = ConfigErrors::default();
    for error in errors {
        complaints.add(&format!("{url}: {error}"));
    }
    complaints.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_metrics_and_logs_go_by_the_name_of_the_program() {
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
    fn a_program_without_flags_of_its_own_has_the_common_ones() {
        let info = ProgramInfo::new("my-controller", "1", "us.example");
        let parse = |flags: &[&str]| flags::parse::<DefaultArgs>(&info, [&["my-controller"], flags].concat());
        let args = parse(&[]).unwrap();
        assert_eq!((args.concurrency, &*args.common.controller_name), (5, "us.example"));
        assert_eq!(parse(&["--concurrency=7"]).unwrap().concurrency, 7);
        assert!(parse(&["--nonsense"]).is_err());
    }
}
