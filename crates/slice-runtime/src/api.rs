//! The writes to slices, and what their answers mean.

use http::StatusCode;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Resource as _,
    core::{
        Request,
        params::{DeleteParams, GetParams, PostParams, Preconditions},
        request::Error,
    },
};
use slice_controller::WriteError;
use slice_core::CompactSlice;
use slice_reconciler::{DeleteSlice, Operation};
use std::time::Duration;

use crate::client::{ApiClient, RequestError};

/// Writes slices.
#[derive(Clone)]
pub(crate) struct SliceApi {
    pub(crate) client: ApiClient,
}

/// What a write led to.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The slice is stored so; or, if it was to be deleted, is being deleted so.
    Stored(Box<EndpointSlice>),
    /// The slice is gone.
    Gone,
    /// The slice is another one than was thought: this one, or none, if it could be read.
    Changed(Option<Box<EndpointSlice>>),
    /// The namespace is going away, and nothing can be created in it.
    NamespaceTerminating,
    /// It failed, or may have.
    Failed {
        /// Why.
        error: WriteError,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A write that it depends on failed, so it was not sent.
    Withheld,
}

impl SliceApi {
    /// Carries out one write.
    pub(crate) async fn write(&self, namespace: &str, operation: &Operation) -> Answer {
        match operation {
            Operation::Create(slice) => self.create(namespace, slice).await,
            Operation::Update(slice) => self.update(namespace, slice).await,
            Operation::Delete(deletion) => self.delete(namespace, deletion).await,
        }
    }

    async fn create(&self, namespace: &str, slice: &CompactSlice) -> Answer {
        let create = |body| requests(namespace).create(&PostParams::default(), body);
        let answer = self.client.call(body(slice).and_then(create)).await;
        match answer {
            Err(RequestError::Api(error)) if error.has_cause("NamespaceTerminating") => Answer::NamespaceTerminating,
            Err(RequestError::Api(error)) if error.is("AlreadyExists") => self.read(namespace, name(slice)).await,
            answer => stored(answer),
        }
    }

    async fn update(&self, namespace: &str, slice: &CompactSlice) -> Answer {
        let replace = |body| requests(namespace).replace(name(slice), &PostParams::default(), body);
        let answer = self.client.call(body(slice).and_then(replace)).await;
        match answer {
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => Answer::Changed(None),
            Err(RequestError::Api(error)) if error.code == StatusCode::CONFLICT => {
                self.read(namespace, name(slice)).await
            }
            answer => stored(answer),
        }
    }

    async fn delete(&self, namespace: &str, deletion: &DeleteSlice) -> Answer {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: deletion.uid.clone(),
                resource_version: deletion.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        let answer = self
            .client
            .call(requests(namespace).delete(&deletion.name, &params))
            .await;
        match answer {
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => Answer::Gone,
            Err(RequestError::Api(error)) if error.code == StatusCode::CONFLICT => {
                self.read(namespace, &deletion.name).await
            }
            // Either a status, or the slice, which finalizers may still hold.
            Ok(body) => match serde_json::from_slice::<EndpointSlice>(&body) {
                Ok(slice)
                    if slice
                        .metadata
                        .finalizers
                        .as_ref()
                        .is_some_and(|held_by| !held_by.is_empty()) =>
                {
                    Answer::Stored(Box::new(slice))
                }
                _ => Answer::Gone,
            },
            Err(error) => failed(error),
        }
    }

    /// The slice that is there in fact.
    async fn read(&self, namespace: &str, name: &str) -> Answer {
        let request = requests(namespace).get(name, &GetParams::default());
        match self.client.call(request).await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(slice) => Answer::Changed(Some(Box::new(slice))),
                Err(error) => unreadable(error),
            },
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => Answer::Changed(None),
            Err(error) => failed(error),
        }
    }
}

fn stored(answer: Result<bytes::Bytes, RequestError>) -> Answer {
    match answer.map(|body| serde_json::from_slice(&body)) {
        Ok(Ok(slice)) => Answer::Stored(Box::new(slice)),
        Ok(Err(error)) => unreadable(error),
        Err(error) => failed(error),
    }
}

fn unreadable(error: serde_json::Error) -> Answer {
    Answer::Failed {
        error: WriteError::Response(error),
        retry_after: None,
    }
}

fn failed(error: RequestError) -> Answer {
    Answer::Failed {
        retry_after: error.api_error().and_then(|error| error.retry_after),
        error: error.into(),
    }
}

/// The requests about slices in a namespace.
fn requests(namespace: &str) -> Request {
    Request::new(EndpointSlice::url_path(&(), Some(namespace)))
}

fn body(slice: &CompactSlice) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(slice).map_err(Error::SerializeBody)
}

/// A name that is missing is empty, and no request is built with an empty name.
fn name(slice: &CompactSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}
