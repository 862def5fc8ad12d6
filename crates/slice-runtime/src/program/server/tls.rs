//! The serving certificate: from files, which are read again when they change, or self-signed.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer,
        pem::{self, PemObject as _},
    },
};
use slice_controller::ErrorChain;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::{escape::Escaped, failure_log::FailureLog, file_hashes::FileHashes};

/// How often the files are read.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// The protocols that are offered by ALPN.
pub(super) const HTTP2: &[u8] = b"h2";
const PROTOCOLS: [&[u8]; 2] = [HTTP2, b"http/1.1"];

/// Why there is no serving certificate.
#[derive(Debug, thiserror::Error)]
pub(in crate::program) enum TlsError {
    #[error("cannot read the certificate {}", .file.display())]
    Certificate {
        file: PathBuf,
        #[source]
        error: pem::Error,
    },
    #[error("cannot read the private key {}", .file.display())]
    Key {
        file: PathBuf,
        #[source]
        error: pem::Error,
    },
    #[error("the certificate or its private key cannot be used")]
    Rejected(#[from] rustls::Error),
    #[error("cannot create a self-signed certificate")]
    SelfSigned(#[from] rcgen::Error),
}

/// The files of a certificate with its chain, and of its private key, as PEM.
#[derive(Clone, Debug)]
pub(in crate::program) struct CertificateFiles {
    pub(in crate::program) certificate: PathBuf,
    pub(in crate::program) key: PathBuf,
}

/// The TLS configuration of new connections. Clones share it.
#[derive(Clone)]
pub(in crate::program) struct ServingTls(Arc<Mutex<Arc<ServerConfig>>>);

impl ServingTls {
    /// With a certificate for this machine, which exists in memory only. Clients cannot verify it.
    pub(in crate::program) fn self_signed(common_name: &str) -> Result<Self, TlsError> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Ok(Self::new(server_config(vec![certificate], key)?))
    }

    /// With the certificate of these files. A task reads them again when they change.
    pub(in crate::program) fn reloading(files: CertificateFiles) -> Result<Self, TlsError> {
        // Before they are used: a change in between is detected the next time.
        let hashes = files.hash();
        let tls = Self::new(files.load()?);
        tokio::spawn(reload(tls.clone(), files, hashes));
        Ok(tls)
    }

    fn new(config: ServerConfig) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(config))))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&config).into()
    }

    fn replace(&self, config: ServerConfig) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}

impl CertificateFiles {
    fn hash(&self) -> FileHashes {
        FileHashes::read(vec![self.certificate.clone(), self.key.clone()])
    }

    fn load(&self) -> Result<ServerConfig, TlsError> {
        let in_file = |file: &Path| {
            let file = file.to_owned();
            |error| TlsError::Certificate { file, error }
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&self.certificate)
            .map_err(in_file(&self.certificate))?
            .collect();
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| TlsError::Key {
            file: self.key.clone(),
            error,
        })?;
        server_config(chain.map_err(in_file(&self.certificate))?, key)
    }
}

fn server_config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<ServerConfig, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

/// Replaces the certificate when its files change. Files that do not fit together, for example because only one of them has been
/// replaced yet, are read again the next time.
async fn reload(tls: ServingTls, files: CertificateFiles, mut hashes: FileHashes) {
    let mut log = FailureLog::default();
    loop {
        tokio::time::sleep(RELOAD_INTERVAL).await;
        if !hashes.changed() {
            continue;
        }
        let read = files.hash();
        match files.load() {
            Ok(config) => {
                tls.replace(config);
                hashes = read;
                log.reset();
                tracing::info!("the certificate of the secure port has changed, using the new one");
            }
            Err(error) => {
                let error = Escaped(ErrorChain(&error)).to_string();
                if log.record(&error, Instant::now().into_std()).is_some() {
                    tracing::warn!(
                        error,
                        "the certificate of the secure port has changed, keeping the one in use"
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::generate_simple_self_signed;

    use super::*;

    /// The current TLS configuration, to be compared by identity.
    fn current(tls: &ServingTls) -> Arc<ServerConfig> {
        Arc::clone(tls.acceptor().config())
    }

    fn write(files: &CertificateFiles, certificate: bool, key: bool) {
        let identity = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        if certificate {
            fs::write(&files.certificate, identity.cert.pem()).unwrap();
        }
        if key {
            fs::write(&files.key, identity.signing_key.serialize_pem()).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changed_files_are_used_once_they_fit_together() {
        let directory = tempfile::tempdir().unwrap();
        let files = CertificateFiles {
            certificate: directory.path().join("tls.crt"),
            key: directory.path().join("tls.key"),
        };
        assert!(matches!(
            ServingTls::reloading(files.clone()),
            Err(TlsError::Certificate { .. })
        ));
        write(&files, true, false);
        assert!(matches!(
            ServingTls::reloading(files.clone()),
            Err(TlsError::Key { .. })
        ));
        write(&files, false, true);
        assert!(matches!(
            ServingTls::reloading(files.clone()),
            Err(TlsError::Rejected(_))
        ));
        write(&files, true, true);
        let tls = ServingTls::reloading(files.clone()).unwrap();
        let first = current(&tls);
        tokio::time::sleep(RELOAD_INTERVAL * 3).await;
        assert!(Arc::ptr_eq(&current(&tls), &first), "replaced without a change");
        write(&files, true, false);
        tokio::time::sleep(RELOAD_INTERVAL * 3).await;
        assert!(
            Arc::ptr_eq(&current(&tls), &first),
            "replaced by a certificate without its key"
        );
        fs::remove_file(&files.key).unwrap();
        tokio::time::sleep(RELOAD_INTERVAL * 3).await;
        write(&files, true, true);
        tokio::time::sleep(RELOAD_INTERVAL * 3).await;
        assert!(!Arc::ptr_eq(&current(&tls), &first), "not replaced");
    }

    #[test]
    fn a_self_signed_certificate_offers_both_protocols() {
        let tls = ServingTls::self_signed("a-program").unwrap();
        assert_eq!(current(&tls).alpn_protocols, PROTOCOLS);
    }
}
