//! etcd and kube-apiserver.

mod builder;
mod etcd;
mod flags;

use std::path::Path;

use k8s_openapi::api::rbac::v1::{PolicyRule, Subject};
use kube::{Client, Config};

pub use self::builder::ControlPlaneBuilder;
use crate::access::{KubeconfigFile, User};
use crate::error::Error;
use crate::files::Files;
use crate::part::{self, Part};
use crate::pki::Pki;
use crate::rbac;

/// A running etcd and kube-apiserver. Both, and all that was started with them,
/// end when this is dropped or the process ends, whatever way.
pub struct ControlPlane {
    files: Files,
    etcd: Part,
    etcd_config: Config,
    apiserver: Part,
    url: String,
    admin: User,
}

impl ControlPlane {
    /// Starts one with the usual arguments and waits until it is ready.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// To start one with more arguments than the usual.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder::default()
    }

    /// A client for the administrator. A client belongs to the runtime that
    /// it is made in, so that every test makes its own.
    pub fn client(&self) -> Result<Client, Error> {
        self.client_for(&self.admin)
    }

    /// A client for a user, which tries nothing twice.
    pub fn client_for(&self, user: &User) -> Result<Client, Error> {
        self.client_at(user, &self.url)
    }

    /// A client for a user at another address, say that of a proxy whose
    /// certificate comes from [`pki`](Self::pki).
    pub fn client_at(&self, user: &User, url: &str) -> Result<Client, Error> {
        part::client(&user.config(url, self.pki().ca_der())?)
    }

    /// A kubeconfig for a user.
    pub fn kubeconfig(&self, user: &User) -> Result<KubeconfigFile, Error> {
        self.kubeconfig_at(user, &self.url)
    }

    /// A kubeconfig for a user at another address.
    pub fn kubeconfig_at(&self, user: &User, url: &str) -> Result<KubeconfigFile, Error> {
        self.files.kubeconfig(user, url)
    }

    /// The user that may do everything.
    #[must_use]
    pub fn admin(&self) -> &User {
        &self.admin
    }

    /// Makes a user, known by a client certificate, that may do in all
    /// namespaces exactly what these rules say. They hold when this returns.
    pub async fn user(&self, name: &str, rules: Vec<PolicyRule>) -> Result<User, Error> {
        let identity = self.pki().client(name, None)?;
        let user = User::with_certificate(name, identity, &self.files.fresh_directory()?)?;
        let subject = Subject {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "User".to_owned(),
            name: name.to_owned(),
            namespace: None,
        };
        rbac::grant(&self.client()?, name, subject, rules).await?;
        Ok(user)
    }

    /// Makes a service account in an existing namespace that may do in all
    /// namespaces exactly what these rules say, known by a token for an hour.
    pub async fn service_account(&self, namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Result<User, Error> {
        let admin = self.client()?;
        let token = rbac::service_account(&admin, namespace, name).await?;
        let user = format!("system:serviceaccount:{namespace}:{name}");
        let subject = Subject {
            api_group: None,
            kind: "ServiceAccount".to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
        };
        rbac::grant(&admin, &user, subject, rules).await?;
        User::with_token(user, token, &self.files.fresh_directory()?)
    }

    /// The API server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate that clients of the API server trust, as PEM.
    #[must_use]
    pub fn ca_pem(&self) -> String {
        self.pki().ca_pem()
    }

    /// Makes certificates that clients of the API server trust.
    #[must_use]
    pub fn pki(&self) -> &Pki {
        self.files.pki()
    }

    /// Where everything is kept.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// The store.
    #[must_use]
    pub fn etcd(&self) -> &Part {
        &self.etcd
    }

    /// The API server.
    #[must_use]
    pub fn apiserver(&self) -> &Part {
        &self.apiserver
    }

    /// Makes etcd forget everything but the present and returns the revision
    /// that is left.
    ///
    /// kube-apiserver still answers from its own caches what etcd no longer
    /// knows. `--feature-gates=ListFromCacheSnapshot=false` has it ask etcd for
    /// the next page of a list, `--watch-cache=false` for everything.
    pub async fn compact_etcd(&self) -> Result<i64, Error> {
        etcd::compact(&part::client(&self.etcd_config)?).await
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Parts that somebody still holds keep nothing alive.
        self.files.shut_down();
    }
}
