//! Users, their credentials and kubeconfigs.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};

use crate::error::Error;
use crate::pki::Identity;

/// Credentials of a user.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A certificate and its key, both as PEM.
    ClientCertificate {
        /// The certificate.
        cert_pem: String,
        /// The private key.
        key_pem: String,
    },
    /// A bearer token.
    Token(String),
}

/// A user of the API server.
#[derive(Clone, Debug)]
pub struct User {
    name: String,
    credentials: Credentials,
    /// The same credentials as files.
    auth: AuthInfo,
}

impl User {
    /// The user name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The credentials.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Writes the credentials to files in `directory`.
    pub(crate) fn with_certificate(name: &str, identity: Identity, directory: &Path) -> Result<Self, Error> {
        let (cert, key) = (directory.join("tls.crt"), directory.join("tls.key"));
        write_private(&cert, &identity.cert_pem)?;
        write_private(&key, &identity.key_pem)?;
        let auth = AuthInfo {
            client_certificate: Some(text(&cert)),
            client_key: Some(text(&key)),
            ..AuthInfo::default()
        };
        Ok(Self {
            name: name.to_owned(),
            credentials: Credentials::ClientCertificate {
                cert_pem: identity.cert_pem,
                key_pem: identity.key_pem,
            },
            auth,
        })
    }

    /// Writes the token to a file in `directory`.
    pub(crate) fn with_token(name: String, token: String, directory: &Path) -> Result<Self, Error> {
        let file = directory.join("token");
        write_private(&file, &token)?;
        let auth = AuthInfo {
            token_file: Some(text(&file)),
            ..AuthInfo::default()
        };
        Ok(Self {
            name,
            credentials: Credentials::Token(token),
            auth,
        })
    }

    /// Client configuration of this user for a server.
    pub(crate) fn config(&self, url: &str, ca_der: Vec<u8>) -> Result<Config, Error> {
        let uri = url.parse().map_err(|source| Error::Client {
            url: url.to_owned(),
            source: Box::new(source),
        })?;
        let mut config = Config::new(uri);
        config.root_cert = Some(vec![ca_der]);
        config.auth_info = self.auth.clone();
        Ok(config)
    }

    /// A kubeconfig of this user for a server, with credentials as file references.
    pub(crate) fn kubeconfig(&self, url: &str, ca_file: &Path) -> Kubeconfig {
        let name = || String::from("testenv");
        Kubeconfig {
            api_version: Some("v1".to_owned()),
            kind: Some("Config".to_owned()),
            current_context: Some(name()),
            clusters: vec![NamedCluster {
                name: name(),
                cluster: Some(Cluster {
                    server: Some(url.to_owned()),
                    certificate_authority: Some(text(ca_file)),
                    ..Cluster::default()
                }),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: self.name.clone(),
                auth_info: Some(self.auth.clone()),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name: name(),
                context: Some(Context {
                    cluster: name(),
                    user: Some(self.name.clone()),
                    ..Context::default()
                }),
                ..NamedContext::default()
            }],
            ..Kubeconfig::default()
        }
    }
}

/// A kubeconfig as a value and as a file.
#[derive(Clone, Debug)]
pub struct KubeconfigFile {
    /// The file; it is removed with the environment.
    pub path: PathBuf,
    /// The content.
    pub content: Kubeconfig,
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &str) -> Result<(), Error> {
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(Error::system(format!("write {}", path.display())))
}

/// A path as text, for arguments and kubeconfigs. Paths are ASCII unless the system's temporary directory is not.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
