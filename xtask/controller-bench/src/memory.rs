//! `cargo xtask bench memory`: the memory of both controllers, here and in kube-controller-manager.

use std::path::PathBuf;

use anyhow::Context as _;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client, api::ListParams};
use testenv::{CONTROLLERS, ControlPlane, ControllerProcess, until};

use crate::{
    Build,
    measure::{MIB, peak_memory},
    objects,
};

/// Compare the memory of both controllers with that of kube-controller-manager, on a real control plane; needs Go
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of pods, 50 for each Service
    #[arg(long, default_value_t = 15_000)]
    pods: u32,
    #[command(flatten)]
    build: Build,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let programs = args.build.programs(&CONTROLLERS)?;
    println!("starting etcd and kube-apiserver");
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client()?;
    objects::create_all(&client, objects::cluster()).await?;
    let pods = usize::try_from(args.pods)?;
    let mut bench = Bench {
        control_plane,
        client,
        programs,
        next_service: pods.div_ceil(objects::PODS_PER_SERVICE),
    };
    let empty = [bench.upstream().await?, bench.here().await?];

    println!("creating {} pods", args.pods);
    objects::create_pods(&bench.client, pods).await?;
    // This start writes all slices, so that the measured ones write nothing.
    bench.here().await?;
    let full = [bench.upstream().await?, bench.here().await?];

    println!(
        "peak memory, MiB         no pods  {:<8} difference per pod, KiB",
        args.pods
    );
    for (name, (empty, full)) in ["kube-controller-manager", "both programs here"]
        .iter()
        .zip(empty.iter().zip(full))
    {
        let per_pod = (full - empty) * 1024.0 / f64::from(args.pods);
        println!("{name:<25}{empty:<9.1}{full:<9.1}{per_pod:.1}");
    }
    Ok(())
}

struct Bench {
    control_plane: ControlPlane,
    client: Client,
    programs: Vec<PathBuf>,
    /// The number of the next Service without pods.
    next_service: usize,
}

impl Bench {
    /// The peak memory of a kube-controller-manager with no other controllers, in MiB.
    async fn upstream(&mut self) -> anyhow::Result<f64> {
        let process = self.control_plane.controller_manager(&CONTROLLERS, &[]).await?;
        self.wait_synced().await?;
        let memory = peak_memory(process.pid().context("kube-controller-manager has ended")?)?;
        process.stop().await?;
        Ok(memory / MIB)
    }

    /// The peak memory of both programs of this workspace together, in MiB.
    async fn here(&mut self) -> anyhow::Result<f64> {
        let kubeconfig = self.control_plane.kubeconfig(self.control_plane.admin())?;
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.path.display());
        let mut processes = Vec::new();
        for program in &self.programs {
            processes.push(ControllerProcess::start(program, &[&kubeconfig]).await?);
        }
        self.wait_synced().await?;
        let mut memory = 0.0;
        for process in processes {
            memory += peak_memory(process.process.id())?;
            process.stop().await?;
        }
        Ok(memory / MIB)
    }

    /// Waits until new Services have slices: the keys of all older ones have been added to the work queues before.
    async fn wait_synced(&mut self) -> anyhow::Result<()> {
        let number = self.next_service;
        self.next_service += 1;
        let [mirrored, endpoints] = objects::mirrored_service(number);
        objects::create_all(&self.client, [objects::service(number), mirrored, endpoints]).await?;
        let slices = Api::<EndpointSlice>::namespaced(self.client.clone(), objects::namespace(number));
        for name in [objects::service_name(number), objects::mirrored_name(number)] {
            let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
            until("a new Service has a slice", async || {
                slices.list(&of_service).await.is_ok_and(|list| !list.items.is_empty())
            })
            .await?;
        }
        Ok(())
    }
}
