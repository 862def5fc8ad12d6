//! A client of the secure port of a controller, and what its tests need besides.

use http::{HeaderValue, Request, header::AUTHORIZATION};
use kube::{Client, Config, client::Body};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use crate::{component, error::Error, ports};

/// A client of the secure port of a controller. It keeps connections open for further requests.
pub struct SecureClient {
    client: Client,
}

impl SecureClient {
    /// A client that trusts this authority (any certificate if none), with this bearer token.
    ///
    /// # Panics
    /// If the authority is no PEM certificate, or the token no header value.
    pub fn new(port: u16, ca_pem: Option<&str>, token: Option<&str>) -> Result<Self, Error> {
        let url = format!("https://127.0.0.1:{port}");
        let mut config = Config::new(url.parse().expect("a port makes a valid URL"));
        config.accept_invalid_certs = ca_pem.is_none();
        config.root_cert = ca_pem.map(|pem| {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).expect("tests use valid authorities");
            vec![certificate.to_vec()]
        });
        config.headers.extend(token.map(|token| {
            let value = HeaderValue::try_from(format!("Bearer {token}")).expect("tests use valid tokens");
            (AUTHORIZATION, value)
        }));
        let client = component::client(&config)?;
        Ok(Self { client })
    }

    /// Sends a GET request; returns status code and body.
    pub async fn get(&self, path: &str) -> Result<(u16, String), Error> {
        self.get_with_header(path, String::new()).await
    }

    /// Sends a GET request with a header of this value.
    ///
    /// # Panics
    /// If the path or the value is invalid.
    pub async fn get_with_header(&self, path: &str, value: String) -> Result<(u16, String), Error> {
        let request = Request::get(path).header("x-test", value).body(Body::empty());
        let request = request.expect("tests use valid requests");
        let action = || format!("get {path}");
        let response = self.client.send(request).await.map_err(Error::request(action()))?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await.map_err(Error::request(action()))?;
        Ok((head.status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }
}

/// A port of the loopback interface that is free at the moment.
pub fn free_port() -> Result<u16, Error> {
    ports::free().map_err(Error::system("find a free port"))
}

/// Raises the limit of open files of this process to its maximum, for tests with many connections.
pub fn raise_open_files_limit() -> Result<(), Error> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit);
    raised.map_err(|error| Error::system("raise the limit of open files")(error.into()))
}
