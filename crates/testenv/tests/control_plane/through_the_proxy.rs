//! The faults of the proxy, in front of a real kube-apiserver.

use testenv::{ControlPlane, FaultProxy};
use tokio::sync::OnceCell;

use crate::faults::{Way, all_stories};

/// One for all stories: it ends with the test process.
static CONTROL_PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

async fn way(story: &str) -> Way {
    let control_plane = CONTROL_PLANE
        .get_or_init(async || ControlPlane::start().await.unwrap())
        .await;
    let proxy = FaultProxy::start(control_plane).await.unwrap();
    let sound = control_plane.client().unwrap();
    Way {
        faulty: proxy.client_for(control_plane.admin()).unwrap(),
        namespace: crate::faults::namespace(&sound, story).await,
        sound,
        faults: proxy.faults().clone(),
        _server: Some(Box::new(proxy)),
    }
}

all_stories!(way);
