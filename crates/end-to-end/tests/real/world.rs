//! A control plane with everything in it that slices are made from, and a record of what becomes of them.

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

use crate::{kinds, looks::total};

/// Rest is no event of a slice for this long.
pub(crate) const QUIET: Duration = Duration::from_secs(3);
const NAMESPACE: &str = "default";

/// A control plane with Services of every kind.
pub(crate) struct World {
    pub(crate) control_plane: ControlPlane,
    pub(crate) recorder: Recorder,
    pub(crate) client: Client,
    /// How many Services there are.
    pub(crate) services: usize,
    /// How many Endpoints objects there are.
    pub(crate) endpoints: usize,
}

impl World {
    /// A control plane with all of it, and nobody who makes slices.
    pub(crate) async fn new(builder: ControlPlaneBuilder) -> Self {
        let control_plane = builder.start().await.unwrap();
        let client = control_plane.client().unwrap();
        let recorder = Recorder::start(client.clone()).await.unwrap();
        let objects = kinds::all();
        for object in &objects {
            put(&client, NAMESPACE, object).await;
        }
        let count = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).count();
        Self {
            control_plane,
            recorder,
            client,
            // And the one that is there from the start.
            services: count("Service") + 1,
            endpoints: count("Endpoints"),
        }
    }

    /// The flag by which our programs find the API server.
    pub(crate) fn flag(&self) -> String {
        kubeconfig_flag(&self.control_plane)
    }

    /// Waits for rest, and says what may be written from now on.
    pub(crate) async fn rest(&self, next: &str, window: Window) {
        self.recorder.wait_quiescent(QUIET).await.unwrap();
        self.recorder.mark(next, window).await.unwrap();
    }

    /// How often the API server was asked to write a slice, also those times when nothing came of it.
    pub(crate) async fn slice_writes(&self) -> usize {
        let page = self.control_plane.apiserver().page("/metrics").await.unwrap();
        total(&page, "apiserver_request_total", |labels| {
            let is_write = ["POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"]
                .iter()
                .any(|verb| labels.contains(&format!("verb=\"{verb}\"")));
            is_write && labels.contains("resource=\"endpointslices\"")
        })
    }

    /// Adds one object of every kind, whose names begin so, and waits until they are published.
    pub(crate) async fn something_new(&self, name: &str) {
        for object in kinds::one_more(name) {
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

    /// Waits for the last rest, and judges everything.
    pub(crate) async fn judge(&self) {
        self.recorder.wait_quiescent(QUIET).await.unwrap();
        let history = self.recorder.history().unwrap();
        println!(
            "{}",
            assert_clean(&history, &CheckConfig::default(), env!("CARGO_TARGET_TMPDIR"))
        );
    }
}

/// The flag by which our programs find an API server, as somebody who may do everything.
pub(crate) fn kubeconfig_flag(control_plane: &ControlPlane) -> String {
    let kubeconfig = control_plane.kubeconfig(control_plane.admin()).unwrap();
    format!("--kubeconfig={}", kubeconfig.path.display())
}

/// Makes an object with its status.
pub(crate) async fn put(client: &Client, namespace: &str, object: &Value) {
    let api = api(client, namespace, object["kind"].as_str().unwrap()).unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    create(&api, object.clone()).await.unwrap();
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }
    if kinds::is_to_terminate(object) {
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }
}
