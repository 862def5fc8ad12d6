use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::Api;

use super::{ControlPlane, flags};
use crate::assets::Program;
use crate::audit;
use crate::component::ComponentSpec;
use crate::error::Error;
use crate::files::{Files, ensure_programs};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Namespaces that kube-apiserver creates.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Options of a [`ControlPlane`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ControlPlaneBuilder {
    etcd: Vec<String>,
    apiserver: Vec<String>,
    audited: Option<String>,
}

impl ControlPlaneBuilder {
    /// Adds an argument of etcd, such as `--quota-backend-bytes=1000000`.
    pub fn etcd_arg(mut self, argument: impl Into<String>) -> Self {
        self.etcd.push(argument.into());
        self
    }

    /// Adds an argument of kube-apiserver; the last value of a repeated flag is used.
    pub fn apiserver_arg(mut self, argument: impl Into<String>) -> Self {
        self.apiserver.push(argument.into());
        self
    }

    /// Records the requests of the users of this group, for [`ControlPlane::audit_log`].
    pub fn audit(mut self, group: impl Into<String>) -> Self {
        self.audited = Some(group.into());
        self
    }

    /// Starts etcd and kube-apiserver and waits until they are ready.
    pub async fn start(self) -> Result<ControlPlane, Error> {
        let assets = ensure_programs(&[Program::Etcd, Program::KubeApiserver]).await?;
        let files = Files::new()?;
        let server = files.server()?;
        let admin = files.administrator("admin")?;
        flags::write_service_account_key(&files)?;
        let (etcd, etcd_port) = files
            .launch(Program::Etcd, |port| {
                Ok(ComponentSpec {
                    program: assets.path(Program::Etcd).to_owned(),
                    args: with(flags::etcd(&files, &server, port), &self.etcd),
                    probe: (files.config(&admin, "https", port)?, "/health"),
                })
            })
            .await?;
        let audit = match &self.audited {
            Some(group) => audit::arguments(&files, group)?,
            None => Vec::new(),
        };
        let (apiserver, port) = files
            .launch(Program::KubeApiserver, |port| {
                let args = with(flags::apiserver(&files, &server, etcd_port, port), &audit);
                Ok(ComponentSpec {
                    program: assets.path(Program::KubeApiserver).to_owned(),
                    args: with(args, &self.apiserver),
                    probe: (files.config(&admin, "https", port)?, "/readyz"),
                })
            })
            .await?;
        let control_plane = ControlPlane {
            etcd,
            etcd_config: files.config(&admin, "https", etcd_port)?,
            etcd_port,
            apiserver,
            audit,
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

/// kube-apiserver is ready shortly before it has created its default objects.
async fn wait_for_first_objects(control_plane: &ControlPlane) -> Result<(), Error> {
    let client = control_plane.client()?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let services: Api<Service> = Api::default_namespaced(client);
    let start = Instant::now();
    for name in NAMESPACES {
        while !exists(&namespaces, name).await? {
            poll_until_timeout(start, || format!("creation of the namespace {name}")).await?;
        }
    }
    while !exists(&services, "kubernetes").await? {
        poll_until_timeout(start, || "creation of the service kubernetes".to_owned()).await?;
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

/// Sleeps for one poll interval; returns an error after the timeout.
async fn poll_until_timeout(start: Instant, what: impl Fn() -> String) -> Result<(), Error> {
    if start.elapsed() > TIMEOUT {
        return Err(Error::Timeout {
            what: what(),
            seconds: TIMEOUT.as_secs(),
        });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}
