//! Where the story is played: in memory, or on the small real cluster.

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

/// An API server, and those who make pods run.
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

    /// Writes a kubeconfig for somebody who wants to look at the namespace of the story.
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
        // JSON is YAML, too.
        let text = serde_json::to_string_pretty(&kubeconfig).context("cannot write a kubeconfig as JSON")?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Asks for pods.
    pub(super) async fn deploy(&self, deployment: &Deployment) -> Result<()> {
        match self {
            Self::Sim(sim) => {
                sim.deploy(deployment);
                Ok(())
            }
            Self::Real(real) => real.deploy(deployment).await,
        }
    }

    /// Does what nobody else does here, for ever.
    pub(super) fn work(&self, view: watch::Receiver<View>, pace: Pace) -> BoxFuture<'static, Result<Infallible>> {
        match self {
            Self::Sim(sim) => Box::pin(sim.work(view, pace)),
            Self::Real(real) => Box::pin(real.work(view)),
        }
    }
}

/// A person may have been faster.
pub(super) fn gone_is_fine<T>(answer: Result<T, kube::Error>) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => Ok(answer.map(drop)?),
    }
}
