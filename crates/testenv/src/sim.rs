//! The in-memory API server over HTTP.

use apisim::{
    ApiSim, Config,
    faults::{FaultService, Faults, Match},
    request::Verb,
    serve::{Connections, HttpServer},
};
use kube::Client;

use crate::error::Error;

/// The in-memory API server: in process for tests, over HTTP with fault injection for programs.
pub struct SimServer {
    /// Faults for HTTP clients, and a record of their requests.
    pub faults: Faults,
    sim: ApiSim,
    http: HttpServer,
}

impl SimServer {
    /// Starts a server.
    pub async fn start() -> Result<Self, Error> {
        Self::start_with(Config::default()).await
    }

    /// Starts a server with this configuration.
    pub async fn start_with(config: Config) -> Result<Self, Error> {
        let (sim, faults) = (ApiSim::with_config(config), Faults::default());
        let http = HttpServer::start(FaultService::new(sim.clone(), faults.clone())).await;
        let http = http.map_err(Error::system("listen on a loopback port"))?;
        Ok(Self { faults, sim, http })
    }

    /// An in-process client without faults.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.sim.clone(), "default")
    }

    /// The URL for HTTP clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http.address())
    }

    /// The URL as a flag of our binaries.
    #[must_use]
    pub fn flag(&self) -> String {
        format!("--master={}", self.url())
    }

    /// A kubeconfig for the URL.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let url = self.url();
        format!(
            "{{current-context: sim, contexts: [{{name: sim, context: {{cluster: sim}}}}],
               clusters: [{{name: sim, cluster: {{server: '{url}'}}}}]}}"
        )
    }

    /// The connections of HTTP clients, and faults of them.
    #[must_use]
    pub fn connections(&self) -> &Connections {
        self.http.connections()
    }

    /// Compacts the history: a watch from an earlier resource version gets 410 Gone.
    pub fn compact(&self) {
        self.sim.compact();
    }

    /// Number of writes by HTTP clients, including failed ones, without reviews, which store nothing.
    #[must_use]
    pub fn writes(&self) -> usize {
        let reviews = Match::verb(Verb::Create).resource("selfsubjectaccessreviews");
        self.faults.count(&Match::writes()) - self.faults.count(&reviews)
    }

    /// Number of slice writes by HTTP clients, including failed ones.
    #[must_use]
    pub fn slice_writes(&self) -> usize {
        self.faults.count(&Match::writes().resource("endpointslices"))
    }
}
