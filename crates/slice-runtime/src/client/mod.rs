//! Requests to the API server: each with a timeout, rate-limited, and without automatic retries.

mod error;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{AsyncBufRead, TryStreamExt as _};
use governor::{DefaultDirectRateLimiter, Quota};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;

pub(crate) use error::{ApiError, RequestError};

/// A request, or the error of its builder.
pub(crate) type BuiltRequest = Result<Request<Vec<u8>>, kube::core::request::Error>;

/// A client of the API server.
#[derive(Clone)]
pub(crate) struct ApiClient {
    client: kube::Client,
    timeout: Duration,
    limiter: Option<Arc<DefaultDirectRateLimiter>>,
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
    /// A client with this timeout per request.
    pub(crate) fn new(client: kube::Client, timeout: Duration, limit: Option<RateLimit>) -> Self {
        let quota = limit.and_then(|limit| {
            let period = Duration::from_secs_f64(limit.per_second.max(MIN_PER_SECOND).recip());
            // A period of zero means no limit.
            Some(Quota::with_period(period)?.allow_burst(limit.burst))
        });
        Self {
            client,
            timeout,
            limiter: quota.map(|quota| Arc::new(DefaultDirectRateLimiter::direct(quota))),
        }
    }

    /// Sends a request and returns the whole body of the response.
    pub(crate) async fn call(&self, request: BuiltRequest) -> Result<Bytes, RequestError> {
        let request = request?;
        self.acquire().await;
        let response = async {
            let response = self.send(request).await?;
            let body = response.into_body().collect().await;
            body.map(http_body_util::Collected::to_bytes)
                .map_err(RequestError::transport)
        };
        tokio::time::timeout(self.timeout, response)
            .await
            .unwrap_or(Err(RequestError::Timeout(self.timeout)))
    }

    /// Sends a request and returns the body of the response as a stream. The timeout covers the time to the head of the
    /// response only.
    pub(crate) async fn open_stream(&self, request: BuiltRequest) -> Result<impl AsyncBufRead + use<>, RequestError> {
        let request = request?;
        self.acquire().await;
        let response = tokio::time::timeout(self.timeout, self.send(request))
            .await
            .unwrap_or(Err(RequestError::Timeout(self.timeout)))?;
        let body = response.into_body().into_data_stream();
        Ok(body.map_err(std::io::Error::other).into_async_read())
    }

    /// Waits until the rate limit allows a request.
    async fn acquire(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.until_ready().await;
        }
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, RequestError> {
        let response = self
            .client
            .send(request.map(Body::from))
            .await
            .map_err(RequestError::transport)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(RequestError::transport)?;
        Err(RequestError::Api(ApiError::decode(&head, &body.to_bytes())))
    }
}
