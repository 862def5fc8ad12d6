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
use slice_controller::{ObjectRef, WriteError};
use slice_core::CompactSlice;
use slice_reconciler::{DeleteSlice, Operation};
use std::time::Duration;

use crate::client::{ApiClient, ApiError, RequestError};

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
    /// As [`Conflict`](Self::Conflict), but the live slice cannot be decoded.
    UndecodableConflict(Box<ObjectRef>),
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
            Self::Conflict(_) | Self::UndecodableConflict(_) => "conflict",
            Self::NamespaceTerminating => "namespace terminating",
            Self::Failed { .. } => "failed",
            Self::DependencyFailed => "dependency failed",
        }
    }
}

impl SliceApi {
    /// Sends one write. A create or update can be a dry run: admission may change the slice, but nothing is stored.
    pub(crate) async fn write(&self, namespace: &str, operation: &Operation, dry_run: bool) -> WriteResult {
        let params = PostParams {
            dry_run,
            ..PostParams::default()
        };
        match operation {
            Operation::Create(slice) => self.create(namespace, slice, &params).await,
            Operation::Update(slice) => self.update(namespace, slice, &params).await,
            Operation::Delete(deletion) => self.delete(namespace, deletion).await,
        }
    }

    async fn create(&self, namespace: &str, slice: &CompactSlice, params: &PostParams) -> WriteResult {
        let create = |body| requests(namespace).create(params, body);
        let response = self.client.call(body(slice).and_then(create)).await;
        match response {
            Err(RequestError::Api(error)) if error.has_cause("NamespaceTerminating") => {
                WriteResult::NamespaceTerminating
            }
            Err(RequestError::Api(error)) if error.is("AlreadyExists") => self.conflict(namespace, name(slice)).await,
            response => stored(response),
        }
    }

    async fn update(&self, namespace: &str, slice: &CompactSlice, params: &PostParams) -> WriteResult {
        let replace = |body| requests(namespace).replace(name(slice), params, body);
        let response = self.client.call(body(slice).and_then(replace)).await;
        match response {
            Err(RequestError::Api(error)) if is_missing(&error, name(slice)) => WriteResult::Conflict(None),
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
            Err(RequestError::Api(error)) if is_missing(&error, &deletion.name) => WriteResult::Deleted,
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
                Err(error) => match ObjectRef::decode(&body) {
                    Ok(object) if &*object.name == name => WriteResult::UndecodableConflict(Box::new(object)),
                    _ => undecodable(error),
                },
            },
            Err(RequestError::Api(error)) if is_missing(&error, name) => WriteResult::Conflict(None),
            Err(error) => failed(error),
        }
    }
}

/// Whether the API server reports that the slice does not exist. A 404 of a proxy or a webhook names no slice, and does not
/// show that the slice is deleted.
fn is_missing(error: &ApiError, name: &str) -> bool {
    let details = error.status.details.as_ref();
    error.is("NotFound")
        && details.is_some_and(|details| {
            details.kind.as_deref() == Some(&*EndpointSlice::plural(&())) && details.name.as_deref() == Some(name)
        })
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kube::client::Body;
    use serde_json::{Value, json};
    use slice_core::Interner;

    use super::*;

    fn slice() -> CompactSlice {
        let slice = json!({
            "metadata": {"name": "a", "resourceVersion": "1"}, "addressType": "IPv4", "endpoints": [],
        });
        CompactSlice::from_k8s(&serde_json::from_value(slice).unwrap(), &mut Interner::default())
    }

    /// The results of an update and a delete of the slice `a` that are answered so; `live` answers a GET.
    async fn results(code: u16, body: &str, live: Value) -> [WriteResult; 2] {
        let body = body.to_owned();
        let respond = move |request: http::Request<Body>| {
            let (code, body) = match *request.method() {
                http::Method::GET => (200, live.to_string()),
                _ => (code, body.clone()),
            };
            let response = http::Response::builder()
                .status(code)
                .body(Body::from(body.into_bytes()));
            async { Ok::<_, Infallible>(response.unwrap()) }
        };
        let client = kube::Client::new(tower::service_fn(respond), "default");
        let api = SliceApi {
            client: ApiClient::new(client.into(), Duration::from_secs(15), None),
        };
        let update = Operation::Update(slice());
        let delete = Operation::Delete(DeleteSlice {
            name: "a".to_owned(),
            ..DeleteSlice::default()
        });
        [
            api.write("ns", &update, false).await,
            api.write("ns", &delete, false).await,
        ]
    }

    fn not_found(kind: &str, name: &str) -> String {
        let details = json!({"group": "discovery.k8s.io", "kind": kind, "name": name});
        json!({"kind": "Status", "code": 404, "reason": "NotFound", "details": details}).to_string()
    }

    /// The response of kube-apiserver, as in `testenv/tests/api/deletes.rs` (F2, F3).
    #[tokio::test]
    async fn a_404_that_names_the_slice_means_that_it_does_not_exist() {
        let results = results(404, &not_found("endpointslices", "a"), Value::Null).await;
        assert!(
            matches!(results, [WriteResult::Conflict(None), WriteResult::Deleted]),
            "{results:?}"
        );
    }

    /// From a load balancer without backends, an aggregation layer, or a webhook that rejects the write with this code.
    #[tokio::test]
    async fn any_other_404_is_a_failure() {
        let without_details = json!({"kind": "Status", "code": 404, "reason": "NotFound"}).to_string();
        let denied = json!({"kind": "Status", "code": 404, "details": {"kind": "endpointslices", "name": "a"}});
        for body in [
            "<html>default backend - 404</html>",
            &without_details,
            &denied.to_string(),
            &not_found("endpointslices", "b"),
            &not_found("namespaces", "a"),
        ] {
            for result in results(404, body, Value::Null).await {
                let error = match &result {
                    WriteResult::Failed { error, .. } => error,
                    other => panic!("{body}: {other:?}"),
                };
                assert!(matches!(error, WriteError::Api { code: 404, .. }), "{body}: {error:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_dry_run_is_sent_as_such() {
        let respond = |request: http::Request<Body>| async move {
            let is_dry_run = request.uri().query().is_some_and(|query| query.contains("dryRun=All"));
            let body = Body::from(if is_dry_run { "dry run" } else { "{}" }.as_bytes().to_vec());
            Ok::<_, Infallible>(http::Response::new(body))
        };
        let client = kube::Client::new(tower::service_fn(respond), "default");
        let api = SliceApi {
            client: ApiClient::new(client.into(), Duration::from_secs(15), None),
        };
        let mut slice = slice();
        let update = Operation::Update(slice.clone());
        slice.metadata.generate_name = slice.metadata.name.take();
        for operation in [Operation::Create(slice), update] {
            let results = [true, false].map(|dry_run| api.write("ns", &operation, dry_run));
            let [dry_run, write] = results.map(|result| async { result.await.name() });
            assert_eq!((dry_run.await, write.await), ("failed", "stored"), "{operation:?}");
        }
    }

    /// The key must not fail for ever (F25).
    #[tokio::test]
    async fn a_conflict_with_an_undecodable_slice_names_it() {
        let live = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "endpoints": "none"});
        for result in results(409, "{}", live).await {
            let WriteResult::UndecodableConflict(object) = result else {
                panic!("{result:?}");
            };
            assert_eq!((&*object.uid, &*object.resource_version), ("u", "7"));
        }
    }
}
