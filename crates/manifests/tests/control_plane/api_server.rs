//! kube-apiserver accepts every object, and a second apply changes nothing.

use std::collections::BTreeMap;

use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, ValidationDirective},
    core::{DynamicObject, GroupVersionKind},
    discovery::{self, Scope},
};
use manifests::{Controller, Options, objects};
use serde_json::json;
use testenv::{ControlPlane, until};

use super::{id, tools};

async fn api(client: &Client, object: &DynamicObject) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
    let (resource, capabilities) = discovery::pinned_kind(client, &gvk).await.unwrap();
    let namespace = object.metadata.namespace.as_deref();
    match capabilities.scope {
        Scope::Cluster => {
            assert_eq!(namespace, None, "{}", id(object));
            Api::all_with(client.clone(), &resource)
        }
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace.unwrap(), &resource),
    }
}

/// Applies all objects, as `kubectl apply --server-side` does; unknown fields are errors. Returns their resourceVersions.
pub(crate) async fn apply(client: &Client, objects: &[DynamicObject]) -> BTreeMap<String, String> {
    let params = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("manifests-test")
    };
    let mut versions = BTreeMap::new();
    for object in objects {
        let api = api(client, object).await;
        let name = object.metadata.name.as_deref().unwrap();
        let applied = api.patch(name, &params, &Patch::Apply(object)).await;
        let applied = applied.unwrap_or_else(|error| panic!("{}: {error}", id(object)));
        versions.insert(id(object), applied.metadata.resource_version.unwrap());
    }
    versions
}

/// Waits for the status that kube-apiserver itself writes: a `FlowSchema` has found its priority level.
async fn wait_for_flow_schemas(client: &Client) {
    let schemas: Api<FlowSchema> = Api::all(client.clone());
    let is_found = |schema: &FlowSchema| {
        let conditions = schema.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|conditions| {
            let mut conditions = conditions.iter();
            conditions.any(|condition| {
                condition.type_.as_deref() == Some("Dangling") && condition.status.as_deref() == Some("False")
            })
        })
    };
    until("a priority level for every FlowSchema", async || {
        schemas.list(&ListParams::default()).await.unwrap().iter().all(is_found)
    })
    .await
    .unwrap();
}

async fn assert_accepted(client: &Client, objects: &[DynamicObject]) {
    apply(client, objects).await;
    wait_for_flow_schemas(client).await;
    let mut versions = BTreeMap::new();
    for object in objects {
        let name = object.metadata.name.as_deref().unwrap();
        let live = api(client, object).await.get(name).await.unwrap();
        versions.insert(id(object), live.metadata.resource_version.unwrap());
    }
    assert_eq!(apply(client, objects).await, versions);
}

/// The kinds of the Prometheus operator, without a schema.
pub(crate) async fn create_monitoring_kinds(client: &Client) {
    for (plural, kind) in [("podmonitors", "PodMonitor"), ("prometheusrules", "PrometheusRule")] {
        let name = format!("{plural}.monitoring.coreos.com");
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    }},
                }],
            },
        });
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let params = PatchParams::apply("manifests-test");
        definitions
            .patch(&name, &params, &Patch::Apply(&definition))
            .await
            .unwrap();
        let gvk = GroupVersionKind::gvk("monitoring.coreos.com", "v1", kind);
        until("discovery of a custom resource", async || {
            discovery::pinned_kind(client, &gvk).await.is_ok()
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn every_object_is_accepted_and_a_second_apply_changes_nothing() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    create_monitoring_kinds(&client).await;
    for path in ["endpointslice", "mirroring", "all", "monitoring"] {
        let objects = tokio::task::spawn_blocking(|| tools::kustomize(path)).await.unwrap();
        assert_accepted(&client, &objects).await;
    }
    // In the order of the library, and as a shadow of what is there.
    let shadow = Options {
        shadow: true,
        ..Options::default()
    };
    assert_accepted(&client, &objects(&Controller::ALL, &shadow)).await;
}
