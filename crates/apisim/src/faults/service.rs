//! The [`tower::Service`] that injects faults in front of an API server.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use tokio::time::Instant;
use tower::{Service, ServiceExt as _};

use super::{
    Answer, Fault, Faults, Recorded,
    registry::{ActiveFault, opens_stream},
    stream::{Framing, StreamMode, inject},
};
use crate::{
    body::{Body, BoxError, boxed, full},
    request::{Query, ResourceRequest, Verb},
    response::api_error,
    status::ApiError,
};

/// The error of a connection that a fault closed.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// The request did not reach the server.
    #[error("injected fault: connection closed before the request reached the server")]
    RequestDropped,
    /// The server executed the request.
    #[error("injected fault: connection closed before the response")]
    AnswerDropped,
    /// A watch stream was closed.
    #[error("injected fault: watch stream cut")]
    StreamCut,
}

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// An API server with fault injection. Requests for paths other than resources (`/version`, `/readyz`, …) pass unchanged.
#[derive(Clone, Debug)]
pub struct FaultService<S> {
    inner: S,
    faults: Faults,
}

impl<S> FaultService<S> {
    /// Wraps `inner` with `faults`.
    pub fn new(inner: S, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

impl<S, B> Service<Request<B>> for FaultService<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // `oneshot` polls the inner service for readiness.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let faults = self.faults.clone();
        let inner = self.inner.clone();
        let forward = move |request| -> ResponseFuture { Box::pin(inner.oneshot(request)) };
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = boxed(body).collect().await?.to_bytes();
            let resource_request = parse_request(&parts, &body);
            let (version, connection) = (parts.version, parts.extensions.get().copied());
            let query = parts.uri.query().unwrap_or_default().to_owned();
            let request = Request::from_parts(parts, full(body.clone()));
            let Some(resource_request) = resource_request else {
                return forward(request).await;
            };
            let admission = faults.admit(Recorded {
                request: resource_request.clone(),
                query,
                body,
                status: None,
                at: Instant::now(),
                version,
                connection,
            });
            let response = apply_fault(forward, request, resource_request, &faults, admission.fault).await?;
            faults.record_status(admission.number, response.status());
            Ok(response)
        })
    }
}

async fn apply_fault(
    forward: impl FnOnce(Request<Body>) -> ResponseFuture,
    request: Request<Body>,
    resource_request: ResourceRequest,
    faults: &Faults,
    fault: Option<ActiveFault>,
) -> Result<Response<Body>, BoxError> {
    let mut broken = None;
    if let Some(ActiveFault {
        rule,
        fault,
        mut removed,
    }) = fault
    {
        match fault {
            Fault::Answer(answer) => {
                tokio::time::sleep(answer.delay).await;
                return Ok(respond(&answer));
            }
            Fault::Delay(delay) => tokio::time::sleep(delay).await,
            // The sender sends no values; an error means that the rule was removed.
            Fault::HoldRequest => while removed.changed().await.is_ok() {},
            Fault::DropRequest => return Err(FaultError::RequestDropped.into()),
            Fault::DropAnswer => {
                let response = forward(request).await?;
                // The server has committed when its response is complete. A watch response never completes.
                if !opens_stream(&resource_request) {
                    response.into_body().collect().await?;
                }
                return Err(FaultError::AnswerDropped.into());
            }
            Fault::HoldAnswer => {
                let response = forward(request).await?;
                while removed.changed().await.is_ok() {}
                return Ok(response);
            }
            Fault::Stream { after_events, then } => {
                broken = Some((rule, StreamMode::Break { after_events, then }));
            }
        }
    }
    let response = forward(request).await?;
    if !opens_stream(&resource_request) || response.status() != StatusCode::OK {
        return Ok(response);
    }
    let framing = framing(&response);
    let ticket = faults.open_stream(resource_request, broken);
    Ok(response.map(|body| inject(body, framing, ticket)))
}

fn framing(response: &Response<Body>) -> Framing {
    let json = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"));
    if json { Framing::Lines } else { Framing::Chunks }
}

/// Parses the request. For a create, the name comes from the body.
fn parse_request(parts: &http::request::Parts, body: &[u8]) -> Option<ResourceRequest> {
    let query = Query::parse(parts.uri.query());
    let mut request = ResourceRequest::parse(&parts.method, parts.uri.path(), &query)?;
    if request.verb == Verb::Create && request.name.is_none() {
        request.name = serde_json::from_slice::<PartialObject>(body)
            .ok()
            .and_then(|object| object.metadata.name);
    }
    Some(request)
}

#[derive(Deserialize)]
struct PartialObject {
    metadata: PartialMetadata,
}

#[derive(Deserialize)]
struct PartialMetadata {
    name: Option<String>,
}

fn respond(answer: &Answer) -> Response<Body> {
    let code = answer.status.as_u16();
    let reason = answer.reason.as_deref().unwrap_or_else(|| default_reason(code));
    let mut response = api_error(&ApiError::new(code.into(), reason, &answer.message));
    response.headers_mut().extend(answer.headers.clone());
    response
}

/// The usual `Status` reason for an HTTP status.
fn default_reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
