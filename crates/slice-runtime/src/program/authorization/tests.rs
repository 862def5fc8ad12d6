use std::time::Duration;

use apisim::{
    ApiSim, Config, Denied as DeniedAccess, User,
    faults::{Answer, FaultService, Faults, Match, Rule},
    request::Verb,
};
use futures::future::join_all;

use super::{cache::TTL, *};

const SCRAPER: &str = "token-of-the-scraper";
const STRANGER: &str = "token-of-a-stranger";

/// An authorizer whose API server knows two users; one of them may not get `/metrics`.
fn authorizer() -> (Authorizer, Faults) {
    let user = |name: &str| User {
        name: name.to_owned(),
        groups: vec!["monitoring".to_owned()],
    };
    let config = Config {
        tokens: [(SCRAPER, "scraper"), (STRANGER, "stranger")]
            .map(|(token, name)| (token.to_owned(), user(name)))
            .into(),
        denied: vec![DeniedAccess {
            user: Some("stranger".to_owned()),
            verb: Some("get".to_owned()),
            path: Some("/metrics".to_owned()),
            ..DeniedAccess::default()
        }],
        ..Config::default()
    };
    let faults = Faults::default();
    let service = FaultService::new(ApiSim::with_config(config), faults.clone());
    let connections = Connections::from(kube::Client::new(service, "default"));
    let always_allowed = ["/healthz", "/open/*"].map(str::to_owned).to_vec();
    let metrics = Arc::new(Metrics::new("stub", "stub"));
    let authorizer = Authorizer::new(always_allowed, connections.clone(), connections, &metrics);
    (authorizer, faults)
}

fn get(path: &str, authorization: &str) -> Request<()> {
    let request = Request::get(path);
    let request = match authorization {
        "" => request,
        value => request.header(header::AUTHORIZATION, value),
    };
    request.body(()).unwrap()
}

/// The decision about a request for `/metrics` with this token.
async fn metrics_with(authorizer: &Authorizer, token: &str) -> Result<Access, Denied> {
    authorizer.authorize(&get("/metrics", &format!("Bearer {token}"))).await
}

/// The numbers of token reviews and of access reviews.
fn reviews(faults: &Faults) -> (usize, usize) {
    let count = |resource| faults.count(&Match::verb(Verb::Create).resource(resource));
    (count("tokenreviews"), count("subjectaccessreviews"))
}

#[tokio::test]
async fn requests_need_a_valid_token_and_a_permission() {
    let (authorizer, faults) = authorizer();
    let (scraper, stranger) = (format!("Bearer {SCRAPER}"), format!("bearer  {STRANGER}"));
    for (path, authorization, expected) in [
        ("/healthz", "", Ok(Access::AlwaysAllowed)),
        ("/healthz?verbose", "Bearer invalid", Ok(Access::AlwaysAllowed)),
        ("/open/a/b", "", Ok(Access::AlwaysAllowed)),
        ("/open", "", Err(Denied::Unauthorized)),
        ("/healthz/", "", Err(Denied::Unauthorized)),
        ("/metrics", "", Err(Denied::Unauthorized)),
        ("/metrics", "Bearer", Err(Denied::Unauthorized)),
        ("/metrics", "Bearer ", Err(Denied::Unauthorized)),
        ("/metrics", "Basic dXNlcjpwYXNz", Err(Denied::Unauthorized)),
        ("/metrics", SCRAPER, Err(Denied::Unauthorized)),
        ("/metrics", "Bearer invalid", Err(Denied::Unauthorized)),
        ("/metrics", &scraper, Ok(Access::Authorized)),
        ("/metrics", &stranger, Err(Denied::Forbidden)),
        ("/debug/state", &stranger, Ok(Access::Authorized)),
        ("/nothing", "", Err(Denied::Unauthorized)),
    ] {
        let decision = authorizer.authorize(&get(path, authorization)).await;
        assert_eq!(decision, expected, "{path} {authorization}");
    }
    // One per token, one per user and path.
    assert_eq!(reviews(&faults), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn answers_are_used_for_ten_seconds() {
    let (authorizer, faults) = authorizer();
    let decide = async || {
        let decisions = [SCRAPER, STRANGER, "invalid"].map(|token| metrics_with(&authorizer, token));
        let expected = [
            Ok(Access::Authorized),
            Err(Denied::Forbidden),
            Err(Denied::Unauthorized),
        ];
        assert_eq!(join_all(decisions).await, expected);
        reviews(&faults)
    };
    assert_eq!(decide().await, (3, 2));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(decide().await, (3, 2));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(decide().await, (6, 4));
}

#[tokio::test(start_paused = true)]
async fn equal_reviews_in_flight_are_one() {
    let (authorizer, faults) = authorizer();
    faults.add(Rule::on(Verb::Create, "tokenreviews").delay(Duration::from_secs(1)));
    let requests = (0..20).map(|_| metrics_with(&authorizer, SCRAPER));
    assert_eq!(join_all(requests).await, [Ok(Access::Authorized); 20]);
    assert_eq!(reviews(&faults), (1, 1));
}

/// A client that closes its connection ends the review that others wait for.
#[tokio::test(start_paused = true)]
async fn a_cancelled_review_is_repeated_for_others() {
    let (authorizer, faults) = authorizer();
    let hold = faults.add(Rule::on(Verb::Create, "tokenreviews").hold_request());
    let first = tokio::time::timeout(Duration::from_secs(1), metrics_with(&authorizer, SCRAPER));
    first.await.unwrap_err();
    hold.remove();
    assert_eq!(metrics_with(&authorizer, SCRAPER).await, Ok(Access::Authorized));
}

/// The server cannot make the program log a token.
#[tokio::test(start_paused = true)]
async fn a_failed_review_denies_and_is_not_cached() {
    let (authorizer, faults) = authorizer();
    for resource in ["tokenreviews", "subjectaccessreviews"] {
        let error = Answer::status(422).message(&format!("{SCRAPER} is invalid"));
        let fault = faults.add(Rule::on(Verb::Create, resource).answer(error));
        assert_eq!(metrics_with(&authorizer, SCRAPER).await, Err(Denied::NotReviewed));
        let error = authorizer.failures.lock().unwrap().last_error().to_owned();
        assert_eq!(error, "the API server responded with 422 Unprocessable Entity");
        fault.remove();
        assert_eq!(metrics_with(&authorizer, SCRAPER).await, Ok(Access::Authorized));
        tokio::time::advance(TTL).await;
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_have_a_timeout_and_are_bounded() {
    let (authorizer, faults) = authorizer();
    faults.add(Rule::on(Verb::Create, "tokenreviews").hold_request());
    let start = Instant::now();
    let tokens: Vec<String> = (0..30).map(|number| format!("token-{number}")).collect();
    let requests = tokens.iter().map(|token| metrics_with(&authorizer, token));
    assert_eq!(join_all(requests).await, [Err(Denied::NotReviewed); 30]);
    assert_eq!(start.elapsed().as_secs(), 10);
    assert!(reviews(&faults).0 <= 4, "{:?}", reviews(&faults));
}

#[test]
fn a_denied_request_gets_a_status_and_a_reason() {
    for (denied, status, challenge) in [
        (Denied::Unauthorized, 401, Some("Bearer")),
        (Denied::Forbidden, 403, None),
        (Denied::NotReviewed, 503, None),
    ] {
        let response = denied.response();
        assert_eq!(response.status(), status);
        let header = response.headers().get(header::WWW_AUTHENTICATE);
        assert_eq!(header.map(|value| value.to_str().unwrap()), challenge);
    }
}
