//! The HTTP stack below a client: TCP and TLS options, HTTP/2 with pings, the connection pool, authorization.

use std::time::Duration;

use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Config,
    client::{
        Body, ConfigExt as _, RustlsTlsError,
        middleware::{AuthLayer, BaseUriLayer, ExtraHeadersLayer},
    },
};
use tower::{BoxError, Layer as _, ServiceExt as _};

/// Options of connections. Tests use shorter times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionOptions {
    /// Whether HTTP/2 is offered to the server. HTTP/1.1 always is.
    pub(crate) http2: bool,
    /// The time without data after which a ping is sent. Without HTTP/2: after which TCP sends a keep-alive probe.
    pub(crate) ping_interval: Duration,
    /// The time to respond to a ping. Without HTTP/2: to acknowledge data.
    pub(crate) ping_timeout: Duration,
    /// How often the files of certificates and keys are read.
    pub(crate) reload_interval: Duration,
    /// How long every response must have been 401 Unauthorized before the configuration is loaded again.
    pub(crate) unauthorized_for: Duration,
}

impl Default for ConnectionOptions {
    /// A broken connection is detected within 12 s (F9).
    fn default() -> Self {
        Self {
            http2: true,
            ping_interval: Duration::from_secs(8),
            ping_timeout: Duration::from_secs(4),
            reload_interval: Duration::from_secs(30),
            unauthorized_for: Duration::from_secs(10),
        }
    }
}

/// The time for one address of the server to accept a TCP connection, if its name has several.
const TCP_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time to connect, with all addresses and TLS. Below the timeout of a request, so that an error names the cause.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// TCP keep-alive probes without a response until the connection counts as broken.
const TCP_PROBES: u32 = 2;
/// Unused connections that are kept. More are used only with HTTP/1.1, which needs one per request in flight.
const MAX_IDLE: usize = 16;
/// Shorter than the 90 s after which an API server closes an unused connection, so that no request is sent meanwhile.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than a watch: an HTTP/2 connection counts as unused from its last new request on, even if streams are open.
const WATCH_IDLE_TIMEOUT: Duration = Duration::from_secs(900);
/// Bytes that the server may send on a stream before they are read. With less, the initial lists take longer.
const STREAM_WINDOW: u32 = 4 << 20;
/// The same for all streams of a connection. It suffices for eight, so that one stream that is not read delays no other.
const CONNECTION_WINDOW: u32 = 32 << 20;

/// What requests are for. Each purpose has its own connections, since the streams of an HTTP/2 connection share a window and a
/// limit of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Lists and watches.
    Watch,
    /// Writes of slices and events.
    Write,
    /// Requests that must not wait for the others: about the lease of leader election, and reviews of permissions.
    Control,
    /// A list that confirms another one. Each request has a new connection, which may lead to another API server.
    Confirm,
}

/// One client per purpose.
#[derive(Clone)]
pub(super) struct Clients {
    watch: kube::Client,
    write: kube::Client,
    control: kube::Client,
    confirm: kube::Client,
}

impl Clients {
    /// One client for all purposes.
    pub(super) fn same(client: &kube::Client) -> Self {
        Self {
            watch: client.clone(),
            write: client.clone(),
            control: client.clone(),
            confirm: client.clone(),
        }
    }

    pub(super) fn get(&self, purpose: Purpose) -> &kube::Client {
        match purpose {
            Purpose::Watch => &self.watch,
            Purpose::Write => &self.write,
            Purpose::Control => &self.control,
            Purpose::Confirm => &self.confirm,
        }
    }
}

/// Builds clients, each with connections of its own.
pub(super) struct Stack {
    connector: TimeoutConnector<HttpsConnector<HttpConnector>>,
    base_uri: BaseUriLayer,
    auth: Option<AuthLayer>,
    headers: ExtraHeadersLayer,
    namespace: String,
    options: ConnectionOptions,
}

impl Stack {
    /// Reads certificates, keys and credentials. It may block: credentials may come from another program.
    pub(super) fn new(config: &Config, options: ConnectionOptions) -> Result<Self, kube::Error> {
        let mut connector = TimeoutConnector::new(https(config, options)?);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Ok(Self {
            connector,
            base_uri: config.base_uri_layer(),
            auth: config.auth_layer()?,
            headers: config.extra_headers_layer()?,
            namespace: config.default_namespace.clone(),
            options,
        })
    }

    /// Clients without any connection yet.
    pub(super) fn clients(&self) -> Clients {
        Clients {
            watch: self.client(WATCH_IDLE_TIMEOUT, MAX_IDLE),
            write: self.client(IDLE_TIMEOUT, MAX_IDLE),
            control: self.client(IDLE_TIMEOUT, MAX_IDLE),
            confirm: self.client(IDLE_TIMEOUT, 0),
        }
    }

    fn client(&self, idle_timeout: Duration, max_idle: usize) -> kube::Client {
        let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(idle_timeout)
            .pool_max_idle_per_host(max_idle)
            .http2_keep_alive_interval(self.options.ping_interval)
            .http2_keep_alive_timeout(self.options.ping_timeout)
            .http2_keep_alive_while_idle(true)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .build(self.connector.clone());
        let http = self.headers.layer(http.map_err(BoxError::from));
        match &self.auth {
            Some(auth) => kube::Client::new(self.base_uri.layer(auth.layer(http)), &*self.namespace),
            None => kube::Client::new(self.base_uri.layer(http), &*self.namespace),
        }
    }
}

/// As kube's connector, which speaks HTTP/1.1 only: the protocol is negotiated by ALPN.
fn https(config: &Config, options: ConnectionOptions) -> Result<HttpsConnector<HttpConnector>, kube::Error> {
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config()?)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().map_err(RustlsTlsError::InvalidServerName);
        builder =
            builder.with_server_name_resolver(FixedServerNameResolver::new(name.map_err(kube::Error::RustlsTls)?));
    }
    Ok(if options.http2 {
        builder.enable_all_versions().wrap_connector(tcp(options))
    } else {
        builder.enable_http1().wrap_connector(tcp(options))
    })
}

/// TCP detects a peer that is gone, also without HTTP/2. It does not detect one that is stopped: its kernel still responds.
fn tcp(options: ConnectionOptions) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(TCP_CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(options.ping_interval));
    tcp.set_keepalive_interval(Some(options.ping_timeout / TCP_PROBES));
    tcp.set_keepalive_retries(Some(TCP_PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(options.ping_interval + options.ping_timeout));
    tcp
}
