//! `cargo xtask bench cold-start`: how long a controller takes to read a large cluster, by HTTP/2 and by HTTP/1.1.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client, api::ListParams};
use testenv::{CONTROLLERS, ControlPlane, ControllerProcess, until};
use tokio::time::Instant;

use crate::{
    Build,
    measure::{MIB, cpu_seconds, median_and_minimum, metric, metrics, peak_memory},
    objects,
};

/// Time the start of the EndpointSlice controller by HTTP/2 and by HTTP/1.1, on a real control plane; needs Go
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of pods, 50 for each Service
    #[arg(long, default_value_t = 15_000)]
    pods: usize,
    /// Number of starts by each protocol
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    #[command(flatten)]
    build: Build,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http2,
    Http1,
}

/// One start.
#[derive(Debug)]
struct Start {
    /// From the start of the process until `/readyz` succeeded.
    synced: Duration,
    /// CPU seconds of the process until then.
    cpu: f64,
    /// CPU seconds of kube-apiserver until then.
    server_cpu: f64,
    /// The most memory until then, in MiB.
    memory: f64,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let program = args.build.programs(&CONTROLLERS[..1])?.remove(0);
    println!("starting etcd and kube-apiserver, and creating {} pods", args.pods);
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client()?;
    objects::create_all(&client, objects::cluster()).await?;
    let services = objects::create_pods(&client, args.pods).await?;

    let kubeconfig = control_plane.kubeconfig(control_plane.admin())?;
    // The first start writes all slices, so that the measured ones write nothing.
    let first = start(&program, &kubeconfig.path, Protocol::Http2).await?;
    until("all pods are in slices", async || {
        published(&client).await.is_ok_and(|published| published == args.pods)
    })
    .await?;
    first.stop().await?;

    let mut starts: [Vec<Start>; 2] = Default::default();
    for round in 0..args.rounds {
        let mut order = [Protocol::Http2, Protocol::Http1];
        // Neither protocol always comes first.
        order.rotate_left(round % 2);
        for protocol in order {
            let measured = measure(&control_plane, &program, &kubeconfig.path, protocol, services).await?;
            println!("{protocol:?}: {measured:.3?}");
            starts[usize::from(protocol == Protocol::Http1)].push(measured);
        }
    }
    print(&starts);
    Ok(())
}

async fn start(program: &Path, kubeconfig: &Path, protocol: Protocol) -> anyhow::Result<ControllerProcess> {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let http1 = format!("--disable-http2={}", protocol == Protocol::Http1);
    Ok(ControllerProcess::start(program, &[&kubeconfig, &http1]).await?)
}

async fn measure(
    control_plane: &ControlPlane,
    program: &Path,
    kubeconfig: &Path,
    protocol: Protocol,
    services: usize,
) -> anyhow::Result<Start> {
    let server = control_plane.apiserver().pid().context("kube-apiserver has ended")?;
    let server_cpu = cpu_seconds(server)?;
    let started_at = Instant::now();
    let controller = start(program, kubeconfig, protocol).await?;
    controller.wait_ready().await?;
    let synced = started_at.elapsed();
    let cpu = metric(&metrics(&controller).await?, "process_cpu_seconds_total");
    let server_cpu = cpu_seconds(server)? - server_cpu;
    let memory = peak_memory(controller.process.id())? / MIB;
    let services = f64::from(u32::try_from(services)?);
    let mut page = String::new();
    until("a sync of every Service", async || {
        page = metrics(&controller).await.unwrap_or_default();
        metric(&page, "endpoint_slice_controller_syncs") >= services
    })
    .await?;
    let changes = metric(&page, "endpoint_slice_controller_changes");
    ensure!(changes == 0.0, "the controller wrote {changes} slices after a restart");
    controller.stop().await?;
    Ok(Start {
        synced,
        cpu,
        server_cpu,
        memory,
    })
}

/// The number of endpoints in all slices.
async fn published(client: &Client) -> anyhow::Result<usize> {
    let slices = Api::<EndpointSlice>::all(client.clone())
        .list(&ListParams::default())
        .await?;
    Ok(slices
        .iter()
        .filter_map(|slice| slice.endpoints.as_ref())
        .map(Vec::len)
        .sum())
}

/// A name, and how to read the figure.
type Figure = (&'static str, fn(&Start) -> f64);

const FIGURES: [Figure; 4] = [
    ("synced, s", |start| start.synced.as_secs_f64()),
    ("CPU, s", |start| start.cpu),
    ("CPU of kube-apiserver, s", |start| start.server_cpu),
    ("peak memory, MiB", |start| start.memory),
];

fn print([http2, http1]: &[Vec<Start>; 2]) {
    println!("                          HTTP/2            HTTP/1.1          ratio");
    println!("                          median   least    median   least    median   least");
    for (name, figure) in FIGURES {
        let [(median2, least2), (median1, least1)] =
            [http2, http1].map(|starts| median_and_minimum(starts.iter().map(figure)));
        let (median, least) = (median2 / median1, least2 / least1);
        println!("{name:<26}{median2:<9.2}{least2:<9.2}{median1:<9.2}{least1:<9.2}{median:<9.2}{least:.2}");
    }
}
