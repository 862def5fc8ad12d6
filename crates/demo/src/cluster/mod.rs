//! The cluster under the demo: an API server in memory, or a real control plane.

mod deployment;
mod real;
mod sim;

use std::{convert::Infallible, path::Path};

use anyhow::{Context as _, Result};
use futures::future::BoxFuture;
use kube::{Client, config::Kubeconfig};
use tokio::sync::watch;

use self::{real::Real, sim::Sim};
use super::{
    objects::{Deployment, NAMESPACE},
    view::View,
};

pub(super) use self::sim::Pace;

/// An API server, and the components that run pods.
pub(super) enum Cluster {
    Sim(Sim),
    Real(Box<Real>),
}

impl Cluster {
    pub(super) async fn start(real: bool) -> Result<Self> {
        Ok(if real {
            Self::Real(Box::new(Real::start().await?))
        } else {
            Self::Sim(Sim::start().await?)
        })
    }

    pub(super) fn client(&self) -> &Client {
        match self {
            Self::Sim(sim) => &sim.client,
            Self::Real(real) => &real.client,
        }
    }

    /// Writes a kubeconfig whose default namespace is that of the demo.
    pub(super) fn write_kubeconfig(&self, path: &Path) -> Result<()> {
        let mut kubeconfig: Kubeconfig = match self {
            Self::Sim(sim) => sim.kubeconfig()?,
            Self::Real(real) => real.kubeconfig()?,
        };
        for context in kubeconfig
            .contexts
            .iter_mut()
            .filter_map(|named| named.context.as_mut())
        {
            context.namespace = Some(NAMESPACE.to_owned());
        }
        // JSON is valid YAML.
        let text = serde_json::to_string_pretty(&kubeconfig).context("cannot serialize the kubeconfig")?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Applies a Deployment.
    pub(super) async fn deploy(&self, deployment: &Deployment) -> Result<()> {
        match self {
            Self::Sim(sim) => {
                sim.deploy(deployment);
                Ok(())
            }
            Self::Real(real) => real.deploy(deployment).await,
        }
    }

    /// Simulates the missing components that run pods, forever.
    pub(super) fn run_pods(&self, view: watch::Receiver<View>, pace: Pace) -> BoxFuture<'static, Result<Infallible>> {
        match self {
            Self::Sim(sim) => Box::pin(sim.run_pods(view, pace)),
            Self::Real(real) => Box::pin(real.run_pods(view)),
        }
    }
}

/// Ignores 404: the viewer may have deleted the object.
pub(super) fn ignore_not_found<T>(result: Result<T, kube::Error>) -> Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => Ok(result.map(drop)?),
    }
}
