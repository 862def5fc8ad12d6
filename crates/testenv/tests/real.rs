//! The API behaviours that the controllers rely on, at a real kube-apiserver, and random requests at both servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api;
mod random;

use std::sync::LazyLock;

use testenv::ControlPlane;
use tokio::runtime::Runtime;

/// One for all tests: each has a namespace of its own. The runtime is kept because it drives the servers' tasks.
static CONTROL_PLANE: LazyLock<(Runtime, ControlPlane)> = LazyLock::new(|| {
    // A test blocks here, and from within its own runtime no other can be entered.
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
