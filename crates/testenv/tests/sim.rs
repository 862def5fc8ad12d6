//! The API behaviour that the controllers rely on, on the in-memory server.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod api;
mod faults;

use apisim::{
    ApiSim,
    faults::{FaultService, Faults},
};
use faults::{FaultHarness, all_scenarios};

/// The server under test.
struct Server {
    client: kube::Client,
    sim: ApiSim,
}

impl Server {
    fn start() -> Self {
        let sim = ApiSim::new();
        let client = kube::Client::new(sim.clone(), "default");
        Self { client, sim }
    }

    #[expect(clippy::unused_async, reason = "the real server needs a request")]
    async fn compact(&self) {
        self.sim.compact();
    }
}

/// Faults in process, in front of the simulator.
async fn harness(scenario: &str) -> FaultHarness {
    let sim = ApiSim::new();
    let faults = Faults::default();
    let direct = kube::Client::new(sim.clone(), "default");
    FaultHarness {
        faulty: kube::Client::new(FaultService::new(sim, faults.clone()), "default"),
        namespace: faults::namespace(&direct, scenario).await,
        direct,
        faults,
        _server: None,
    }
}

all_scenarios!(harness);
