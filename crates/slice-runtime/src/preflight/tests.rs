use std::{convert::Infallible, num::NonZeroUsize};

use kube::client::Body;
use service_slices::controller::{Config, ServiceController};
use tokio::time::Instant;

use super::*;

/// How the server answers reviews.
#[derive(Clone, Default)]
struct Reviews(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    /// Denied permissions, as `describe` returns them.
    denied: Vec<&'static str>,
    /// The status code of all answers; 0 means success.
    code: u16,
    count: usize,
}

impl Reviews {
    fn set(&self, denied: &[&'static str], code: u16) {
        let mut answers = self.0.lock().unwrap();
        answers.denied = denied.to_vec();
        answers.code = code;
    }

    fn client(&self) -> kube::Client {
        let reviews = self.clone();
        let answer = move |request: http::Request<Body>| {
            let reviews = reviews.clone();
            async move {
                assert_eq!(
                    request.uri().path(),
                    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
                );
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut review: SelfSubjectAccessReview = serde_json::from_slice(&body).unwrap();
                let access = describe(review.spec.resource_attributes.as_ref().unwrap());
                let mut answers = reviews.0.lock().unwrap();
                answers.count += 1;
                review.status = Some(SubjectAccessReviewStatus {
                    allowed: !answers.denied.contains(&access.as_str()),
                    ..SubjectAccessReviewStatus::default()
                });
                let code = if answers.code == 0 { 201 } else { answers.code };
                let body = Body::from(serde_json::to_vec(&review).unwrap());
                Ok::<_, Infallible>(http::Response::builder().status(code).body(body).unwrap())
            }
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }
}

fn access(verb: &str, group: &str, resource: &str, subresource: Option<&str>) -> ResourceAttributes {
    ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: subresource.map(ToOwned::to_owned),
        ..ResourceAttributes::default()
    }
}

fn required() -> Vec<ResourceAttributes> {
    vec![
        access("list", "", "pods", None),
        access("update", "", "services", Some("finalizers")),
        access("create", "discovery.k8s.io", "endpointslices", None),
    ]
}

/// Advances paused time to this second after `start`, and returns the state then.
async fn state_at(second: u64, start: Instant, permissions: &Permissions) -> PermissionState {
    tokio::time::sleep_until(start + Duration::from_millis(second * 1000 + 500)).await;
    permissions.get()
}

/// A permission that is granted later ends the reviews.
#[tokio::test(start_paused = true)]
async fn missing_permissions_are_reviewed_every_minute_until_granted() {
    let (reviews, permissions, start) = (Reviews::default(), Arc::<Permissions>::default(), Instant::now());
    let denied = ["update services/finalizers", "create endpointslices.discovery.k8s.io"];
    reviews.set(&denied, 0);
    let task = tokio::spawn(review_permissions(
        reviews.client().into(),
        required(),
        Arc::clone(&permissions),
    ));
    let missing = PermissionState::Missing(denied.map(str::to_owned).to_vec());
    assert_eq!(state_at(0, start, &permissions).await, missing);
    reviews.set(&[], 0);
    assert_eq!(state_at(59, start, &permissions).await, missing);
    assert_eq!(state_at(60, start, &permissions).await, PermissionState::Granted);
    task.await.unwrap();
    assert_eq!(reviews.0.lock().unwrap().count, 6);
}

/// A refused review is no reason to stop; it is repeated with backoff, one request each.
#[tokio::test(start_paused = true)]
async fn a_review_that_fails_is_repeated_with_backoff() {
    let (reviews, permissions, start) = (Reviews::default(), Arc::<Permissions>::default(), Instant::now());
    reviews.set(&[], 403);
    let task = tokio::spawn(review_permissions(
        reviews.client().into(),
        required(),
        Arc::clone(&permissions),
    ));
    let state = state_at(7, start, &permissions).await;
    assert!(matches!(state, PermissionState::Unknown(_)), "{state:?}");
    assert_eq!(reviews.0.lock().unwrap().count, 4, "after 0, 1, 3 and 7 seconds");
    reviews.set(&[], 0);
    assert_eq!(state_at(15, start, &permissions).await, PermissionState::Granted);
    task.await.unwrap();
}

#[test]
fn requests_that_cannot_be_built_are_errors() {
    let controller = ServiceController::new(Config {
        managed_by: "us".to_owned(),
        max_endpoints_per_slice: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    });
    let errors = |namespace: &str| {
        let options = RunOptions {
            namespace: namespace.to_owned(),
            ..RunOptions::new("us", "us")
        };
        let errors = preflight(&controller, &options);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(errors("shop").is_empty());
    let expected = "cannot list and watch pods: failed to build request: invalid uri character; check the namespace";
    assert!(errors("a b").contains(&expected.to_owned()), "{:?}", errors("a b"));
}
