//! What makes a program of a controller: flags, the way to the API server, logs, pages for metrics and health, signals.

mod complaints;
mod connect;
mod flags;
mod http;
mod logging;
mod pages;
mod period;
mod signals;
mod usage;

use std::{num::NonZeroUsize, process::ExitCode, sync::Arc, time::Duration};

use clap::{CommandFactory, FromArgMatches};
use slice_controller::Controller;

pub use complaints::{CONCURRENCY, Complaints, ENDPOINTS_PER_SLICE};
pub use flags::CommonArgs;
pub use period::Period;
pub use usage::usage;

use crate::{Health, Metrics, Obstacle, Options, check, run};
use pages::Pages;

/// What a program is, whatever its flags say.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Value of the managed-by label on its slices, unless a flag says otherwise.
    pub managed_by: &'static str,
    /// The component that events come from.
    pub event_source: &'static str,
    /// Prefix of the metrics' names.
    pub metrics_subsystem: &'static str,
    /// Label `name` of the work queue's metrics.
    pub work_queue: &'static str,
}

/// A controller, and how it is to be run.
#[derive(Debug)]
pub struct Program<C> {
    /// The controller.
    pub controller: C,
    /// The flags that all programs have.
    pub common: CommonArgs,
    /// Keys with writes under way at the same time.
    pub concurrency: NonZeroUsize,
    /// How long to wait after somebody else changed a slice.
    pub slice_delay: Duration,
}

/// The whole of a program: `prepare` makes the controller from the flags `A`, and complains about what is wrong with them.
///
/// What keeps it from running is told in one line each, and ends it with a failure.
pub fn main<A, C>(about: &About, prepare: impl FnOnce(A, &mut Complaints) -> Program<C>) -> ExitCode
where
    A: CommandFactory + FromArgMatches,
    C: Controller<Input: Send + 'static> + Send,
{
    let args = match flags::parse(about, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return usage(&error, about.name),
    };
    match start(about, |complaints| prepare(args, complaints)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaints) => {
            for complaint in complaints.lines() {
                eprintln!("error: {complaint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start<C>(about: &About, prepare: impl FnOnce(&mut Complaints) -> Program<C>) -> Result<(), Complaints>
where
    C: Controller<Input: Send + 'static> + Send,
{
    let mut complaints = Complaints::default();
    let program = prepare(&mut complaints);
    program.common.check(&mut complaints);
    complaints.check()?;
    logging::start(program.common.logging_format, program.common.v);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(live(about, program));
    // Whoever still waits for a name to be resolved does so in vain.
    runtime.shutdown_background();
    ended
}

async fn live<C>(about: &About, program: Program<C>) -> Result<(), Complaints>
where
    C: Controller<Input: Send + 'static> + Send,
{
    let stop = signals::stop()?;
    tokio::pin!(stop);
    let common = &program.common;
    let user_agent = format!("{}/{}", about.name, about.version);
    let config = connect::configure(&common.kubeconfig, &common.master, &user_agent).await?;
    let url = config.cluster_url.clone();
    let client = connect::client(config)?;
    let options = options(about, &program);
    tracing::info!(
        version = about.version,
        server = %url,
        controller_name = options.managed_by,
        dry_run = options.dry_run,
        "starting"
    );
    let listener = match common.http_address.as_str() {
        "" => None,
        address => Some(http::listen(address).await.map_err(|error| {
            let mut complaints = Complaints::default();
            complaints.add(&format!("cannot listen at --http-address={address}: {error}"));
            complaints
        })?),
    };
    tokio::select! {
        obstacles = check(&program.controller, client.clone(), &options) => refuse(obstacles, &url)?,
        () = &mut stop => return Ok(()),
    }
    let metrics = Arc::new(Metrics::new(about.metrics_subsystem, about.work_queue));
    let health = Arc::new(Health::default());
    if let Some(listener) = listener {
        tracing::info!(address = %listener.local_addr()?, "metrics and health are served");
        let pages = Pages {
            metrics: Arc::clone(&metrics),
            health: Arc::clone(&health),
        };
        tokio::spawn(http::serve(listener, pages));
    }
    run(program.controller, client, options, health, metrics, stop).await;
    tracing::info!("ended");
    Ok(())
}

fn options<C>(about: &About, program: &Program<C>) -> Options {
    let common = &program.common;
    Options {
        managed_by: common.controller_name.clone(),
        event_source: about.event_source,
        namespace: common.namespace.clone(),
        concurrency: program.concurrency,
        slice_delay: program.slice_delay,
        resync: common.resync(fastrand::f64()),
        rate_limit: common.rate_limit(),
        dry_run: common.dry_run,
    }
}

fn refuse(obstacles: Vec<Obstacle>, url: &::http::Uri) -> Result<(), Complaints> {
    let mut complaints = Complaints::default();
    for obstacle in obstacles {
        complaints.add(&format!("{url}: {obstacle}"));
    }
    complaints.check()
}
