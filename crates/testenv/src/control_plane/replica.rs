//! A further kube-apiserver of the same etcd.

use std::net::{Ipv4Addr, SocketAddr};

use super::{ControlPlane, flags};
use crate::{
    access::{text, write_private},
    assets::Program,
    component::{Component, ComponentSpec},
    error::Error,
    files::{ServerFiles, ensure_programs},
    pki::Pki,
    relay::Relay,
};

/// A further kube-apiserver of a control plane, whose connection to etcd can be frozen: its watch cache is then stale. It is
/// killed with the control plane.
pub struct ApiserverReplica {
    component: Component,
    url: String,
    etcd: Relay,
    certificate: ServerFiles,
}

impl ControlPlane {
    /// Starts a further kube-apiserver with default arguments and waits until it is ready.
    pub async fn start_replica(&self) -> Result<ApiserverReplica, Error> {
        self.start_replica_with(&[]).await
    }

    /// The same, with additional arguments; the last value of a repeated flag is used.
    pub async fn start_replica_with(&self, arguments: &[&str]) -> Result<ApiserverReplica, Error> {
        let assets = ensure_programs(&[Program::KubeApiserver]).await?;
        let files = self.files();
        let etcd = SocketAddr::from((Ipv4Addr::LOCALHOST, self.etcd_port));
        let etcd = Relay::start(etcd).map_err(Error::system("listen on a loopback port"))?;
        // The certificate of the connection to etcd is not the one that clients see, which may be replaced.
        let (etcd_client, certificate) = (files.server()?, files.server()?);
        let (component, port) = files
            .launch(Program::KubeApiserver, |port| {
                let mut args = flags::apiserver(files, &etcd_client, etcd.port(), port);
                args.push(format!("--tls-cert-file={}", text(&certificate.cert)));
                args.push(format!("--tls-private-key-file={}", text(&certificate.key)));
                args.extend_from_slice(&self.audit);
                args.extend(arguments.iter().map(|&argument| argument.to_owned()));
                Ok(ComponentSpec {
                    program: assets.path(Program::KubeApiserver).to_owned(),
                    args,
                    probe: (files.config(self.admin(), "https", port)?, "/readyz"),
                })
            })
            .await?;
        Ok(ApiserverReplica {
            component,
            url: format!("https://127.0.0.1:{port}"),
            etcd,
            certificate,
        })
    }
}

impl ApiserverReplica {
    /// The process.
    #[must_use]
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Freezes its connections to etcd: watches stay silent, consistent reads and writes do not respond.
    pub fn freeze_etcd(&self) {
        self.etcd.freeze();
    }

    /// Resumes its connections to etcd.
    pub fn thaw_etcd(&self) {
        self.etcd.thaw();
    }

    /// Replaces its server certificate by one of this authority. It uses the new one shortly afterwards.
    pub fn replace_certificate(&self, authority: &Pki) -> Result<(), Error> {
        let identity = authority.server()?;
        write_private(&self.certificate.key, &identity.key_pem)?;
        write_private(&self.certificate.cert, &identity.cert_pem)
    }
}
