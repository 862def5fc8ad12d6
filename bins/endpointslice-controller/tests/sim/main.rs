//! The program on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod obstacles;
mod pages;
mod rights;
mod scope;
mod signals;
#[path = "../stories/mod.rs"]
mod stories;

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match},
    serve::HttpServer,
};
use kube::Client;

use stories::{cluster::Cluster, smoke};

/// An API server: for us in process, for the program over HTTP, where things can go wrong.
struct Server {
    sim: ApiSim,
    faults: Faults,
    http: HttpServer,
}

impl Server {
    async fn start() -> Self {
        let sim = ApiSim::new();
        let faults = Faults::default();
        let http = HttpServer::start(FaultService::new(sim.clone(), faults.clone()))
            .await
            .unwrap();
        Self { sim, faults, http }
    }

    /// The flag that says where it is.
    fn flag(&self) -> String {
        format!("--master=http://{}", self.http.address())
    }

    async fn cluster(&self) -> Cluster {
        Cluster::new(Client::new(self.sim.clone(), "default"), "shop").await
    }

    /// How often the program has written slices.
    fn slice_writes(&self) -> usize {
        self.faults.count(&Match::writes().resource("endpointslices"))
    }
}

#[tokio::test]
async fn slices_follow_pods_and_a_restart_writes_nothing() {
    let server = Server::start().await;
    smoke(&server.cluster().await, &[&server.flag()]).await;
    // The program has no business with anything else.
    let all = server.faults.count(&Match::writes());
    assert_eq!(server.slice_writes(), all);
}
