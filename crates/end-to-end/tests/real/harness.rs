//! A control plane with Services of every kind, and a recorder.

use std::time::Duration;

use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Recorder, Window, assert_clean};
use testenv::{
    ControlPlane, ControlPlaneBuilder,
    objects::{api, create, ready_addresses, slices_of},
    until,
};

use crate::{
    accounts::{self, Accounts},
    controllers::OurControllers,
    fixtures,
    sync_counts::total,
};

/// The cluster is quiescent after this long without a slice event.
pub(crate) const IDLE: Duration = Duration::from_secs(3);
const NAMESPACE: &str = "default";

/// A control plane with Services of every kind.
pub(crate) struct Harness {
    /// Before the control plane, whose files are removed when it is dropped.
    pub(crate) accounts: Accounts,
    pub(crate) control_plane: ControlPlane,
    pub(crate) recorder: Recorder,
    pub(crate) client: Client,
    /// Number of Services.
    pub(crate) services: usize,
    /// Number of Endpoints objects.
    pub(crate) endpoints: usize,
}

impl Harness {
    /// Starts a control plane and creates all inputs, without a slice controller.
    pub(crate) async fn new(builder: ControlPlaneBuilder) -> Self {
        let control_plane = accounts::control_plane(builder).start().await.unwrap();
        let client = control_plane.client().unwrap();
        let recorder = Recorder::start(client.clone()).await.unwrap();
        let objects = fixtures::all();
        for object in &objects {
            put(&client, NAMESPACE, object).await;
        }
        let count = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).count();
        Self {
            accounts: Accounts::deploy(&control_plane).await,
            control_plane,
            recorder,
            client,
            // Plus the Service `kubernetes`.
            services: count("Service") + 1,
            endpoints: count("Endpoints"),
        }
    }

    /// Starts both of our controllers with their own accounts.
    pub(crate) async fn start_ours(&self) -> OurControllers {
        self.start_ours_at(self.control_plane.url()).await
    }

    /// Starts both with another address of the API server.
    pub(crate) async fn start_ours_at(&self, url: &str) -> OurControllers {
        let flags = kubeconfig_flags(&self.control_plane, &self.accounts, url);
        OurControllers::start(&[], &[&flags[0]], &[&flags[1]]).await
    }

    /// Waits until the cluster is quiescent and adds a mark with the allowed writes.
    pub(crate) async fn start_phase(&self, next: &str, window: Window) {
        self.recorder.wait_quiescent(IDLE).await.unwrap();
        self.recorder.mark(next, window).await.unwrap();
    }

    /// Number of slice write requests at the API server, including no-op and failed ones.
    pub(crate) async fn slice_writes(&self) -> usize {
        let page = self.control_plane.apiserver().get("/metrics").await.unwrap();
        total(&page, "apiserver_request_total", |labels| {
            let is_write = ["POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"]
                .iter()
                .any(|verb| labels.contains(&format!("verb=\"{verb}\"")));
            is_write && labels.contains("resource=\"endpointslices\"")
        })
    }

    /// Adds a Service with a pod and one with Endpoints, and waits until both are published.
    pub(crate) async fn add_objects(&self, name: &str) {
        for object in fixtures::additional(name) {
            put(&self.client, NAMESPACE, &object).await;
        }
        for service in [name.to_owned(), format!("{name}-mirror")] {
            let is_published = async || {
                let slices = slices_of(&self.client, NAMESPACE, &service).await.unwrap();
                ready_addresses(&slices).is_some_and(|addresses| !addresses.is_empty())
            };
            until(&format!("{service} is published"), is_published).await.unwrap();
        }
    }

    /// Waits until the cluster is quiescent and checks the history.
    pub(crate) async fn assert_clean(&self) {
        self.recorder.wait_quiescent(IDLE).await.unwrap();
        let history = self.recorder.history().unwrap();
        println!(
            "{}",
            assert_clean(&history, &CheckConfig::default(), env!("CARGO_TARGET_TMPDIR"))
        );
    }
}

/// Starts both of our controllers with their own accounts.
pub(crate) async fn start_deployed(control_plane: &ControlPlane, accounts: &Accounts) -> OurControllers {
    let flags = kubeconfig_flags(control_plane, accounts, control_plane.url());
    OurControllers::start(&[], &[&flags[0]], &[&flags[1]]).await
}

/// The same, with the permissions and flags of `cargo xtask deploy --shadow`.
pub(crate) async fn start_shadow(control_plane: &ControlPlane, accounts: &Accounts) -> OurControllers {
    grant(control_plane, accounts, true).await;
    let flags = kubeconfig_flags(control_plane, accounts, control_plane.url());
    OurControllers::start(&["--dry-run=true", "--leader-elect=false"], &[&flags[0]], &[&flags[1]]).await
}

/// Replaces the permissions of both controllers: by those of a shadow, or by those that they had before.
pub(crate) async fn grant(control_plane: &ControlPlane, accounts: &Accounts, shadow: bool) {
    accounts::apply_all(control_plane, shadow).await;
    accounts.wait_until_granted(control_plane, shadow).await;
}

/// The `--kubeconfig` flags of both controllers.
pub(crate) fn kubeconfig_flags(control_plane: &ControlPlane, accounts: &Accounts, url: &str) -> [String; 2] {
    accounts.users.each_ref().map(|account| {
        let kubeconfig = control_plane.kubeconfig_at(account, url).unwrap();
        format!("--kubeconfig={}", kubeconfig.path.display())
    })
}

/// Creates an object with its status.
pub(crate) async fn put(client: &Client, namespace: &str, object: &Value) {
    let api = api(client, namespace, object["kind"].as_str().unwrap()).unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    create(&api, object.clone()).await.unwrap();
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }
    if fixtures::is_to_terminate(object) {
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }
}
