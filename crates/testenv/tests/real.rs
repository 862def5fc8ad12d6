//! The API behaviour that the controllers rely on, on a real kube-apiserver; random requests to both servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod api;
mod random;

use std::sync::LazyLock;

use testenv::ControlPlane;
use tokio::runtime::Runtime;

/// Shared by all tests; each has its own namespace. The runtime drives the tasks of the control plane.
static CONTROL_PLANE: LazyLock<(Runtime, ControlPlane)> = LazyLock::new(|| {
    // On a thread of its own: a runtime cannot be entered from within another one.
    let start = || {
        let runtime = Runtime::new().unwrap();
        let control_plane = runtime.block_on(ControlPlane::start()).unwrap();
        (runtime, control_plane)
    };
    std::thread::spawn(start).join().unwrap()
});

/// The server under test.
struct Server {
    client: kube::Client,
}

impl Server {
    fn start() -> Self {
        let client = CONTROL_PLANE.1.client().unwrap();
        Self { client }
    }

    async fn compact(&self) {
        CONTROL_PLANE.1.compact_etcd().await.unwrap();
    }
}
