//! `cargo xtask demo`: what is there, live. So far that is the in-memory API server with a small cluster in it.

mod workload;

use std::{io::Write as _, path::Path};

use anyhow::{Context as _, ensure};
use apisim::{ApiSim, serve::HttpServer};
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::{
    Api, Client, Config, ResourceExt as _,
    api::{ListParams, WatchEvent, WatchParams},
    config::{Cluster, Context, KubeConfigOptions, Kubeconfig, NamedCluster, NamedContext},
};

use self::workload::NAMESPACE;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// End with a summary once everything was seen
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()
        .context("cannot start the asynchronous runtime")?
        .block_on(play(args))
}

async fn play(args: &Args) -> anyhow::Result<()> {
    let server = HttpServer::start(ApiSim::new())
        .await
        .context("cannot listen on a loopback port")?;
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let kubeconfig = kubeconfig(&server);
    let path = directory.path().join("kubeconfig");
    write(&path, &kubeconfig)?;
    say("an API server is up, in memory. Join it from a second terminal:")?;
    say(&format!("export KUBECONFIG={}", path.display()))?;

    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let mut seen = watch_everything(&client).await?;
    let workload = workload::create(&client).await?;
    for _ in 0..workload.changes {
        say(&seen.next().await.context("the watch ended early")??)?;
    }
    let counted = count(&client).await?;
    ensure!(
        counted == workload.objects,
        "{} objects were created, but {counted} are there",
        workload.objects
    );
    if !args.once {
        say("every further change shows here, until Ctrl-C")?;
        tokio::select! {
            ended = show(&mut seen) => ended?,
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for Ctrl-C")?,
        }
    }
    say(&format!("demo: {counted} objects created, seen by watches and counted"))
}

async fn show(seen: &mut BoxStream<'static, anyhow::Result<String>>) -> anyhow::Result<()> {
    while let Some(line) = seen.try_next().await? {
        say(&line)?;
    }
    Ok(())
}

/// A line for each change of a node, service or pod from now on.
async fn watch_everything(client: &Client) -> anyhow::Result<BoxStream<'static, anyhow::Result<String>>> {
    let nodes = watch::<Node>(Api::all(client.clone()), "node").await?;
    let services = watch::<Service>(Api::namespaced(client.clone(), NAMESPACE), "service").await?;
    let pods = watch::<Pod>(Api::namespaced(client.clone(), NAMESPACE), "pod").await?;
    Ok(futures::stream::select_all([nodes, services, pods]).boxed())
}

async fn watch<K>(api: Api<K>, what: &'static str) -> anyhow::Result<BoxStream<'static, anyhow::Result<String>>>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let version = api
        .list(&ListParams::default())
        .await?
        .metadata
        .resource_version
        .unwrap_or_default();
    let events = api.watch(&WatchParams::default(), &version).await?;
    Ok(events
        .map_err(anyhow::Error::from)
        .try_filter_map(move |event| async move {
            Ok(match event {
                WatchEvent::Added(object) => Some(format!("+ {what:<8} {}", object.name_any())),
                WatchEvent::Modified(object) => Some(format!("~ {what:<8} {}", object.name_any())),
                WatchEvent::Deleted(object) => Some(format!("- {what:<8} {}", object.name_any())),
                WatchEvent::Bookmark(_) => None,
                WatchEvent::Error(status) => anyhow::bail!("the watch of {what}s ended: {}", status.message),
            })
        })
        .boxed())
}

async fn count(client: &Client) -> anyhow::Result<usize> {
    let all = ListParams::default();
    let nodes = Api::<Node>::all(client.clone()).list(&all).await?.items.len();
    let services = Api::<Service>::namespaced(client.clone(), NAMESPACE)
        .list(&all)
        .await?
        .items
        .len();
    let pods = Api::<Pod>::namespaced(client.clone(), NAMESPACE)
        .list(&all)
        .await?
        .items
        .len();
    Ok(nodes + services + pods)
}

fn kubeconfig(server: &HttpServer) -> Kubeconfig {
    let name = "demo".to_owned();
    Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(Cluster {
                server: Some(format!("http://{}", server.address())),
                ..Cluster::default()
            }),
            ..NamedCluster::default()
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(Context {
                cluster: name.clone(),
                namespace: Some(NAMESPACE.to_owned()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(name),
        ..Kubeconfig::default()
    }
}

fn write(path: &Path, kubeconfig: &Kubeconfig) -> anyhow::Result<()> {
    let text = serde_yaml::to_string(kubeconfig).context("cannot write a kubeconfig as YAML")?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Prints a line at once, also into a pipe; a reader that has gone away ends the demo.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("nobody reads the demo any more")
}
