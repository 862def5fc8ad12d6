//! Executes actions.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use slice_oracle::Recorder;
use testenv::objects::{api, create, slices_of};

use super::action::{Action, SliceEdit};

/// Edits objects as another client, and records its slice writes as manual ones.
pub(super) struct Operator<'a> {
    pub(super) client: Client,
    pub(super) namespace: &'a str,
    pub(super) recorder: &'a Recorder,
}

impl Operator<'_> {
    pub(super) async fn execute(&self, action: &Action) {
        let params = PatchParams::default();
        match action {
            Action::Create(object) => self.create(object).await,
            Action::Change { kind, name, patch } => {
                let result = self.api(kind).patch(name, &params, &Patch::Merge(patch)).await;
                result.unwrap_or_else(|error| panic!("{action:?}: {error}"));
            }
            Action::Status { kind, name, status } => self.status(kind, name, status).await,
            Action::Delete { kind, name, graceful } => {
                let params = if *graceful {
                    DeleteParams::default()
                } else {
                    DeleteParams::default().grace_period(0)
                };
                let result = self.api(kind).delete(name, &params).await;
                result.unwrap_or_else(|error| panic!("{action:?}: {error}"));
            }
            Action::Slice { service, nth, edit } => self.slice(service, *nth, edit).await,
        }
    }

    /// Removes the finalizers of all slices, so that terminating ones are deleted.
    pub(super) async fn release_all(&self) {
        let slices = Api::<EndpointSlice>::namespaced(self.client.clone(), self.namespace);
        for slice in slices.list(&kube::api::ListParams::default()).await.unwrap() {
            self.release(&slice).await;
        }
    }

    async fn create(&self, object: &Value) {
        let kind = object["kind"].as_str().unwrap();
        // A merge with an empty object drops the null fields.
        let mut without_nulls = json!({});
        json_patch::merge(&mut without_nulls, object);
        create(&self.api(kind), without_nulls).await.unwrap();
        if let Some(status) = object.get("status") {
            let name = object["metadata"]["name"].as_str().unwrap();
            self.status(kind, name, status).await;
        }
    }

    async fn status(&self, kind: &str, name: &str, status: &Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let result = self.api(kind).patch_status(name, &PatchParams::default(), &patch).await;
        result.unwrap_or_else(|error| panic!("status of {kind} {name}: {error}"));
    }

    /// Edits a slice; ignores it if it was changed or deleted in the meantime.
    async fn slice(&self, service: &str, nth: usize, edit: &SliceEdit) {
        let mut slices = slices_of(&self.client, self.namespace, service).await.unwrap();
        if slices.is_empty() {
            return;
        }
        let slice = slices.swap_remove(nth % slices.len());
        match edit {
            SliceEdit::Delete => {
                self.recorder.record_manual_deletion(&slice);
                let deleted = self.slices().delete(&slice.name_any(), &DeleteParams::default()).await;
                // A slice with a finalizer is updated instead of deleted.
                if let Some(response) = ignore_stale(deleted) {
                    let _ = response.map_left(|terminating| self.recorder.record_manual_write(&terminating));
                }
            }
            SliceEdit::Edit(patch) => self.patch(&slice, patch).await,
            SliceEdit::Readiness(ready) => {
                let mut endpoints = json!(slice.endpoints);
                if let Some(first) = endpoints.get_mut(0) {
                    first["conditions"]["ready"] = json!(ready);
                    self.patch(&slice, &json!({"endpoints": endpoints})).await;
                }
            }
            SliceEdit::Duplicate { name } => {
                let metadata = ObjectMeta {
                    name: Some(name.clone()),
                    labels: slice.metadata.labels.clone(),
                    annotations: slice.metadata.annotations.clone(),
                    owner_references: slice.metadata.owner_references.clone(),
                    ..ObjectMeta::default()
                };
                let copy = EndpointSlice { metadata, ..slice };
                let response = self.slices().create(&PostParams::default(), &copy).await.unwrap();
                self.recorder.record_manual_write(&response);
            }
            SliceEdit::Release => self.release(&slice).await,
        }
    }

    async fn release(&self, slice: &EndpointSlice) {
        if slice.finalizers().is_empty() {
            return;
        }
        if slice.metadata.deletion_timestamp.is_some() {
            self.recorder.record_manual_deletion(slice);
        }
        self.patch(slice, &json!({"metadata": {"finalizers": null}})).await;
    }

    async fn patch(&self, slice: &EndpointSlice, patch: &Value) {
        let patch = Patch::Merge(patch);
        let (slices, params) = (self.slices(), PatchParams::default());
        let patched = slices.patch(&slice.name_any(), &params, &patch).await;
        if let Some(response) = ignore_stale(patched) {
            self.recorder.record_manual_write(&response);
        }
    }

    fn slices(&self) -> Api<EndpointSlice> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        api(&self.client, self.namespace, kind).unwrap()
    }
}

/// `None` if the object is missing (404), changed (409) or invalid by now (422).
fn ignore_stale<T>(response: Result<T, kube::Error>) -> Option<T> {
    match response {
        Ok(response) => Some(response),
        Err(kube::Error::Api(status)) if [404, 409, 422].contains(&status.code) => None,
        Err(error) => panic!("{error}"),
    }
}
