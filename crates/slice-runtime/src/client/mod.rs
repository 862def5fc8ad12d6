//! Requests to the API server: each with a timeout, rate-limited, and without automatic retries.

mod connections;
mod error;
mod stream;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use bytes::Bytes;
use governor::{DefaultDirectRateLimiter, Quota};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::time::Instant;

use crate::{leader_election::Leadership, metrics::Metrics};
pub use connections::Connections;
use connections::Generation;
pub(crate) use connections::{ConnectionOptions, Purpose};
pub(crate) use error::{ApiError, RequestError};
pub(crate) use stream::ResponseStream;

/// The target of log lines about requests. They are shown at high verbosity only: errors are logged where they are handled.
pub(crate) const REQUEST_TARGET: &str = "slice_runtime::requests";

/// A request, or the error of its builder.
pub(crate) type BuiltRequest = Result<Request<Vec<u8>>, kube::core::request::Error>;

/// A client of the API server.
#[derive(Clone)]
pub(crate) struct ApiClient {
    pub(crate) connections: Connections,
    purpose: Purpose,
    metrics: Option<Arc<Metrics>>,
    timeout: Duration,
    limiter: Option<Arc<DefaultDirectRateLimiter>>,
    leadership: Option<Leadership>,
}

/// One request per day: lower rates are raised to it, so that the period fits a [`Duration`].
const MIN_PER_SECOND: f64 = 1.0 / 86_400.0;

/// A limit of requests to the API server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Requests per second on average.
    pub per_second: f64,
    /// Requests that may be sent at once after a pause.
    pub burst: NonZeroU32,
}

impl ApiClient {
    /// A client with this timeout per request, for requests of [`Purpose::Control`].
    pub(crate) fn new(connections: Connections, timeout: Duration, limit: Option<RateLimit>) -> Self {
        let quota = limit.and_then(|limit| {
            let period = Duration::from_secs_f64(limit.per_second.max(MIN_PER_SECOND).recip());
            // A period of zero means no limit.
            Some(Quota::with_period(period)?.allow_burst(limit.burst))
        });
        Self {
            connections,
            purpose: Purpose::Control,
            metrics: None,
            timeout,
            limiter: quota.map(|quota| Arc::new(DefaultDirectRateLimiter::direct(quota))),
            leadership: None,
        }
    }

    /// The same client, for requests that only the leader sends. No response is waited for after the renew deadline (I8).
    pub(crate) fn for_leader(&self, leadership: Option<Leadership>) -> Self {
        Self {
            leadership,
            ..self.clone()
        }
    }

    /// The same client for requests of another purpose.
    pub(crate) fn with_purpose(&self, purpose: Purpose) -> Self {
        Self {
            purpose,
            ..self.clone()
        }
    }

    /// The same client, which records its requests.
    pub(crate) fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// Sends a request and returns the whole body of the response.
    pub(crate) async fn call(&self, request: BuiltRequest) -> Result<Bytes, RequestError> {
        self.send(request, None, async |response, _| {
            let body = response.into_body().collect().await;
            body.map(http_body_util::Collected::to_bytes)
                .map_err(RequestError::transport)
        })
        .await
    }

    /// Sends a request and returns the body of the response as a stream. The timeout covers the time to the head of the
    /// response only.
    pub(crate) async fn open_stream(&self, request: BuiltRequest) -> Result<ResponseStream, RequestError> {
        self.send(request, Some("WATCH"), async |response, generation| {
            Ok(ResponseStream::new(response, self.connections.clone(), generation))
        })
        .await
    }

    /// Sends a request and reads the response, with the timeout. `verb` is the one in metrics, by default the method.
    async fn send<T>(
        &self,
        request: BuiltRequest,
        verb: Option<&'static str>,
        read: impl AsyncFnOnce(Response<Body>, Generation) -> Result<T, RequestError>,
    ) -> Result<T, RequestError> {
        let request = request?;
        if let Some(limiter) = &self.limiter {
            limiter.until_ready().await;
        }
        let (client, generation) = self.connections.client(self.purpose);
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let started_at = Instant::now();
        let mut status = None;
        let result = async {
            let response = client.send(request.map(Body::from)).await;
            let response = response.map_err(RequestError::transport)?;
            status = Some(response.status());
            self.connections.on_response(response.status(), response.version());
            if response.status().is_success() {
                return read(response, generation).await;
            }
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(RequestError::transport)?;
            Err(RequestError::Api(ApiError::decode(&head, &body.to_bytes())))
        };
        let lost = async {
            match &self.leadership {
                Some(leadership) => leadership.lost().await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            // First, so that nothing is sent after the deadline: the rate limit, or a stopped process, may have delayed this.
            biased;
            () = lost => Err(RequestError::LeaseLost),
            result = tokio::time::timeout(self.timeout, result) => {
                result.unwrap_or(Err(RequestError::Timeout(self.timeout)))
            }
        };
        match &result {
            Err(RequestError::Timeout(_)) => self.connections.on_timeout(generation, self.connections.uses_http2()),
            Err(RequestError::Transport(error)) => self.connections.on_transport_error(generation, &**error),
            _ => {}
        }
        let latency = started_at.elapsed();
        tracing::debug!(target: REQUEST_TARGET, %method, %uri, status = ?status, ?latency, "API request");
        if let Some(metrics) = &self.metrics {
            metrics.requests.sent(&method, verb, status, latency);
        }
        result
    }
}
