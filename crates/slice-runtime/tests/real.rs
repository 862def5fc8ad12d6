//! A watch of a custom resource that the API server serves, does not serve yet, or no longer (CX3).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::json;
use slice_controller::{Controller, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec};
use slice_runtime::{Health, Metrics, Options, SourceState, preflight, run};
use testenv::{ControlPlane, until};
use tokio::sync::mpsc;

/// Watches namespaces, and pools where they are served; reports syncs, and events of pools.
struct Reporter {
    reports: mpsc::UnboundedSender<String>,
}

#[derive(Clone, Copy)]
enum Watch {
    Namespaces,
    Pools,
}

#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

impl Controller for Reporter {
    type WatchId = Watch;
    type Object = (Watch, String);

    fn watches(&self) -> Vec<WatchSpec<Watch, (Watch, String)>> {
        let name = |id| move |object: Named| (id, object.metadata.name.unwrap());
        vec![
            WatchSpec::new(Watch::Namespaces, "v1", "namespaces", name(Watch::Namespaces)).cluster_scoped(),
            WatchSpec::new(Watch::Pools, "example.com/v1", "pools", name(Watch::Pools)).optional(),
        ]
    }

    fn apply(&mut self, (watch, name): (Watch, String), context: &mut EventContext) {
        if let Watch::Pools = watch {
            self.reports.send(format!("apply {name}")).unwrap();
            context.enqueue(Key::new("default", "pools"));
        } else if name == "default" {
            context.enqueue(Key::new("default", "pools"));
        }
    }

    fn delete(&mut self, _watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        self.reports.send(format!("delete {}", object.name)).unwrap();
        context.enqueue(Key::new("default", "pools"));
    }

    fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.reports.send("sync".to_owned()).unwrap();
        Ok(SyncResult::default())
    }
}

fn options() -> Options {
    Options {
        managed_by: "pools.example.com".to_owned(),
        event_source: "pools",
        namespace: String::new(),
        concurrency: NonZeroUsize::MIN,
        foreign_change_delay: Duration::ZERO,
        resync_period: Duration::ZERO,
        rate_limit: None,
        dry_run: false,
    }
}

/// Pools in two versions, so that one of them can come and go while the objects stay.
fn definition(serves_v1: bool) -> CustomResourceDefinition {
    let version = |name: &str, served: bool, storage: bool| json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Pool", "plural": "pools"},
            "scope": "Namespaced",
            "versions": [version("v1", serves_v1, false), version("v2", true, true)],
        },
    });
    serde_json::from_value(definition).unwrap()
}

fn pools(health: &Health) -> SourceState {
    let states = health.sources();
    let pools = states.into_iter().find(|(name, _)| *name == "pools");
    pools.unwrap().1
}

#[tokio::test]
async fn an_optional_custom_resource_appears_and_disappears() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v2", "Pool"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
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

    let (reports, mut received) = mpsc::unbounded_channel();
    let controller = Reporter { reports };
    assert_eq!(preflight(&controller, client.clone(), &options()).await, []);
    let health = Arc::new(Health::default());
    let story = async {
        assert_eq!(received.recv().await.unwrap(), "sync", "nothing waits for pools");
        assert!(pools(&health).absent && health.is_ready());

        definitions
            .create(&PostParams::default(), &definition(true))
            .await
            .unwrap();
        create("a").await;
        assert_eq!(received.recv().await.unwrap(), "apply a");
        assert_eq!(received.recv().await.unwrap(), "sync");

        serve_v1(false).await;
        until("v1 is absent", async || pools(&health).absent).await.unwrap();
        assert!(health.is_ready());
        api.delete("a", &DeleteParams::default()).await.unwrap();
        create("b").await;
        assert!(received.is_empty(), "what was known stays known");

        serve_v1(true).await;
        for report in ["apply b", "delete a", "sync"] {
            assert_eq!(received.recv().await.unwrap(), report);
        }
    };
    let metrics = Arc::new(Metrics::new(&prometheus::Registry::new(), "test", "test").unwrap());
    run(controller, client, options(), Arc::clone(&health), metrics, story).await;
}
