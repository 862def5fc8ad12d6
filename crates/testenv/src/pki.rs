//! The certificate authority of an environment.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// A certificate or key could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a certificate")]
pub struct PkiError(#[from] rcgen::Error);

/// A certificate with its private key, both as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub cert_pem: String,
    /// The private key.
    pub key_pem: String,
}

/// Signs the certificates of servers and users of one environment.
pub struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Pki {
    /// A new authority.
    pub fn new() -> Result<Self, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "testenv authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { authority })
    }

    /// The CA certificate, which clients trust.
    #[must_use]
    pub fn ca_pem(&self) -> String {
        self.authority.pem()
    }

    pub(crate) fn ca_der(&self) -> Vec<u8> {
        self.authority.der().to_vec()
    }

    /// A certificate for a server on the loopback interface.
    pub fn server(&self) -> Result<Identity, PkiError> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "localhost");
        // etcd's gateway is a client of etcd, with the server's certificate.
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// A client certificate of a user, optionally in a group.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity, PkiError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority)?;
        Ok(Identity {
            cert_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}
