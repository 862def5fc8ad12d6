//! Both of our programs, running together.

use std::{path::PathBuf, sync::LazyLock};

use testenv::{CONTROLLERS, Program};

/// Where they are; built once for all tests.
static BUILT: LazyLock<Vec<PathBuf>> = LazyLock::new(|| testenv::build(&CONTROLLERS).unwrap());

/// Both of our programs, running.
pub(crate) struct Ours {
    pub(crate) services: Program,
    pub(crate) mirroring: Program,
}

impl Ours {
    /// Starts both, each with these arguments, and waits until they know the cluster.
    pub(crate) async fn start(both: &[&str], services: &[&str], mirroring: &[&str]) -> Self {
        let programs = tokio::task::spawn_blocking(|| LazyLock::force(&BUILT)).await.unwrap();
        let ours = Self {
            services: Program::start(&programs[0], &[both, services].concat()).await.unwrap(),
            mirroring: Program::start(&programs[1], &[both, mirroring].concat()).await.unwrap(),
        };
        ours.services.ready().await.unwrap();
        ours.mirroring.ready().await.unwrap();
        ours
    }

    /// Stops both.
    pub(crate) async fn stop(self) {
        self.services.stop().await.unwrap();
        self.mirroring.stop().await.unwrap();
    }
}
