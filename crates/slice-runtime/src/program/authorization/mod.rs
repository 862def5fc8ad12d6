//! Who may send which request to the secure port: bearer tokens are authenticated by a `TokenReview`, paths are authorized by a
//! `SubjectAccessReview`. Without an answer, a request is denied.

mod cache;
mod reviews;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use k8s_openapi::api::authentication::v1::UserInfo;
use tokio::time::Instant;

use super::status_endpoints::{Access, text};
use crate::{Metrics, client::Connections, failure_log::FailureLog};
use reviews::{ReviewError, Reviewer};

/// Decides about requests to the secure port.
pub(super) struct Authorizer {
    /// Paths that everyone may get; one that ends with `*` stands for all that begin so.
    always_allowed: Vec<String>,
    tokens: Reviewer<Option<Arc<UserInfo>>>,
    access: Reviewer<bool>,
    failures: Mutex<FailureLog>,
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// It has no token, or one that is not valid.
    Unauthorized,
    /// The user may not do this.
    Forbidden,
    /// The API server did not answer a review.
    NotReviewed,
}

impl Authorizer {
    /// With connections for token reviews and for access reviews.
    pub(super) fn new(
        always_allowed: Vec<String>,
        authentication: Connections,
        authorization: Connections,
        metrics: &Arc<Metrics>,
    ) -> Self {
        Self {
            always_allowed,
            tokens: Reviewer::new(authentication, Arc::clone(metrics)),
            access: Reviewer::new(authorization, Arc::clone(metrics)),
            failures: Mutex::default(),
        }
    }

    /// Whether a request is allowed.
    pub(super) async fn authorize<B>(&self, request: &Request<B>) -> Result<Access, Denied> {
        let path = request.uri().path();
        if self.always_allowed.iter().any(|pattern| matches(pattern, path)) {
            return Ok(Access::AlwaysAllowed);
        }
        let token = bearer_token(request.headers()).ok_or(Denied::Unauthorized)?;
        let user = self.reviewed("token", self.tokens.user(token).await)?;
        let user = user.ok_or(Denied::Unauthorized)?;
        let verb = request.method().as_str().to_ascii_lowercase();
        let allowed = self.reviewed("access", self.access.is_allowed(&user, &verb, path).await)?;
        allowed.then_some(Access::Authorized).ok_or(Denied::Forbidden)
    }

    /// The answer of a review. A review that fails is logged, not every time.
    fn reviewed<V>(&self, review: &str, answer: Result<V, ReviewError>) -> Result<V, Denied> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let error = match answer {
            Ok(answer) => {
                failures.reset();
                return Ok(answer);
            }
            Err(error) => error.to_string(),
        };
        if let Some(not_logged) = failures.record(&error, Instant::now().into_std()) {
            tracing::warn!(
                review,
                error,
                not_logged = (not_logged > 0).then_some(not_logged),
                "a request to the secure port is denied: the API server did not review it; check the permissions to create \
                 tokenreviews and subjectaccessreviews"
            );
        }
        Err(Denied::NotReviewed)
    }
}

impl Denied {
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        match self {
            Self::Unauthorized => {
                let mut response = text(
                    StatusCode::UNAUTHORIZED,
                    "unauthorized; a valid bearer token is required\n",
                );
                let challenge = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                response
            }
            Self::Forbidden => text(
                StatusCode::FORBIDDEN,
                "forbidden; the user needs a permission for this verb on this non-resource URL\n",
            ),
            Self::NotReviewed => text(
                StatusCode::SERVICE_UNAVAILABLE,
                "denied; the API server did not review the request\n",
            ),
        }
    }
}

/// Whether a path matches a pattern of `--authorization-always-allow-paths`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => path == pattern,
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
