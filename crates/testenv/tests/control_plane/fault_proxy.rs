//! The fault scenarios through the proxy, on a real kube-apiserver.

use testenv::{ControlPlane, FaultProxy};
use tokio::sync::OnceCell;

use crate::faults::{FaultHarness, all_scenarios};

/// Shared by all scenarios; killed with the test process.
static CONTROL_PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

async fn harness(scenario: &str) -> FaultHarness {
    let control_plane = CONTROL_PLANE
        .get_or_init(async || ControlPlane::start().await.unwrap())
        .await;
    let proxy = FaultProxy::start(control_plane).await.unwrap();
    let direct = control_plane.client().unwrap();
    FaultHarness {
        faulty: proxy.client_for(control_plane.admin()).unwrap(),
        namespace: crate::faults::namespace(&direct, scenario).await,
        direct,
        faults: proxy.faults().clone(),
        _server: Some(Box::new(proxy)),
    }
}

all_scenarios!(harness);
