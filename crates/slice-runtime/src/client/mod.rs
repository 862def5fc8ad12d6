//! Requests to the API server: each with a deadline, none repeated behind anybody's back.

mod failure;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{AsyncBufRead, TryStreamExt as _};
use governor::{DefaultDirectRateLimiter, Quota};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;

pub(crate) use failure::{ApiError, RequestError};

/// A request, unless it could not be built.
pub(crate) type BuiltRequest = Result<Request<Vec<u8>>, kube::core::request::Error>;

/// Talks to the API server.
#[derive(Clone)]
pub(crate) struct ApiClient {
    client: kube::Client,
    deadline: Duration,
    limiter: Option<Arc<DefaultDirectRateLimiter>>,
}

/// One request a day: a lower rate is taken for that, so that the period fits a [`Duration`].
const LEAST_PER_SECOND: f64 = 1.0 / 86_400.0;

/// How many requests are sent in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// In the long run.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: NonZeroU32,
}

impl ApiClient {
    /// A client whose calls end after `deadline`, answered or not.
    pub(crate) fn new(client: kube::Client, deadline: Duration, limit: Option<RateLimit>) -> Self {
        let quota = limit.and_then(|limit| {
            let period = Duration::from_secs_f64(limit.per_second.max(LEAST_PER_SECOND).recip());
            // A period of nothing is no limit.
            Some(Quota::with_period(period)?.allow_burst(limit.burst))
        });
        Self {
            client,
            deadline,
            limiter: quota.map(|quota| Arc::new(DefaultDirectRateLimiter::direct(quota))),
        }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn call(&self, request: BuiltRequest) -> Result<Bytes, RequestError> {
        let request = request?;
        self.wait_for_turn().await;
        let answer = async {
            let response = self.send(request).await?;
            let body = response.into_body().collect().await;
            body.map(http_body_util::Collected::to_bytes)
                .map_err(RequestError::transport)
        };
        tokio::time::timeout(self.deadline, answer)
            .await
            .unwrap_or(Err(RequestError::Timeout(self.deadline)))
    }

    /// Sends a request and hands over the answer as it comes. Only the time until it begins is bounded here.
    pub(crate) async fn open(&self, request: BuiltRequest) -> Result<impl AsyncBufRead + use<>, RequestError> {
        let request = request?;
        self.wait_for_turn().await;
        let response = tokio::time::timeout(self.deadline, self.send(request))
            .await
            .unwrap_or(Err(RequestError::Timeout(self.deadline)))?;
        let body = response.into_body().into_data_stream();
        Ok(body.map_err(std::io::Error::other).into_async_read())
    }

    async fn wait_for_turn(&self) {
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
        Err(RequestError::Api(ApiError::read(&head, &body.to_bytes())))
    }
}
