//! `cargo xtask demo`: both controllers at work, live.

mod acts;
mod cluster;
mod draw;
mod objects;
mod screen;
mod stage;
mod verdict;
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
    screen::{Screen, say},
    stage::Stage,
};

/// How long a person wants to look at what came of something.
const LOOK: Duration = Duration::from_secs(2);
/// So that a person can follow pods as they start and end.
const LEISURE: Pace = Pace {
    steps: 12,
    pause: Duration::from_millis(180),
};
const HURRY: Pace = Pace {
    steps: 1,
    pause: Duration::ZERO,
};

/// What happens after the last act.
const STANDS: &str = "every further change shows here, until Ctrl-C; try `kubectl delete endpointslices --all`";

/// Show both controllers at work, live, until Ctrl-C
#[derive(Debug, Parser)]
#[command(name = "cargo xtask demo", bin_name = "cargo xtask demo")]
struct Args {
    /// End after the last act
    #[arg(long)]
    once: bool,
    /// On the small real cluster; needs Go, to build it once
    #[arg(long)]
    real: bool,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> Result<()> {
    say("building the two controllers")?;
    let programs = testenv::build(&CONTROLLERS)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the asynchronous runtime")?;
    runtime.block_on(async {
        let asked = asked_to_end().context("cannot listen to signals")?;
        tokio::select! {
            ended = demo(args, &programs) => ended,
            () = asked => interrupted(args),
        }
    })
}

/// Ready when somebody presses Ctrl-C, closes the terminal, or asks for the end in another way.
fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let ways = [SignalKind::interrupt(), SignalKind::hangup(), SignalKind::terminate()];
    let mut signals = ways.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    Ok(async move {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        drop(select_all(any).await);
    })
}

/// Without `--once` that is how it ends; all that was started has ended with it.
fn interrupted(args: &Args) -> Result<()> {
    ensure!(!args.once, "asked to end before the last act: nothing was verified");
    say("demo: ended, and all that it had started")
}

async fn demo(args: &Args, programs: &[PathBuf]) -> Result<()> {
    say(if args.real {
        "starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok"
    } else {
        "starting an API server in memory"
    })?;
    let cluster = Cluster::start(args.real).await?;
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let kubeconfig = directory.path().join("kubeconfig");
    cluster.write_kubeconfig(&kubeconfig)?;
    let join = format!("export KUBECONFIG={}", kubeconfig.display());
    say("join from a second terminal:")?;
    say(&join)?;
    let (look, pace) = if Screen::is_watched() {
        (LOOK, LEISURE)
    } else {
        (Duration::ZERO, HURRY)
    };
    let stage = Stage::new(cluster, look).await?;
    let controllers = Controllers::start(programs, &kubeconfig).await?;

    let mut screen = Screen::new(format!("join from a second terminal: {join}"))?;
    let work = stage.cluster.work(stage.view.subscribe(), pace);
    let show = screen.run(stage.view.subscribe());
    let background = async { tokio::try_join!(observe(&stage), show, work, controllers.run()) };
    let played = tokio::select! {
        played = play(&stage, args.once) => played,
        failed = background => failed.map(|(never, ..)| match never {}),
    };
    screen.show(&stage.view.borrow())?;
    drop(screen);
    say(&format!("demo: {}", played?))
}

/// The story; answers what it comes to.
async fn play(stage: &Stage, once: bool) -> Result<String> {
    for (number, act) in Act::ALL.into_iter().enumerate() {
        stage.mark(act.title(), act.window()).await?;
        let title = format!("act {} of {}, {}", number + 1, Act::ALL.len(), act.title());
        stage.view.send_modify(|view| view.begin(title, act.tells()));
        act.play(stage).await?;
    }
    let verified = verdict::judge(&stage.recorder.history()?)?;
    if once {
        let view = stage.view.borrow();
        return Ok(format!("{verified}; {}; {}", view.writes, view.latency.in_words()));
    }
    stage.view.send_modify(|view| view.begin(verified, STANDS));
    std::future::pending().await
}

/// Takes note of what happens, for ever.
async fn observe(stage: &Stage) -> Result<Infallible> {
    let mut events = stage.recorder.events();
    while let Some(event) = events.recv().await {
        stage.view.send_modify(|view| view.see(&event));
    }
    bail!("nobody records what happens any more")
}

/// Our two programs.
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

    /// Sees to it that they run, for ever.
    async fn run(&self) -> Result<Infallible> {
        loop {
            for (program, name) in self.0.iter().zip(CONTROLLERS) {
                if let Some(status) = program.process.try_exit() {
                    bail!(
                        "{name} ended, with {status}. It had said:\n{}",
                        program.process.output()
                    );
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
