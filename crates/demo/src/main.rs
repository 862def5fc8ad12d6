//! `cargo xtask demo`: runs both controllers on an API server and shows live how slices change.

mod acts;
mod cluster;
mod draw;
mod objects;
mod report;
mod screen;
mod stage;
mod view;

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use futures::future::select_all;
use testenv::{CONTROLLERS, ControllerProcess};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    acts::Act,
    cluster::{Cluster, Pace},
    screen::{Screen, print_line},
    stage::Stage,
};

/// Pause after each converged state, for the viewer.
const VIEWING_PAUSE: Duration = Duration::from_secs(2);
/// Pods start and end slowly enough for a viewer to follow.
const SLOW: Pace = Pace {
    steps: 12,
    pause: Duration::from_millis(180),
};
/// Without a terminal: as fast as possible.
const FAST: Pace = Pace {
    steps: 1,
    pause: Duration::ZERO,
};

/// Description that is shown after the last act.
const AFTER_LAST_ACT: &str = "further changes are shown until Ctrl-C; try `kubectl delete endpointslices --all`";

/// Run both controllers and show live how EndpointSlices change, until Ctrl-C
#[derive(Debug, Parser)]
#[command(name = "cargo xtask demo", bin_name = "cargo xtask demo")]
struct Args {
    /// Exit after the last act and print the result of the verification
    #[arg(long)]
    once: bool,
    /// Run on a real control plane; needs Go to build it once
    #[arg(long)]
    real: bool,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> Result<()> {
    print_line("building the two controllers")?;
    let programs = testenv::build(&CONTROLLERS)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the asynchronous runtime")?;
    runtime.block_on(async {
        let shutdown = shutdown_signal().context("cannot install signal handlers")?;
        tokio::select! {
            ended = demo(args, &programs) => ended,
            () = shutdown => interrupted(args),
        }
    })
}

/// Completes on SIGINT (Ctrl-C), SIGHUP (terminal closed) or SIGTERM.
fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let kinds = [SignalKind::interrupt(), SignalKind::hangup(), SignalKind::terminate()];
    let mut signals = kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    Ok(async move {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        drop(select_all(any).await);
    })
}

/// The result after a shutdown signal: success, or an error with `--once`. All started processes have exited.
fn interrupted(args: &Args) -> Result<()> {
    ensure!(!args.once, "interrupted before the last act: nothing was verified");
    print_line("demo: ended, and all that it had started")
}

async fn demo(args: &Args, programs: &[PathBuf]) -> Result<()> {
    print_line(if args.real {
        "starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok"
    } else {
        "starting an API server in memory"
    })?;
    let cluster = Cluster::start(args.real).await?;
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let kubeconfig = directory.path().join("kubeconfig");
    cluster.write_kubeconfig(&kubeconfig)?;
    let join = format!("export KUBECONFIG={}", kubeconfig.display());
    print_line("join from a second terminal:")?;
    print_line(&join)?;
    let (viewing_pause, pace) = if Screen::is_terminal() {
        (VIEWING_PAUSE, SLOW)
    } else {
        (Duration::ZERO, FAST)
    };
    let stage = Stage::new(cluster, viewing_pause).await?;
    let controllers = Controllers::start(programs, &kubeconfig).await?;

    let mut screen = Screen::new(format!("join from a second terminal: {join}"))?;
    let pods = stage.cluster.run_pods(stage.view.subscribe(), pace);
    let show = screen.run(stage.view.subscribe());
    let background = async { tokio::try_join!(update_view(&stage), show, pods, controllers.supervise()) };
    let result = tokio::select! {
        result = run_acts(&stage, args.once) => result,
        failed = background => failed.map(|(never, ..)| match never {}),
    };
    screen.show(&stage.view.borrow())?;
    drop(screen);
    print_line(&format!("demo: {}", result?))
}

/// Runs all acts and verifies the recorded history. With `once`, returns the summary; otherwise keeps running.
async fn run_acts(stage: &Stage, once: bool) -> Result<String> {
    for (number, act) in Act::ALL.into_iter().enumerate() {
        stage.mark(act.title(), act.window()).await?;
        let title = format!("act {} of {}, {}", number + 1, Act::ALL.len(), act.title());
        stage.view.send_modify(|view| view.begin_act(title, act.description()));
        act.run(stage).await?;
    }
    let verified = report::verify(&stage.recorder.history()?)?;
    if once {
        let view = stage.view.borrow();
        return Ok(format!("{verified}; {}; {}", view.writes, view.latency.summary()));
    }
    stage.view.send_modify(|view| view.begin_act(verified, AFTER_LAST_ACT));
    std::future::pending().await
}

/// Applies recorded watch events to the view, forever.
async fn update_view(stage: &Stage) -> Result<Infallible> {
    let mut events = stage.recorder.events();
    while let Some(event) = events.recv().await {
        stage.view.send_modify(|view| view.apply(&event));
    }
    bail!("the recorder of watch events has stopped")
}

/// The two controller processes.
struct Controllers(Vec<ControllerProcess>);

impl Controllers {
    async fn start(programs: &[PathBuf], kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let mut started = Vec::new();
        for program in programs {
            let program = ControllerProcess::start(program, &[&kubeconfig]).await?;
            program.wait_ready().await?;
            started.push(program);
        }
        Ok(Self(started))
    }

    /// Fails as soon as a controller exits.
    async fn supervise(&self) -> Result<Infallible> {
        loop {
            for (program, name) in self.0.iter().zip(CONTROLLERS) {
                if let Some(status) = program.process.try_exit() {
                    bail!("{name} ended with {status}. Its output:\n{}", program.process.output());
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
