//! `cargo xtask demo`: both controllers at work, live.

mod acts;
mod cluster;
mod draw;
mod objects;
mod screen;
mod stage;
mod verdict;
mod view;

use std::{io, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use futures::future::select_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use serde_json::json;
use testenv::{CONTROLLERS, Program, history::Recorder, objects::create};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use self::{
    acts::Act,
    cluster::{Cluster, Pace},
    objects::NAMESPACE,
    screen::{Screen, say},
    stage::Stage,
    view::View,
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

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// End after the last act
    #[arg(long)]
    once: bool,
    /// On the small real cluster; needs Go, to build it once
    #[arg(long)]
    real: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
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
    let client = cluster.client().clone();
    create(
        &Api::<Namespace>::all(client.clone()),
        json!({"metadata": {"name": NAMESPACE}}),
    )
    .await?;
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let kubeconfig = directory.path().join("kubeconfig");
    cluster.write_kubeconfig(&kubeconfig)?;
    let recorder = Recorder::start_in(client.clone(), NAMESPACE).await?;
    let variable = format!("export KUBECONFIG={}", kubeconfig.display());
    say("join from a second terminal:")?;
    say(&variable)?;
    let controllers = Controllers::start(programs, &format!("--kubeconfig={}", kubeconfig.display())).await?;

    let is_watched = Screen::is_watched();
    let (look, pace) = if is_watched {
        (LOOK, LEISURE)
    } else {
        (Duration::ZERO, HURRY)
    };
    let view = watch::Sender::new(View::default());
    let stage = Stage {
        cluster,
        client,
        recorder,
        view,
        look,
    };
    let mut screen = Screen::new(format!("join from a second terminal: {variable}"))?;
    let played = tokio::select! {
        played = play(&stage, args.once) => played,
        failed = screen.run(stage.view.subscribe()) => failed.map(|()| String::new()),
        failed = observe(&stage) => failed.map(|()| String::new()),
        failed = stage.cluster.work(stage.view.subscribe(), pace) => failed.map(|()| String::new()),
        failed = controllers.run() => failed.map(|()| String::new()),
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
async fn observe(stage: &Stage) -> Result<()> {
    let mut events = stage.recorder.events();
    while let Some(event) = events.recv().await {
        stage.view.send_modify(|view| view.see(&event));
    }
    bail!("nobody records what happens any more")
}

/// Our two programs.
struct Controllers(Vec<Program>);

impl Controllers {
    async fn start(programs: &[PathBuf], kubeconfig: &str) -> Result<Self> {
        let mut started = Vec::new();
        for program in programs {
            let program = Program::start(program, &[kubeconfig]).await?;
            program.ready().await?;
            started.push(program);
        }
        Ok(Self(started))
    }

    /// Sees to it that they run, for ever.
    async fn run(&self) -> Result<()> {
        loop {
            for (program, name) in self.0.iter().zip(CONTROLLERS) {
                if let Some(status) = program.binary.ended() {
                    bail!("{name} ended, with {status}. It had said:\n{}", program.binary.said());
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
