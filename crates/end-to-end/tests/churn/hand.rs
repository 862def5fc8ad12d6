//! Does what was made up.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use slice_oracle::Recorder;
use testenv::objects::{api, create, slices_of};

use super::action::{Action, Deed};

/// Somebody who may do everything, and owns up to what is done to slices.
pub(super) struct Hand<'a> {
    pub(super) client: Client,
    pub(super) namespace: &'a str,
    pub(super) recorder: &'a Recorder,
}

impl Hand<'_> {
    pub(super) async fn act(&self, action: &Action) {
        let params = PatchParams::default();
        match action {
            Action::Create(object) => self.create(object).await,
            Action::Change { kind, name, patch } => {
                let done = self.api(kind).patch(name, &params, &Patch::Merge(patch)).await;
                done.unwrap_or_else(|error| panic!("{action:?}: {error}"));
            }
            Action::Status { kind, name, status } => self.status(kind, name, status).await,
            Action::Delete { kind, name, graceful } => {
                let params = if *graceful {
                    DeleteParams::default()
                } else {
                    DeleteParams::default().grace_period(0)
                };
                let done = self.api(kind).delete(name, &params).await;
                done.unwrap_or_else(|error| panic!("{action:?}: {error}"));
            }
            Action::Slice { service, nth, deed } => self.slice(service, *nth, deed).await,
        }
    }

    /// Lets go of every slice, so that nothing is left over but what should be.
    pub(super) async fn release_all(&self) {
        let slices = Api::<EndpointSlice>::namespaced(self.client.clone(), self.namespace);
        for slice in slices.list(&kube::api::ListParams::default()).await.unwrap() {
            self.release(&slice).await;
        }
    }

    async fn create(&self, object: &Value) {
        let kind = object["kind"].as_str().unwrap();
        // A patch of nothing: what is said to be absent is left out.
        let mut whole = json!({});
        json_patch::merge(&mut whole, object);
        create(&self.api(kind), whole).await.unwrap();
        if let Some(status) = object.get("status") {
            let name = object["metadata"]["name"].as_str().unwrap();
            self.status(kind, name, status).await;
        }
    }

    async fn status(&self, kind: &str, name: &str, status: &Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let done = self.api(kind).patch_status(name, &PatchParams::default(), &patch).await;
        done.unwrap_or_else(|error| panic!("status of {kind} {name}: {error}"));
    }

    /// What has gone in the meantime, or changed, is none of our business.
    async fn slice(&self, service: &str, nth: usize, deed: &Deed) {
        let mut slices = slices_of(&self.client, self.namespace, service).await.unwrap();
        if slices.is_empty() {
            return;
        }
        let slice = slices.swap_remove(nth % slices.len());
        match deed {
            Deed::Delete => {
                self.recorder.record_manual_deletion(&slice);
                let deleted = self.slices().delete(&slice.name_any(), &DeleteParams::default()).await;
                // One that is held does not go, but is changed.
                if let Some(answer) = forgive(deleted) {
                    let _ = answer.map_left(|held| self.recorder.record_manual_write(&held));
                }
            }
            Deed::Edit(patch) => self.patch(&slice, patch).await,
            Deed::Readiness(ready) => {
                let mut endpoints = json!(slice.endpoints);
                if let Some(first) = endpoints.get_mut(0) {
                    first["conditions"]["ready"] = json!(ready);
                    self.patch(&slice, &json!({"endpoints": endpoints})).await;
                }
            }
            Deed::Duplicate { name } => {
                let metadata = ObjectMeta {
                    name: Some(name.clone()),
                    labels: slice.metadata.labels.clone(),
                    annotations: slice.metadata.annotations.clone(),
                    owner_references: slice.metadata.owner_references.clone(),
                    ..ObjectMeta::default()
                };
                let copy = EndpointSlice { metadata, ..slice };
                let answer = self.slices().create(&PostParams::default(), &copy).await.unwrap();
                self.recorder.record_manual_write(&answer);
            }
            Deed::Release => self.release(&slice).await,
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
        if let Some(answer) = forgive(patched) {
            self.recorder.record_manual_write(&answer);
        }
    }

    fn slices(&self) -> Api<EndpointSlice> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        api(&self.client, self.namespace, kind).unwrap()
    }
}

/// Nothing, if the object is not there, or refuses because it has changed or is going.
fn forgive<T>(answer: Result<T, kube::Error>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(kube::Error::Api(status)) if [404, 409, 422].contains(&status.code) => None,
        Err(error) => panic!("{error}"),
    }
}
