//! etcd and kube-apiserver.

mod builder;
mod data_copy;
mod etcd;
mod flags;
mod replica;

use std::path::{Path, PathBuf};

use k8s_openapi::api::rbac::v1::{PolicyRule, Subject};
use kube::{Client, Config};

pub use self::builder::ControlPlaneBuilder;
pub use self::data_copy::EtcdCopy;
pub use self::replica::ApiserverReplica;
use crate::access::{KubeconfigFile, User};
use crate::component::{self, Component};
use crate::error::Error;
use crate::files::Files;
use crate::pki::Pki;
use crate::rbac;

/// A running etcd and kube-apiserver. Both, and all components started with them, are killed when this is dropped or
/// the test process ends in any way.
pub struct ControlPlane {
    files: Files,
    etcd: Component,
    etcd_config: Config,
    etcd_port: u16,
    apiserver: Component,
    /// Arguments of kube-apiserver for the audit log, if there is one.
    audit: Vec<String>,
    url: String,
    admin: User,
}

impl ControlPlane {
    /// Starts a control plane with default arguments and waits until it is ready.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// A builder for a control plane with additional arguments.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder::default()
    }

    /// A client for the administrator. A client is bound to the tokio runtime that it is created in, so every test
    /// creates its own.
    pub fn client(&self) -> Result<Client, Error> {
        self.client_for(&self.admin)
    }

    /// A client for a user, without retries.
    pub fn client_for(&self, user: &User) -> Result<Client, Error> {
        self.client_at(user, &self.url)
    }

    /// A client for a user at another address, such as a proxy with a certificate from [`pki`](Self::pki).
    pub fn client_at(&self, user: &User, url: &str) -> Result<Client, Error> {
        component::client(&user.config(url, self.pki().ca_der())?)
    }

    /// A kubeconfig for a user.
    pub fn kubeconfig(&self, user: &User) -> Result<KubeconfigFile, Error> {
        self.kubeconfig_at(user, &self.url)
    }

    /// A kubeconfig for a user at another address.
    pub fn kubeconfig_at(&self, user: &User, url: &str) -> Result<KubeconfigFile, Error> {
        self.files.kubeconfig(user, url)
    }

    /// The administrator.
    #[must_use]
    pub fn admin(&self) -> &User {
        &self.admin
    }

    /// Creates a user with a client certificate and exactly these RBAC rules in all namespaces. The rules are in effect
    /// when this returns.
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

    /// Creates a service account in an existing namespace with exactly these RBAC rules in all namespaces, and a token
    /// for an hour.
    pub async fn service_account(&self, namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Result<User, Error> {
        let admin = self.client()?;
        rbac::create_service_account(&admin, namespace, name).await?;
        let user = self.token_of(namespace, name).await?;
        let subject = Subject {
            api_group: None,
            kind: "ServiceAccount".to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
        };
        rbac::grant(&admin, user.name(), subject, rules).await?;
        Ok(user)
    }

    /// An existing service account, with a token for an hour.
    pub async fn token_of(&self, namespace: &str, name: &str) -> Result<User, Error> {
        let token = rbac::token(&self.client()?, namespace, name).await?;
        let user = format!("system:serviceaccount:{namespace}:{name}");
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

    /// The certificate authority that clients of the API server trust.
    #[must_use]
    pub fn pki(&self) -> &Pki {
        self.files.pki()
    }

    /// The directory of data, logs and credentials.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// etcd.
    #[must_use]
    pub fn etcd(&self) -> &Component {
        &self.etcd
    }

    /// kube-apiserver.
    #[must_use]
    pub fn apiserver(&self) -> &Component {
        &self.apiserver
    }

    /// Compacts etcd to the current revision and returns it.
    ///
    /// kube-apiserver still serves compacted revisions from its watch cache. With
    /// `--feature-gates=ListFromCacheSnapshot=false` it reads the next page of a list from etcd, with
    /// `--watch-cache=false` everything.
    pub async fn compact_etcd(&self) -> Result<i64, Error> {
        etcd::compact(&component::client(&self.etcd_config)?).await
    }

    /// The private key that signs tokens of service accounts.
    #[must_use]
    pub fn service_account_key_file(&self) -> PathBuf {
        self.files.path(flags::SERVICE_ACCOUNT_KEY)
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Clones of components do not keep processes alive.
        self.files.shut_down();
    }
}
