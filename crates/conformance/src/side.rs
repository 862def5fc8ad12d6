//! One of the two control planes, and what is done to it.

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

const MANAGER: &str = "conformance";

/// One of the two sides.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) client: Client,
}

impl Side {
    /// Makes the namespace of a scenario.
    pub(super) async fn prepare(&self, namespace: &str) -> Result<()> {
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
            .with_context(|| format!("{}: make namespace {namespace}", self.name))?;
        Ok(())
    }

    /// Does one thing. Answers how many slices were written by hand.
    pub(super) async fn change(&self, namespace: &str, change: &Change, recorder: &Recorder) -> Result<usize> {
        match change {
            Change::Apply(object) => {
                let answer = self.apply(namespace, object).await?;
                if object["kind"] != "EndpointSlice" {
                    return Ok(0);
                }
                recorder.record_manual_write(&answer.try_parse()?);
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
                    let answer = api
                        .patch(&slice.name_any(), &PatchParams::default(), &Patch::Merge(patch))
                        .await?;
                    recorder.record_manual_write(&answer);
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

    /// Removes a node, if it is still there.
    pub(super) async fn remove_node(&self, name: &str) -> Result<()> {
        match self.api("", "Node")?.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => answer
                .map(drop)
                .with_context(|| format!("{}: delete node {name}", self.name)),
        }
    }

    /// Makes an object what it should be, its status included.
    async fn apply(&self, namespace: &str, object: &Value) -> Result<DynamicObject> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let api = self.api(namespace, kind)?;
        let params = PatchParams::apply(MANAGER).force();
        let mut main = object.clone();
        let status = main.as_object_mut().and_then(|main| main.remove("status"));
        let failed = || format!("{}: apply {kind} {namespace}/{name}", self.name);
        let mut answer = api
            .patch(name, &params, &Patch::Apply(&main))
            .await
            .with_context(failed)?;
        if status.is_some() {
            answer = api
                .patch_status(name, &params, &Patch::Apply(object))
                .await
                .with_context(failed)?;
        }
        Ok(answer)
    }

    fn api(&self, namespace: &str, kind: &str) -> Result<Api<DynamicObject>> {
        api(&self.client, namespace, kind)
            .with_context(|| format!("scenarios know nothing of objects of kind {kind:?}"))
    }
}
