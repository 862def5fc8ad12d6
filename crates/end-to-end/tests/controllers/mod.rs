//! Both of our controllers as processes.

use std::{path::PathBuf, sync::LazyLock};

use testenv::{CONTROLLERS, ControllerProcess};

/// Paths of the binaries; built once for all tests.
static BINARIES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| testenv::build(&CONTROLLERS).unwrap());

/// Both of our controllers, running.
pub(crate) struct OurControllers {
    pub(crate) services: ControllerProcess,
    pub(crate) mirroring: ControllerProcess,
}

impl OurControllers {
    /// Starts both, with common and own arguments, and waits until their initial lists are complete.
    pub(crate) async fn start(both: &[&str], services: &[&str], mirroring: &[&str]) -> Self {
        let programs = tokio::task::spawn_blocking(|| LazyLock::force(&BINARIES))
            .await
            .unwrap();
        let ours = Self {
            services: ControllerProcess::start(&programs[0], &[both, services].concat())
                .await
                .unwrap(),
            mirroring: ControllerProcess::start(&programs[1], &[both, mirroring].concat())
                .await
                .unwrap(),
        };
        ours.services.wait_ready().await.unwrap();
        ours.mirroring.wait_ready().await.unwrap();
        ours
    }

    /// Stops both.
    pub(crate) async fn stop(self) {
        self.services.stop().await.unwrap();
        self.mirroring.stop().await.unwrap();
    }
}
