//! Writes of slices to the API server, and the meaning of its responses.

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

/// Creates, updates and deletes slices.
#[derive(Clone)]
pub(crate) struct SliceApi {
    pub(crate) client: ApiClient,
}

/// The result of a write.
#[derive(Debug)]
pub(crate) enum WriteResult {
    /// The slice as stored; after a delete, a slice that finalizers keep as terminating.
    Stored(Box<EndpointSlice>),
    /// The slice no longer exists.
    Deleted,
    /// Another writer changed, deleted or created the slice first. The live slice, or none if there is none.
    Conflict(Option<Box<EndpointSlice>>),
    /// The namespace is terminating, so that nothing can be created in it.
    NamespaceTerminating,
    /// The write failed, or its result is unknown.
    Failed {
        error: WriteError,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// Not sent, because a write that it depends on failed.
    DependencyFailed,
}

impl WriteResult {
    /// A name for logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Stored(_) => "stored",
            Self::Deleted => "deleted",
            Self::Conflict(_) => "conflict",
            Self::NamespaceTerminating => "namespace terminating",
            Self::Failed { .. } => "failed",
            Self::DependencyFailed => "dependency failed",
        }
    }
}

impl SliceApi {
    /// Sends one write.
    pub(crate) async fn write(&self, namespace: &str, operation: &Operation) -> WriteResult {
        match operation {
            Operation::Create(slice) => self.create(namespace, slice).await,
            Operation::Update(slice) => self.update(namespace, slice).await,
            Operation::Delete(deletion) => self.delete(namespace, deletion).await,
        }
    }

    async fn create(&self, namespace: &str, slice: &CompactSlice) -> WriteResult {
        let create = |body| requests(namespace).create(&PostParams::default(), body);
        let response = self.client.call(body(slice).and_then(create)).await;
        match response {
            Err(RequestError::Api(error)) if error.has_cause("NamespaceTerminating") => {
                WriteResult::NamespaceTerminating
            }
            Err(RequestError::Api(error)) if error.is("AlreadyExists") => self.conflict(namespace, name(slice)).await,
            response => stored(response),
        }
    }

    async fn update(&self, namespace: &str, slice: &CompactSlice) -> WriteResult {
        let replace = |body| requests(namespace).replace(name(slice), &PostParams::default(), body);
        let response = self.client.call(body(slice).and_then(replace)).await;
        match response {
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => WriteResult::Conflict(None),
            Err(RequestError::Api(error)) if error.code == StatusCode::CONFLICT => {
                self.conflict(namespace, name(slice)).await
            }
            response => stored(response),
        }
    }

    async fn delete(&self, namespace: &str, deletion: &DeleteSlice) -> WriteResult {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: deletion.uid.clone(),
                resource_version: deletion.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        let response = self
            .client
            .call(requests(namespace).delete(&deletion.name, &params))
            .await;
        match response {
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => WriteResult::Deleted,
            Err(RequestError::Api(error)) if error.code == StatusCode::CONFLICT => {
                self.conflict(namespace, &deletion.name).await
            }
            // The body is a `Status`, or the slice, which finalizers may keep.
            Ok(body) => match serde_json::from_slice::<EndpointSlice>(&body) {
                Ok(slice)
                    if slice
                        .metadata
                        .finalizers
                        .as_ref()
                        .is_some_and(|finalizers| !finalizers.is_empty()) =>
                {
                    WriteResult::Stored(Box::new(slice))
                }
                _ => WriteResult::Deleted,
            },
            Err(error) => failed(error),
        }
    }

    /// Reads the live slice after a conflict, so that the next sync is based on it.
    async fn conflict(&self, namespace: &str, name: &str) -> WriteResult {
        let request = requests(namespace).get(name, &GetParams::default());
        match self.client.call(request).await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(slice) => WriteResult::Conflict(Some(Box::new(slice))),
                Err(error) => undecodable(error),
            },
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND => WriteResult::Conflict(None),
            Err(error) => failed(error),
        }
    }
}

fn stored(response: Result<bytes::Bytes, RequestError>) -> WriteResult {
    match response.map(|body| serde_json::from_slice(&body)) {
        Ok(Ok(slice)) => WriteResult::Stored(Box::new(slice)),
        Ok(Err(error)) => undecodable(error),
        Err(error) => failed(error),
    }
}

fn undecodable(error: serde_json::Error) -> WriteResult {
    WriteResult::Failed {
        error: WriteError::Response(error),
        retry_after: None,
    }
}

fn failed(error: RequestError) -> WriteResult {
    WriteResult::Failed {
        retry_after: error.api_error().and_then(|error| error.retry_after),
        error: error.into(),
    }
}

/// The request builder for slices in a namespace.
fn requests(namespace: &str) -> Request {
    Request::new(EndpointSlice::url_path(&(), Some(namespace)))
}

fn body(slice: &CompactSlice) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(slice).map_err(Error::SerializeBody)
}

/// The name of a slice. A missing one is empty, for which kube builds no request.
fn name(slice: &CompactSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}
