//! Default arguments of etcd and kube-apiserver.

use rcgen::KeyPair;

use crate::access::{text, write_private};
use crate::error::Error;
use crate::files::{Files, ServerFiles};
use crate::pki::PkiError;

pub(super) const SERVICE_ACCOUNT_KEY: &str = "service-account.key";
const SERVICE_ACCOUNT_PUBLIC_KEY: &str = "service-account.pub";

/// Writes the keys with which kube-apiserver signs and verifies tokens.
pub(super) fn write_service_account_key(files: &Files) -> Result<(), Error> {
    let key = KeyPair::generate().map_err(PkiError::from)?;
    write_private(&files.path(SERVICE_ACCOUNT_KEY), &key.serialize_pem())?;
    write_private(&files.path(SERVICE_ACCOUNT_PUBLIC_KEY), &key.public_key_pem())
}

pub(super) fn etcd(files: &Files, server: &ServerFiles, port: u16) -> Vec<String> {
    // The advertised peer address is never used, so no port is opened for it.
    let peer = "http://127.0.0.1:2380";
    vec![
        "--name=testenv".to_owned(),
        format!("--data-dir={}", text(&files.etcd_directory())),
        format!("--listen-client-urls=https://127.0.0.1:{port}"),
        format!("--advertise-client-urls=https://127.0.0.1:{port}"),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=testenv={peer}"),
        // Client certificates are required, so that no kube-apiserver connects to the etcd of another environment that
        // took the port first.
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={}", text(&files.ca_file())),
        format!("--cert-file={}", text(&server.cert)),
        format!("--key-file={}", text(&server.key)),
        // The data outlives the processes, not the machine.
        "--unsafe-no-fsync".to_owned(),
    ]
}

pub(super) fn apiserver(files: &Files, server: &ServerFiles, etcd_port: u16, port: u16) -> Vec<String> {
    let ca = text(&files.ca_file());
    let (cert, key) = (text(&server.cert), text(&server.key));
    vec![
        format!("--etcd-servers=https://127.0.0.1:{etcd_port}"),
        format!("--etcd-cafile={ca}"),
        format!("--etcd-certfile={cert}"),
        format!("--etcd-keyfile={key}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={cert}"),
        format!("--tls-private-key-file={key}"),
        format!("--client-ca-file={ca}"),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://testenv.invalid".to_owned(),
        format!(
            "--service-account-signing-key-file={}",
            text(&files.path(SERVICE_ACCOUNT_KEY))
        ),
        format!(
            "--service-account-key-file={}",
            text(&files.path(SERVICE_ACCOUNT_PUBLIC_KEY))
        ),
        "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/108".to_owned(),
        // Tests see only what they, or the controllers they start, create.
        "--endpoint-reconciler-type=none".to_owned(),
        // The first requires service accounts that a controller creates, the second taints nodes until a controller
        // finds them ready.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned(),
    ]
}
