//! A cluster under test: client of one of the two control planes.

use anyhow::{Context as _, Result};
use k8s_openapi::api::{core::v1::Namespace, discovery::v1::EndpointSlice};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::Value;

use slice_oracle::Recorder;
use testenv::objects::{api, slices_of};

use super::scenario::Change;

const FIELD_MANAGER: &str = "conformance";

/// One of the two clusters: with upstream's controllers or with ours.
pub(super) struct ClusterUnderTest {
    pub(super) name: &'static str,
    pub(super) client: Client,
}

impl ClusterUnderTest {
    /// Creates the namespace of a scenario.
    pub(super) async fn create_namespace(&self, namespace: &str) -> Result<()> {
        let object = Namespace {
            metadata: ObjectMeta {
                name: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let api = Api::<Namespace>::all(self.client.clone());
        api.create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("{}: create namespace {namespace}", self.name))?;
        Ok(())
    }

    /// Makes one change. Returns the number of slices that it wrote itself, not counting controllers.
    pub(super) async fn make_change(&self, namespace: &str, change: &Change, recorder: &Recorder) -> Result<usize> {
        match change {
            Change::Apply(object) => {
                let applied = self.apply(namespace, object).await?;
                if object["kind"] != "EndpointSlice" {
                    return Ok(0);
                }
                recorder.record_manual_write(&applied.try_parse()?);
                Ok(1)
            }
            Change::Delete { kind, name, graceful } => {
                let params = if *graceful {
                    DeleteParams::default()
                } else {
                    DeleteParams::default().grace_period(0)
                };
                let api = self.api(namespace, kind)?;
                api.delete(name, &params)
                    .await
                    .with_context(|| format!("{}: delete {kind} {name}", self.name))?;
                Ok(0)
            }
            Change::EditSlices { service, patch } => {
                let slices = slices_of(&self.client, namespace, service).await?;
                let api = Api::<EndpointSlice>::namespaced(self.client.clone(), namespace);
                for slice in &slices {
                    let patched = api
                        .patch(&slice.name_any(), &PatchParams::default(), &Patch::Merge(patch))
                        .await?;
                    recorder.record_manual_write(&patched);
                }
                Ok(slices.len())
            }
            Change::DeleteSlices { service } => {
                let slices = slices_of(&self.client, namespace, service).await?;
                let api = Api::<EndpointSlice>::namespaced(self.client.clone(), namespace);
                for slice in &slices {
                    recorder.record_manual_deletion(slice);
                    api.delete(&slice.name_any(), &DeleteParams::default()).await?;
                }
                Ok(slices.len())
            }
        }
    }

    /// Deletes a node, if it exists.
    pub(super) async fn delete_node(&self, name: &str) -> Result<()> {
        match self.api("", "Node")?.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            result => result
                .map(drop)
                .with_context(|| format!("{}: delete node {name}", self.name)),
        }
    }

    /// Applies an object and, in a second request, its status.
    async fn apply(&self, namespace: &str, object: &Value) -> Result<DynamicObject> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let api = self.api(namespace, kind)?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let mut without_status = object.clone();
        let status = without_status
            .as_object_mut()
            .and_then(|object| object.remove("status"));
        let context = || format!("{}: apply {kind} {namespace}/{name}", self.name);
        let mut applied = api
            .patch(name, &params, &Patch::Apply(&without_status))
            .await
            .with_context(context)?;
        if status.is_some() {
            applied = api
                .patch_status(name, &params, &Patch::Apply(object))
                .await
                .with_context(context)?;
        }
        Ok(applied)
    }

    fn api(&self, namespace: &str, kind: &str) -> Result<Api<DynamicObject>> {
        api(&self.client, namespace, kind)
            .with_context(|| format!("scenarios do not support the kind {kind:?}; add it to testenv::objects"))
    }
}
