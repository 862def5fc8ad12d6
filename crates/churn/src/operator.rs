//! Executes actions.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use slice_oracle::Recorder;
use testenv::{
    Error,
    objects::{api, create, slices_of},
};

use crate::action::{Action, SliceEdit};

/// Edits objects as another client, and records its slice writes as manual ones.
pub struct Operator<'a> {
    /// The client for all requests.
    pub client: Client,
    /// The namespace of all namespaced objects.
    pub namespace: &'a str,
    /// The recorder of this namespace.
    pub recorder: &'a Recorder,
    /// Whether an action may be the repetition of one that was executed although its response was an error: an object that
    /// exists already, or no longer, is then no error.
    pub repeats: bool,
}

impl Operator<'_> {
    /// Executes an action. An edit of a slice that was changed or deleted in the meantime is skipped.
    pub async fn execute(&self, action: &Action) -> Result<(), Error> {
        match action {
            Action::Create(object) => self.create(object).await,
            Action::Change { kind, name, patch } => {
                let params = PatchParams::default();
                let result = self.api(kind).patch(name, &params, &Patch::Merge(patch)).await;
                self.existing(result, || format!("patch {kind} {name}"))
            }
            Action::Status { kind, name, status } => self.status(kind, name, status).await,
            Action::Delete { kind, name, graceful } => {
                let params = if *graceful {
                    DeleteParams::default()
                } else {
                    DeleteParams::default().grace_period(0)
                };
                let result = self.api(kind).delete(name, &params).await;
                self.existing(result, || format!("delete {kind} {name}"))
            }
            Action::Slice { service, nth, edit } => self.slice(service, *nth, edit).await,
        }
    }

    /// Removes the finalizers of all slices, so that terminating ones are deleted.
    pub async fn release_all(&self) -> Result<(), Error> {
        let slices = self.slices().list(&ListParams::default()).await;
        for slice in slices.map_err(|error| request("list slices", error))? {
            self.release(&slice).await?;
        }
        Ok(())
    }

    async fn create(&self, object: &Value) -> Result<(), Error> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&object["kind"]);
        // A merge with an empty object drops the null fields.
        let mut without_nulls = json!({});
        json_patch::merge(&mut without_nulls, object);
        match create(&self.api(&kind), without_nulls).await {
            Err(Error::Request { source, .. }) if self.repeats && code(&source) == Some(409) => {}
            created => drop(created?),
        }
        match object.get("status") {
            Some(status) => self.status(&kind, &text(&object["metadata"]["name"]), status).await,
            None => Ok(()),
        }
    }

    async fn status(&self, kind: &str, name: &str, status: &Value) -> Result<(), Error> {
        let patch = Patch::Merge(json!({"status": status}));
        let result = self.api(kind).patch_status(name, &PatchParams::default(), &patch).await;
        self.existing(result, || format!("patch the status of {kind} {name}"))
    }

    /// The result of a request for an object that exists, unless an earlier attempt deleted it.
    fn existing<T>(&self, result: kube::Result<T>, action: impl Fn() -> String) -> Result<(), Error> {
        match result {
            Err(error) if self.repeats && code(&error) == Some(404) => Ok(()),
            result => result.map(drop).map_err(|error| request(action(), error)),
        }
    }

    /// Edits a slice; ignores it if it was changed or deleted in the meantime.
    async fn slice(&self, service: &str, nth: usize, edit: &SliceEdit) -> Result<(), Error> {
        let mut slices = slices_of(&self.client, self.namespace, service).await?;
        if slices.is_empty() {
            return Ok(());
        }
        let slice = slices.swap_remove(nth % slices.len());
        match edit {
            SliceEdit::Delete => {
                self.recorder.record_manual_deletion(&slice);
                let deleted = self.slices().delete(&slice.name_any(), &DeleteParams::default()).await;
                // A slice with a finalizer is updated instead of deleted.
                if let Some(response) = ignore_stale(deleted)? {
                    let _ = response.map_left(|terminating| self.recorder.record_manual_write(&terminating));
                }
            }
            SliceEdit::Edit(patch) => self.patch(&slice, patch).await?,
            SliceEdit::Readiness(ready) => {
                let mut endpoints = json!(slice.endpoints);
                if let Some(first) = endpoints.get_mut(0) {
                    first["conditions"]["ready"] = json!(ready);
                    self.patch(&slice, &json!({"endpoints": endpoints})).await?;
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
                let created = self.slices().create(&PostParams::default(), &copy).await;
                let response = created.map_err(|error| request(format!("create slice {name}"), error))?;
                self.recorder.record_manual_write(&response);
            }
            SliceEdit::Release => self.release(&slice).await?,
        }
        Ok(())
    }

    async fn release(&self, slice: &EndpointSlice) -> Result<(), Error> {
        if slice.finalizers().is_empty() {
            return Ok(());
        }
        if slice.metadata.deletion_timestamp.is_some() {
            self.recorder.record_manual_deletion(slice);
        }
        self.patch(slice, &json!({"metadata": {"finalizers": null}})).await
    }

    async fn patch(&self, slice: &EndpointSlice, patch: &Value) -> Result<(), Error> {
        let patch = Patch::Merge(patch);
        let (slices, params) = (self.slices(), PatchParams::default());
        let patched = slices.patch(&slice.name_any(), &params, &patch).await;
        if let Some(response) = ignore_stale(patched)? {
            self.recorder.record_manual_write(&response);
        }
        Ok(())
    }

    fn slices(&self) -> Api<EndpointSlice> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        api(&self.client, self.namespace, kind).expect("the generator uses kinds that `api` has")
    }
}

/// `None` if the object is missing (404), changed (409) or invalid by now (422).
fn ignore_stale<T>(response: kube::Result<T>) -> Result<Option<T>, Error> {
    match response {
        Ok(response) => Ok(Some(response)),
        Err(error) if matches!(code(&error), Some(404 | 409 | 422)) => Ok(None),
        Err(error) => Err(request("edit a slice", error)),
    }
}

/// The status code of an error response.
fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

fn request(action: impl Into<String>, source: kube::Error) -> Error {
    Error::Request {
        action: action.into(),
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use testenv::SimServer;

    use super::*;

    /// The results of actions on an empty namespace, each executed twice.
    async fn execute_twice(repeats: bool) -> Vec<bool> {
        let server = SimServer::start().await.unwrap();
        let recorder = Recorder::start_namespaced(server.client(), "default").await.unwrap();
        let operator = Operator {
            client: server.client(),
            namespace: "default",
            recorder: &recorder,
            repeats,
        };
        let endpoints =
            json!({"kind": "Endpoints", "metadata": {"name": "s1", "labels": {"team": null}}, "subsets": []});
        let delete = Action::Delete {
            kind: "Endpoints",
            name: "s1".to_owned(),
            graceful: false,
        };
        let change = Action::Change {
            kind: "Endpoints",
            name: "s1".to_owned(),
            patch: json!({"subsets": []}),
        };
        let mut results = Vec::new();
        for action in [Action::Create(endpoints), delete, change] {
            for _ in 0..2 {
                results.push(operator.execute(&action).await.is_ok());
            }
        }
        results
    }

    #[tokio::test]
    async fn an_object_that_exists_already_or_no_longer_is_an_error() {
        let expected = [true, false, true, false, false, false];
        assert_eq!(execute_twice(false).await, expected);
    }

    #[tokio::test]
    async fn an_object_that_exists_already_or_no_longer_is_no_error_of_a_repetition() {
        assert_eq!(execute_twice(true).await, [true; 6]);
    }
}
