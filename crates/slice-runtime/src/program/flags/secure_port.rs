//! The flags of the secure port, with the names of kube-controller-manager.

use std::net::IpAddr;

use clap::Args;
use k8s_openapi::api::authorization::v1::ResourceAttributes;

use crate::{
    program::{ConfigErrors, server::tls::CertificateFiles},
    rbac::secure_port_access,
};

/// The flags of the secure port.
#[derive(Clone, Debug, Args)]
pub(in crate::program) struct SecurePortArgs {
    /// IP address of the secure port. 0.0.0.0 or :: means all interfaces, IPv4 and IPv6
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(in crate::program) bind_address: IpAddr,
    /// Port of the HTTPS endpoints /metrics, /healthz, /livez, /readyz and /debug/state, with authentication and authorization
    /// (0 = not served)
    #[arg(long, value_name = "PORT", required = false)]
    pub(in crate::program) secure_port: u16,
    /// Certificate of the secure port, with its chain, as PEM. Read again when it changes. Without it: a self-signed certificate in
    /// memory, which clients cannot verify
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    tls_cert_file: String,
    /// Private key of --tls-cert-file, as PEM
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    tls_private_key_file: String,
    /// Path to a kubeconfig for the token reviews that authenticate clients of the secure port. Without it, the program's own
    /// client configuration is used
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub(in crate::program) authentication_kubeconfig: String,
    /// Path to a kubeconfig for the subject access reviews that authorize clients of the secure port. Without it, the program's
    /// own client configuration is used
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub(in crate::program) authorization_kubeconfig: String,
    /// Paths of the secure port that need neither authentication nor authorization; a path that ends with * stands for all that
    /// begin so
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez"
    )]
    pub(in crate::program) authorization_always_allow_paths: Vec<String>,
}

impl SecurePortArgs {
    /// The files of the certificate; none for a self-signed one.
    pub(in crate::program) fn certificate_files(&self) -> Option<CertificateFiles> {
        let files = CertificateFiles {
            certificate: (&self.tls_cert_file).into(),
            key: (&self.tls_private_key_file).into(),
        };
        (!self.tls_cert_file.is_empty()).then_some(files)
    }

    /// The permissions that the program itself needs for the secure port.
    pub(in crate::program) fn required_access(&self) -> Vec<ResourceAttributes> {
        if self.secure_port == 0 {
            return Vec::new();
        }
        secure_port_access(
            self.authentication_kubeconfig.is_empty(),
            self.authorization_kubeconfig.is_empty(),
        )
    }

    pub(super) fn check(&self, errors: &mut ConfigErrors) {
        if self.tls_cert_file.is_empty() != self.tls_private_key_file.is_empty() {
            errors.add(&"tls-cert-file and tls-private-key-file must be given together");
        }
    }
}
