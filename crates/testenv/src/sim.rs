//! The in-memory API server, as a program reaches it.

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match},
    serve::HttpServer,
};
use kube::Client;

use crate::error::Error;

/// The in-memory API server: for tests in process, for programs over HTTP, where things can go wrong.
pub struct SimServer {
    /// What goes wrong on the way of programs, and what they asked for.
    pub faults: Faults,
    sim: ApiSim,
    http: HttpServer,
}

impl SimServer {
    /// Starts one.
    pub async fn start() -> Result<Self, Error> {
        let (sim, faults) = (ApiSim::new(), Faults::default());
        let http = HttpServer::start(FaultService::new(sim.clone(), faults.clone())).await;
        let http = http.map_err(Error::system("listen on a loopback port"))?;
        Ok(Self { faults, sim, http })
    }

    /// A client on which nothing goes wrong.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.sim.clone(), "default")
    }

    /// Where programs find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http.address())
    }

    /// The same, as a flag of our own programs.
    #[must_use]
    pub fn flag(&self) -> String {
        format!("--master={}", self.url())
    }

    /// The same, as a kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let url = self.url();
        format!(
            "{{current-context: sim, contexts: [{{name: sim, context: {{cluster: sim}}}}],
               clusters: [{{name: sim, cluster: {{server: '{url}'}}}}]}}"
        )
    }

    /// Forgets the history: who wants to go on from an earlier version has to list anew.
    pub fn compact(&self) {
        self.sim.compact();
    }

    /// How often programs have written slices, or tried.
    #[must_use]
    pub fn slice_writes(&self) -> usize {
        self.faults.count(&Match::writes().resource("endpointslices"))
    }
}
