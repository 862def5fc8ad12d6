//! `cargo xtask bench outage`: both controllers while the API server is down.

use std::{convert::Infallible, path::Path, time::Duration};

use anyhow::ensure;
use kube::Client;
use slice_oracle::Recorder;
use testenv::{CONTROLLERS, ControlPlane, ControllerProcess, Signal};
use tokio::time::{Instant, sleep};

use crate::{
    Build,
    convergence::wait_converged,
    measure::{Sample, median_memory, metric, metrics, most_keys, most_memory, most_requests},
    objects,
};

/// Time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long the controllers are measured before the outage, and at its end.
const STEADY: Duration = Duration::from_secs(10);
/// The slices must be as desired this long after the last change.
const CONVERGED: Duration = Duration::from_secs(120);
const PODS_PER_SERVICE: usize = 3;
/// Services with a selector for each mirrored one.
const SERVICES_PER_MIRRORED: usize = 5;

/// Kill the API server of a real control plane for some minutes and measure both controllers; needs Go
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Duration of the outage
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Number of Services with a selector, with three pods each
    #[arg(long, default_value_t = 1000)]
    services: usize,
    #[command(flatten)]
    build: Build,
}

impl Args {
    fn mirrored(&self) -> usize {
        self.services.div_ceil(SERVICES_PER_MIRRORED)
    }

    /// Deletes a pod of each Service and gives each Endpoints object an address more than it has.
    async fn change_inputs(&self, client: &Client, change: usize) -> anyhow::Result<()> {
        objects::delete_pods(client, self.services, change).await?;
        objects::change_endpoints(client, self.mirrored(), change + 2).await
    }
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let programs = args.build.programs(&CONTROLLERS)?;
    let (services, mirrored) = (args.services, args.mirrored());
    println!("starting etcd and kube-apiserver, with {services} Services and {mirrored} mirrored ones");
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client()?;
    objects::create_all(&client, objects::cluster()).await?;
    objects::create_all(&client, (0..services).map(objects::service)).await?;
    objects::create_all(&client, (0..mirrored).flat_map(objects::mirrored_service)).await?;
    let pods =
        (0..services).flat_map(|service| (0..PODS_PER_SERVICE).map(move |replica| objects::pod(service, replica)));
    objects::create_all(&client, pods).await?;

    let controllers = Controllers::start(&programs, &control_plane.kubeconfig(control_plane.admin())?.path).await?;
    let recorder = Recorder::start(client.clone()).await?;
    wait_converged(&recorder, CONVERGED).await?;
    drop(recorder);
    let ((), before) = controllers.sample(wait(STEADY)).await?;

    // The controllers see these changes only when the API server is gone, so that keys are due during the outage.
    controllers.signal(Signal::STOP)?;
    args.change_inputs(&client, 0).await?;
    control_plane.apiserver().kill().await?;
    controllers.signal(Signal::CONT)?;
    println!("the API server is down for {} minutes", args.minutes);
    let outage = Duration::try_from_secs_f64(args.minutes * 60.0)?;
    let ((), during) = controllers.sample(wait(outage)).await?;

    let (converged, after) = controllers.sample(recover(args, &control_plane)).await?;
    println!(
        "converged {:.1} s after the API server was ready, {:.1} s after the last change",
        converged.since_ready.as_secs_f64(),
        converged.since_change.as_secs_f64()
    );
    let ((), end) = controllers.sample(wait(STEADY)).await?;
    println!(
        "                                    memory, MiB: before  outage  recovery  end     keys due  requests/s: outage  recovery"
    );
    for (index, name) in CONTROLLERS.iter().enumerate() {
        println!(
            "{name:<49}{:<8.1}{:<8.1}{:<10.1}{:<8.1}{:<10}{:<20.1}{:.1}",
            median_memory(&before[index]),
            most_memory(&during[index]),
            most_memory(&after[index]),
            median_memory(&end[index]),
            most_keys(&during[index]),
            most_requests(&during[index]),
            most_requests(&after[index]),
        );
    }
    controllers.stop().await
}

async fn wait(time: Duration) -> anyhow::Result<()> {
    sleep(time).await;
    Ok(())
}

/// Until all slices were as desired.
struct Converged {
    since_ready: Duration,
    since_change: Duration,
}

/// Starts the API server again, changes the inputs once more and waits until the slices are as desired.
async fn recover(args: &Args, control_plane: &ControlPlane) -> anyhow::Result<Converged> {
    control_plane.apiserver().start().await?;
    let ready = Instant::now();
    let client = control_plane.client()?;
    args.change_inputs(&client, 1).await?;
    let changed = Instant::now();
    let recorder = Recorder::start(client).await?;
    let waiting = Instant::now();
    let converged = waiting + wait_converged(&recorder, CONVERGED).await?;
    Ok(Converged {
        since_ready: converged - ready,
        since_change: converged - changed,
    })
}

/// Both controllers.
struct Controllers(Vec<ControllerProcess>);

impl Controllers {
    /// Starts them and waits until they are ready.
    async fn start(programs: &[impl AsRef<Path>], kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let mut controllers = Vec::new();
        for program in programs {
            let controller = ControllerProcess::start(program, &[&kubeconfig]).await?;
            controller.wait_ready().await?;
            controllers.push(controller);
        }
        Ok(Self(controllers))
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        for controller in &self.0 {
            controller.process.signal(signal)?;
        }
        Ok(())
    }

    /// Takes samples until `work` is done. Returns its result, and the samples of each controller.
    async fn sample<T>(&self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<(T, Vec<Vec<Sample>>)> {
        let mut samples = vec![Vec::new(); self.0.len()];
        let result = tokio::select! {
            result = work => result?,
            error = self.sample_into(&mut samples) => match error? {},
        };
        Ok((result, samples))
    }

    async fn sample_into(&self, samples: &mut [Vec<Sample>]) -> anyhow::Result<Infallible> {
        loop {
            for (controller, samples) in self.0.iter().zip(&mut *samples) {
                samples.push(Sample::new(&metrics(controller).await?));
            }
            sleep(SAMPLE_INTERVAL).await;
        }
    }

    /// Stops them. No key may be left.
    async fn stop(self) -> anyhow::Result<()> {
        for controller in self.0 {
            let page = metrics(&controller).await?;
            let keys = metric(&page, "workqueue_depth");
            ensure!(
                keys == 0.0,
                "{keys} keys are in the work queue although all slices are as desired"
            );
            controller.stop().await?;
        }
        Ok(())
    }
}
