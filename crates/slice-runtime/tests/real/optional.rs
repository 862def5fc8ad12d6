//! A watch of a custom resource that the API server serves, does not serve yet, or no longer (CX3).

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slice_runtime::{Health, Metrics, RunOptions, run};
use testenv::{ControlPlane, until};

use crate::reporter::Reporter;

fn options() -> RunOptions {
    RunOptions::new("pools.example.com", "pools")
}

fn version(name: &str, served: bool, storage: bool) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({"name": name, "served": served, "storage": storage, "schema": schema})
}

/// Pools in two versions: one can be served or not while the objects stay.
fn definition(serves_v1: bool) -> CustomResourceDefinition {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Pool", "plural": "pools"},
            "scope": "Cluster",
            "versions": [version("v1", serves_v1, false), version("v2", true, true)],
        },
    });
    serde_json::from_value(definition).unwrap()
}

#[tokio::test]
async fn an_optional_custom_resource_appears_and_disappears() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v2", "Pool"));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let create = async |name: &str| {
        let pool = DynamicObject::new(name, &resource);
        until("pools are served", async || {
            api.create(&PostParams::default(), &pool).await.is_ok()
        })
        .await
        .unwrap();
    };
    let serve_v1 = async |serves: bool| {
        let patch = Patch::Merge(definition(serves));
        let name = "pools.example.com";
        definitions.patch(name, &PatchParams::default(), &patch).await.unwrap();
    };

    let (controller, mut reports) = Reporter::new("example.com/v1", "pools");
    let health = Arc::new(Health::default());
    let scenario = async {
        assert_eq!(reports.next().await, "sync", "syncs do not wait for pools");
        assert!(reports.state(&health).absent && health.is_ready());

        definitions
            .create(&PostParams::default(), &definition(true))
            .await
            .unwrap();
        create("a").await;
        assert_eq!(reports.next().await, "apply a");
        assert_eq!(reports.next().await, "sync");

        serve_v1(false).await;
        until("v1 is absent", async || reports.state(&health).absent)
            .await
            .unwrap();
        assert!(health.is_ready());
        api.delete("a", &DeleteParams::default()).await.unwrap();
        create("b").await;
        assert!(reports.is_empty(), "known objects stay known");

        serve_v1(true).await;
        for report in ["apply b", "delete a", "sync"] {
            assert_eq!(reports.next().await, report);
        }
    };
    let metrics = Arc::new(Metrics::new("test", "test"));
    let result = run(controller, client, options(), Arc::clone(&health), metrics, scenario).await;
    assert_eq!(result, Ok(()));
}
