//! `TokenReview` and `SubjectAccessReview` requests, with a cache, a timeout and limits of their own.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{
    Resource,
    core::{Request, params::PostParams},
};
use ring::{
    hmac::{self, HMAC_SHA256},
    rand::SystemRandom,
};
use serde::{Serialize, de::DeserializeOwned};
use slice_controller::ErrorChain;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::cache::{AnswerCache, Digest};
use crate::{
    Metrics,
    client::{ApiClient, Connections, RateLimit, RequestError},
    escape::Escaped,
};

/// The time for a review, with the wait for others. As in kube-controller-manager.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Reviews in flight of one kind, and how many there may be per second: each request with a new token causes one, before anything
/// is known about the client.
const MAX_IN_FLIGHT: usize = 4;
const RATE_LIMIT: RateLimit = RateLimit {
    per_second: 50.0,
    burst: NonZeroU32::MIN.saturating_add(49),
};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct ReviewError(String);

impl From<RequestError> for ReviewError {
    fn from(error: RequestError) -> Self {
        Self(match error {
            // Not its message: the server may repeat what it was sent, such as a token.
            RequestError::Api(error) => format!("the API server responded with {}", error.code),
            error => Escaped(ErrorChain(&error)).to_string(),
        })
    }
}

/// Asks the API server for reviews of one kind, and keeps the answers.
pub(super) struct Reviewer<V> {
    api: ApiClient,
    answers: Mutex<AnswerCache<V>>,
    permits: Semaphore,
    /// The key of digests, so that no digest can be computed outside of this process.
    digest_key: hmac::Key,
}

impl<V: Clone> Reviewer<V> {
    pub(super) fn new(connections: Connections, metrics: Arc<Metrics>) -> Self {
        Self {
            api: ApiClient::new(connections, TIMEOUT, Some(RATE_LIMIT)).with_metrics(metrics),
            answers: Mutex::default(),
            permits: Semaphore::new(MAX_IN_FLIGHT),
            digest_key: hmac::Key::generate(HMAC_SHA256, &SystemRandom::new()).expect("the system has random numbers"),
        }
    }

    /// The cached answer to a review, or the server's.
    async fn answer<R>(&self, review: &R, read: impl FnOnce(R) -> V) -> Result<V, ReviewError>
    where
        R: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        let body = serde_json::to_vec(review).map_err(|error| ReviewError(error.to_string()))?;
        let cell = self.lock_answers().cell(self.digest(&body), Instant::now());
        let answer = cell.get_or_try_init(async || {
            let _permit = self.permits.acquire().await;
            let asked_at = Instant::now();
            let request = Request::new(R::url_path(&(), None)).create(&PostParams::default(), body);
            let response = self.api.call(request).await?;
            // Not the error of the decoder, which may quote the response.
            let review = serde_json::from_slice(&response)
                .map_err(|_| ReviewError(format!("the API server responded with no {}", R::kind(&()))))?;
            Ok::<_, ReviewError>((read(review), asked_at))
        });
        match timeout(TIMEOUT, answer).await {
            Ok(answer) => Ok(answer?.0.clone()),
            Err(_) => Err(ReviewError(format!("no answer within {} s", TIMEOUT.as_secs()))),
        }
    }

    fn lock_answers(&self) -> std::sync::MutexGuard<'_, AnswerCache<V>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache keeps digests, never tokens.
    fn digest(&self, bytes: &[u8]) -> Digest {
        let mut digest = Digest::default();
        digest.copy_from_slice(hmac::sign(&self.digest_key, bytes).as_ref());
        digest
    }
}

impl Reviewer<Option<Arc<UserInfo>>> {
    /// The user of a token; none if the token is not valid.
    pub(super) async fn user(&self, token: &str) -> Result<Option<Arc<UserInfo>>, ReviewError> {
        #[expect(clippy::useless_conversion, reason = "optional in API versions before 1.36")]
        let token = token.to_owned().into();
        let review = TokenReview {
            spec: TokenReviewSpec { token, audiences: None },
            ..TokenReview::default()
        };
        let user = |review: TokenReview| {
            let status = review.status.filter(|status| status.authenticated == Some(true));
            status.and_then(|status| status.user).map(Arc::new)
        };
        self.answer(&review, user).await
    }
}

impl Reviewer<bool> {
    /// Whether a user may do this with a path.
    pub(super) async fn is_allowed(&self, user: &UserInfo, verb: &str, path: &str) -> Result<bool, ReviewError> {
        let user = user.clone();
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb.to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let allowed = |review: SubjectAccessReview| review.status.is_some_and(|status| status.allowed);
        self.answer(&review, allowed).await
    }
}
