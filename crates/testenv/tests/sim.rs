//! The API behaviours that the controllers rely on, at the in-memory server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api;
mod faults;

use apisim::{
    ApiSim,
    faults::{FaultService, Faults},
};
use faults::{Way, all_stories};

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

    #[expect(clippy::unused_async, reason = "the other server has to be asked over the network")]
    async fn compact(&self) {
        self.sim.compact();
    }
}

/// The faults in process, right in front of the simulator.
async fn way(story: &str) -> Way {
    let sim = ApiSim::new();
    let faults = Faults::default();
    let sound = kube::Client::new(sim.clone(), "default");
    Way {
        faulty: kube::Client::new(FaultService::new(sim, faults.clone()), "default"),
        namespace: faults::namespace(&sound, story).await,
        sound,
        faults,
        _server: None,
    }
}

all_stories!(way);
