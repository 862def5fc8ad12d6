//! TLS configuration of both sides of the proxy.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};

use crate::pki::Identity;

/// A certificate or key is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("cannot read a certificate or a key")]
    Pem(#[from] pem::Error),
    #[error("cannot use a certificate or a key")]
    Rejected(#[from] rustls::Error),
}

/// The side of the clients, which offers these protocols by ALPN.
pub(crate) fn server(identity: &Identity, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates(&identity.cert_pem)?, key(&identity.key_pem)?)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The side of the API server, with the user's certificate and key if there are any.
pub(super) fn client(ca_pem: &str, identity: Option<(&str, &str)>) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca_pem)? {
        roots.add(certificate)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(match identity {
        Some((cert_pem, key_pem)) => config.with_client_auth_cert(certificates(cert_pem)?, key(key_pem)?)?,
        None => config.with_no_client_auth(),
    })
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    Ok(CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>()?)
}

fn key(pem: &str) -> Result<PrivateKeyDer<'static>, TlsError> {
    Ok(PrivateKeyDer::from_pem_slice(pem.as_bytes())?)
}
