//! The layer in front of an API server that carries out the faults.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use tower::{Service, ServiceExt as _};

use super::{
    Answer, Fault, Faults,
    registry::{ActiveFault, is_stream},
    stream::{Framing, StreamMode, faulty},
};
use crate::{
    answer::refused,
    body::{Body, BoxError, boxed, full},
    request::{Query, ResourceRequest, Verb},
    status::ApiError,
};

/// What a client meets when a fault takes the connection away.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// The server never saw the request.
    #[error("injected fault: the connection ended before the request reached the server")]
    RequestDropped,
    /// The server carried the request out.
    #[error("injected fault: the connection ended before the server's answer came back")]
    AnswerDropped,
    /// A watch ended in the middle.
    #[error("injected fault: the watch stream was cut")]
    StreamCut,
}

/// The way to an answer.
type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// An API server with faults in front of it. Requests for anything but resources (`/version`, `/readyz`, …) pass.
#[derive(Clone, Debug)]
pub struct FaultService<S> {
    inner: S,
    faults: Faults,
}

impl<S> FaultService<S> {
    /// Puts `faults` in front of `inner`.
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
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The inner service is asked for readiness where it is called, by `oneshot`.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let faults = self.faults.clone();
        let inner = self.inner.clone();
        let forward = move |request| -> Answering { Box::pin(inner.oneshot(request)) };
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = boxed(body).collect().await?.to_bytes();
            let asked = asked(&parts, &body);
            let request = Request::from_parts(parts, full(body.clone()));
            let Some(asked) = asked else {
                return forward(request).await;
            };
            let admission = faults.admit(&asked, body);
            let response = carry_out(forward, request, asked, &faults, admission.fault).await?;
            faults.answered(admission.number, response.status());
            Ok(response)
        })
    }
}

async fn carry_out(
    forward: impl FnOnce(Request<Body>) -> Answering,
    request: Request<Body>,
    asked: ResourceRequest,
    faults: &Faults,
    fault: Option<ActiveFault>,
) -> Result<Response<Body>, BoxError> {
    let mut broken = None;
    if let Some(ActiveFault {
        rule,
        fault,
        mut presence,
    }) = fault
    {
        match fault {
            Fault::Answer(answer) => {
                tokio::time::sleep(answer.delay).await;
                return Ok(respond(&answer));
            }
            Fault::Delay(delay) => tokio::time::sleep(delay).await,
            // Nothing is ever sent: an error means that the rule is gone.
            Fault::HoldRequest => while presence.changed().await.is_ok() {},
            Fault::DropRequest => return Err(FaultError::RequestDropped.into()),
            Fault::DropAnswer => {
                let response = forward(request).await?;
                // The server has committed once its whole answer is there; a stream's never is.
                if !is_stream(&asked) {
                    response.into_body().collect().await?;
                }
                return Err(FaultError::AnswerDropped.into());
            }
            Fault::Stream { after_events, then } => {
                broken = Some((rule, StreamMode::Break { after_events, then }));
            }
        }
    }
    let response = forward(request).await?;
    if !is_stream(&asked) || response.status() != StatusCode::OK {
        return Ok(response);
    }
    let framing = framing(&response);
    let ticket = faults.open_stream(asked, broken);
    Ok(response.map(|body| faulty(body, framing, ticket)))
}

fn framing(response: &Response<Body>) -> Framing {
    let json = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"));
    if json { Framing::Lines } else { Framing::Chunks }
}

/// What is asked for; a create is known by the name in its body.
fn asked(parts: &http::request::Parts, body: &[u8]) -> Option<ResourceRequest> {
    let query = Query::parse(parts.uri.query());
    let mut asked = ResourceRequest::parse(&parts.method, parts.uri.path(), &query)?;
    if asked.verb == Verb::Create && asked.name.is_none() {
        asked.name = serde_json::from_slice::<Named>(body)
            .ok()
            .and_then(|named| named.metadata.name);
    }
    Some(asked)
}

#[derive(Deserialize)]
struct Named {
    metadata: NamedMetadata,
}

#[derive(Deserialize)]
struct NamedMetadata {
    name: Option<String>,
}

fn respond(answer: &Answer) -> Response<Body> {
    let code = answer.status.as_u16();
    let reason = answer.reason.as_deref().unwrap_or_else(|| reason_of(code));
    let mut response = refused(&ApiError::new(code.into(), reason, &answer.message));
    response.headers_mut().extend(answer.headers.clone());
    response
}

/// The reason that API servers give with an HTTP status.
fn reason_of(code: u16) -> &'static str {
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
