//! `cargo xtask bench overload`: the requests to an API server that rejects all writes.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use apisim::faults::{Answer, Match, Rule};
use http::header::RETRY_AFTER;
use testenv::{CONTROLLERS, ControllerProcess, SimServer, until};
use tokio::time::{Instant, sleep};

use crate::{
    Build,
    measure::{MIB, metric, metrics, peak_memory},
    objects,
};

/// The most requests per second to a server that asks to wait for a second.
const REQUESTS_MAX: usize = 20;

/// Respond to every write with 429 and `Retry-After: 1`, on an API server in memory, and count the requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of Services, all of which need a slice
    #[arg(long, default_value_t = 10_000)]
    services: usize,
    /// How long writes are rejected
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    #[command(flatten)]
    build: Build,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let program = args.build.programs(&CONTROLLERS[..1])?.remove(0);
    println!("starting an API server in memory, with {} Services", args.services);
    let server = SimServer::start().await?;
    objects::create_all(&server.client(), objects::cluster()).await?;
    objects::create_all(&server.client(), (0..args.services).map(objects::service)).await?;
    let writes = || Match::writes().resource("endpointslices");
    let rejected = Answer::status(429).header(RETRY_AFTER, 1.into());
    let rule = server.faults.add(Rule::when(writes()).answer(rejected));

    let controller = ControllerProcess::start(program, &[&server.flag()]).await?;
    controller.wait_ready().await?;
    // The reviews of permissions are requests of the start, which may take longer than the lists.
    controller.wait_for_page("/readyz?verbose", "[+]permissions ok").await?;
    server.faults.clear_log();
    sleep(Duration::try_from_secs_f64(args.seconds)?).await;
    let (requests, most) = (
        server.faults.count(&writes()),
        server.faults.peak_per_second(&Match::default()),
    );
    let keys = metric(&metrics(&controller).await?, "workqueue_depth");
    println!(
        "{requests} writes in {} s, at most {most} requests of all kinds within a second; {keys} keys in the work queue",
        args.seconds
    );

    rule.remove();
    let start = Instant::now();
    server.faults.clear_log();
    let slices = || {
        server
            .faults
            .count_by_status(&writes())
            .get(&Some(http::StatusCode::CREATED))
            .copied()
    };
    until("a slice of every Service", async || {
        slices().unwrap_or_default() >= args.services
    })
    .await
    .context("keys were lost")?;
    println!(
        "{} slices were created {:.1} s after the end; peak memory {:.1} MiB",
        args.services,
        start.elapsed().as_secs_f64(),
        peak_memory(controller.process.id())? / MIB
    );
    controller.stop().await?;
    ensure!(
        most <= REQUESTS_MAX,
        "{most} requests within a second, more than {REQUESTS_MAX}"
    );
    Ok(())
}
