//! A shadow beside controllers of kube-controller-manager that leave other slices than ours would.

use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use slice_oracle::Recorder;
use testenv::{
    CONTROLLERS, ControlPlane,
    objects::{api, ready_addresses, slices_of},
};

use crate::{
    accounts::{self, Accounts},
    fixtures::{node, pod},
    harness::{IDLE, put, start_shadow},
    takeover::FAST,
};

const NAMESPACE: &str = "default";
/// Services whose slices will differ: with a selector, and without.
const CHANGED: &str = "changed";
const MISSING: &str = "missing";
const MIRRORED: &str = "mirrored";

async fn create_inputs(client: &Client) {
    let ports = json!([{"port": 80}]);
    let service = |name: &str, spec: Value| json!({"kind": "Service", "metadata": {"name": name}, "spec": spec});
    let selecting = |name| service(name, json!({"selector": {"app": "web"}, "ports": ports}));
    put(client, "", &node("zone-b")).await;
    for object in [
        pod("web", 1),
        selecting("same"),
        selecting(CHANGED),
        selecting(MISSING),
        service(MIRRORED, json!({"ports": ports})),
        json!({
            "kind": "Endpoints", "metadata": {"name": MIRRORED},
            "subsets": [{"addresses": [{"ip": "10.2.0.1"}], "ports": ports}],
        }),
    ] {
        put(client, NAMESPACE, &object).await;
    }
}

/// The name of the only slice of a Service.
async fn slice_of(client: &Client, service: &str) -> String {
    let slices = slices_of(client, NAMESPACE, service).await.unwrap();
    let [slice] = &slices[..] else {
        panic!("not one slice of {service}: {slices:?}");
    };
    slice.metadata.name.clone().unwrap()
}

#[tokio::test]
async fn a_difference_from_the_built_in_controllers_is_reported_until_they_write() {
    let builder = accounts::control_plane(ControlPlane::builder());
    let control_plane = builder.start().await.unwrap();
    let accounts = Accounts::deploy(&control_plane).await;
    let client = control_plane.client().unwrap();
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let built_in = control_plane.controller_manager(&CONTROLLERS, &FAST).await.unwrap();
    create_inputs(&client).await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    // They no longer repair slices.
    built_in.stop().await.unwrap();
    let slices = api(&client, NAMESPACE, "EndpointSlice").unwrap();
    let missing = slice_of(&client, MISSING).await;
    slices.delete(&missing, &DeleteParams::default()).await.unwrap();
    for service in [CHANGED, MIRRORED] {
        let patch = Patch::Merge(json!({"endpoints": []}));
        let name = slice_of(&client, service).await;
        slices.patch(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    let shadow = start_shadow(&control_plane, &accounts).await;
    let services = (&shadow.services, "endpoint_slice_controller", 2);
    let mirroring = (&shadow.mirroring, "endpoint_slice_mirroring_controller", 1);
    for (controller, prefix, count) in [services, mirroring] {
        let metric = format!("\n{prefix}_dry_run_differences {count}\n");
        controller.wait_for_page("/metrics", &metric).await.unwrap();
        let output = controller.process.output();
        let logged = output.lines().filter(|line| line.contains("dry run: difference:"));
        assert_eq!(logged.count(), count, "{output}");
    }
    assert!(slices_of(&client, NAMESPACE, MISSING).await.unwrap().is_empty());

    built_in.start().await.unwrap();
    for (controller, prefix, _) in [services, mirroring] {
        let metric = format!("\n{prefix}_dry_run_differences 0\n");
        controller.wait_for_page("/metrics", &metric).await.unwrap();
        controller
            .process
            .wait_for_output("the difference is gone")
            .await
            .unwrap();
    }
    for service in [CHANGED, MISSING, MIRRORED] {
        let slices = slices_of(&client, NAMESPACE, service).await.unwrap();
        assert!(
            ready_addresses(&slices).is_some_and(|addresses| addresses.len() == 1),
            "{slices:?}"
        );
    }
    shadow.stop().await;
}
