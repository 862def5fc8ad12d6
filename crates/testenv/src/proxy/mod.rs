//! A fault-injecting proxy in front of the API server, with TLS on both sides.

pub(crate) mod tls;
mod upstream;

use std::io;

use apisim::{
    faults::{FaultService, Faults},
    serve::{Connections, HttpServer},
};
use http::{Method, Uri, uri::PathAndQuery};
use kube::Client;
use tokio_rustls::TlsAcceptor;

use self::upstream::Upstream;
use crate::{
    access::{Credentials, KubeconfigFile, User},
    control_plane::ControlPlane,
    error::Error,
};

/// The HTTP versions of one side of a [`FaultProxy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 only: a fault that closes a connection affects one request.
    #[default]
    Http1,
    /// HTTP/2, and HTTP/1.1 for a peer that does not have it. Requests share connections: a dropped request or response
    /// and a cut stream reset one stream of a connection.
    Http2,
}

impl Protocol {
    /// The protocols offered by ALPN, the preferred one first.
    fn alpn(self) -> &'static [&'static [u8]] {
        match self {
            Self::Http1 => &[b"http/1.1"],
            Self::Http2 => &[b"h2", b"http/1.1"],
        }
    }
}

/// The protocols of a [`FaultProxy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocols {
    /// Between the clients and the proxy.
    pub clients: Protocol,
    /// Between the proxy and the API server.
    pub upstream: Protocol,
}

/// A fault-injecting proxy between clients and the API server of a control plane; stops when dropped.
///
/// Faults of requests and watch streams are rules on [`faults`](Self::faults), which also records every request. Faults of
/// whole connections, and a record of them, are in [`connections`](Self::connections).
pub struct FaultProxy<'a> {
    control_plane: &'a ControlPlane,
    server: HttpServer,
    upstream: Upstream,
    faults: Faults,
}

impl<'a> FaultProxy<'a> {
    /// Starts a proxy without faults, for HTTP/1.1.
    pub async fn start(control_plane: &'a ControlPlane) -> Result<Self, Error> {
        Self::start_with(control_plane, ProxyProtocols::default()).await
    }

    /// Starts a proxy without faults, for these protocols.
    pub async fn start_with(control_plane: &'a ControlPlane, protocols: ProxyProtocols) -> Result<Self, Error> {
        let ca_pem = control_plane.ca_pem();
        let identity = control_plane.pki().server()?;
        let acceptor = TlsAcceptor::from(tls::server(&identity, protocols.clients.alpn()).map_err(proxy_error)?);
        let server: Uri = control_plane.url().parse().map_err(proxy_error)?;
        let server = server
            .authority()
            .ok_or_else(|| proxy_error(format!("no server in {server}")))?
            .clone();
        let anonymous = tls::client(&ca_pem, None).map_err(proxy_error)?;
        let upstream = Upstream::new(server, anonymous, protocols.upstream);
        let faults = Faults::default();
        let service = FaultService::new(upstream.clone(), faults.clone());
        let server = HttpServer::start_with(move |stream| acceptor.accept(stream), service)
            .await
            .map_err(|error: io::Error| proxy_error(error))?;
        Ok(Self {
            control_plane,
            server,
            upstream,
            faults,
        })
    }

    /// The faults, and the recorded requests.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Sends the requests for which this function returns an address there, such as to an
    /// [`ApiserverReplica`](crate::ApiserverReplica), and the others to the API server of the control plane. The function gets
    /// method, path and query. It applies to new requests, and replaces the function of an earlier call.
    pub fn redirect(&self, redirect: impl Fn(&Method, &PathAndQuery) -> Option<Uri> + Send + Sync + 'static) {
        self.upstream.redirect(redirect);
    }

    /// The connections of the clients, and faults of them.
    #[must_use]
    pub fn connections(&self) -> &Connections {
        self.server.connections()
    }

    /// The proxy's address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// A client for a user of the control plane, through the proxy.
    pub fn client_for(&self, user: &User) -> Result<Client, Error> {
        self.control_plane.client_at(&self.with_proxy_token(user)?, &self.url())
    }

    /// A kubeconfig for a user of the control plane, through the proxy.
    pub fn kubeconfig(&self, user: &User) -> Result<KubeconfigFile, Error> {
        self.control_plane
            .kubeconfig_at(&self.with_proxy_token(user)?, &self.url())
    }

    /// Client certificates end at the proxy: the user gets a token that the proxy maps to the certificate.
    fn with_proxy_token(&self, user: &User) -> Result<User, Error> {
        let Credentials::ClientCertificate { cert_pem, key_pem } = user.credentials() else {
            return Ok(user.clone());
        };
        let identity = tls::client(&self.control_plane.ca_pem(), Some((cert_pem, key_pem))).map_err(proxy_error)?;
        let token: String = std::iter::repeat_with(fastrand::alphanumeric).take(32).collect();
        self.upstream.register(token.clone(), identity);
        User::with_token(
            user.name().to_owned(),
            token,
            &self.control_plane.files().fresh_directory()?,
        )
    }
}

pub(crate) fn proxy_error(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Proxy { source: source.into() }
}
