use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::Api;

use super::{ControlPlane, flags};
use crate::assets::Program;
use crate::error::Error;
use crate::files::{Files, programs};
use crate::part::Spec;

const PATIENCE: Duration = Duration::from_secs(60);
/// The namespaces of every cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Says how a [`ControlPlane`] differs from the usual one.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ControlPlaneBuilder {
    etcd: Vec<String>,
    apiserver: Vec<String>,
}

impl ControlPlaneBuilder {
    /// One more argument for etcd, like `--quota-backend-bytes=1000000`.
    pub fn etcd_arg(mut self, argument: impl Into<String>) -> Self {
        self.etcd.push(argument.into());
        self
    }

    /// One more argument for kube-apiserver; of a flag that is given twice,
    /// the last counts.
    pub fn apiserver_arg(mut self, argument: impl Into<String>) -> Self {
        self.apiserver.push(argument.into());
        self
    }

    /// Starts etcd and kube-apiserver and waits until they are ready.
    pub async fn start(self) -> Result<ControlPlane, Error> {
        let assets = programs(&[Program::Etcd, Program::KubeApiserver]).await?;
        let files = Files::new()?;
        let server = files.server()?;
        let admin = files.administrator("admin")?;
        flags::write_service_account_key(&files)?;
        let (etcd, etcd_port) = files
            .launch(Program::Etcd, |port| {
                Ok(Spec {
                    program: assets.path(Program::Etcd).to_owned(),
                    args: with(flags::etcd(&files, &server, port), &self.etcd),
                    probe: (files.config(&admin, "https", port)?, "/health"),
                })
            })
            .await?;
        let (apiserver, port) = files
            .launch(Program::KubeApiserver, |port| {
                let args = flags::apiserver(&files, &server, etcd_port, port);
                Ok(Spec {
                    program: assets.path(Program::KubeApiserver).to_owned(),
                    args: with(args, &self.apiserver),
                    probe: (files.config(&admin, "https", port)?, "/readyz"),
                })
            })
            .await?;
        let control_plane = ControlPlane {
            etcd,
            etcd_config: files.config(&admin, "https", etcd_port)?,
            apiserver,
            url: format!("https://127.0.0.1:{port}"),
            admin,
            files,
        };
        wait_for_first_objects(&control_plane).await?;
        Ok(control_plane)
    }
}

fn with(mut arguments: Vec<String>, more: &[String]) -> Vec<String> {
    arguments.extend_from_slice(more);
    arguments
}

/// kube-apiserver is ready some moments before it has created the objects that
/// are always there.
async fn wait_for_first_objects(control_plane: &ControlPlane) -> Result<(), Error> {
    let client = control_plane.client()?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let services: Api<Service> = Api::default_namespaced(client);
    let begin = Instant::now();
    for name in NAMESPACES {
        while !exists(&namespaces, name).await? {
            patience(begin, || format!("the creation of the namespace {name}")).await?;
        }
    }
    while !exists(&services, "kubernetes").await? {
        patience(begin, || "the creation of the service kubernetes".to_owned()).await?;
    }
    Ok(())
}

async fn exists<K>(api: &Api<K>, name: &str) -> Result<bool, Error>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let found = api.get_opt(name).await;
    Ok(found.map_err(Error::request(format!("get {name}")))?.is_some())
}

/// Waits a moment, or says that it has been too long.
async fn patience(begin: Instant, what: impl Fn() -> String) -> Result<(), Error> {
    if begin.elapsed() > PATIENCE {
        return Err(Error::Timeout {
            what: what(),
            seconds: PATIENCE.as_secs(),
        });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}
