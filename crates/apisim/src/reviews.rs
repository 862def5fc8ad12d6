//! `TokenReview`, `SubjectAccessReview` and `SelfSubjectAccessReview`. Reviews are not stored.

use http::{HeaderMap, header};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewStatus, UserInfo},
    authorization::v1::{
        NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview, SubjectAccessReview,
        SubjectAccessReviewStatus,
    },
};
use serde::de::DeserializeOwned;

use crate::{
    Config,
    request::ResourceRequest,
    response::{self, Response},
    status::ApiError,
    validation::{FieldError, FieldErrorKind},
};

/// The user of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name, such as `system:serviceaccount:monitoring:prometheus`.
    pub name: String,
    /// The groups, besides `system:authenticated`.
    pub groups: Vec<String>,
}

/// A rule that denies access. A field that is `None` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denied {
    /// The name of the user.
    pub user: Option<String>,
    /// The verb, such as `get`.
    pub verb: Option<String>,
    /// The API group of a resource, empty for core.
    pub group: Option<String>,
    /// The plural name of a resource.
    pub resource: Option<String>,
    /// The namespace of a resource.
    pub namespace: Option<String>,
    /// A non-resource URL path, such as `/metrics`.
    pub path: Option<String>,
}

/// One kind of review: names, kind and handler.
pub(crate) struct Review {
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    handler: Handler,
}

type Handler = fn(&Config, &HeaderMap, &[u8]) -> Result<Response, ApiError>;

pub(crate) const REVIEWS: [Review; 3] = [
    Review {
        group: "authentication.k8s.io",
        plural: "tokenreviews",
        singular: "tokenreview",
        kind: "TokenReview",
        handler: review_token,
    },
    Review {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        kind: "SelfSubjectAccessReview",
        handler: review_self_access,
    },
    Review {
        group: "authorization.k8s.io",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        kind: "SubjectAccessReview",
        handler: review_access,
    },
];

/// The handler of a review request, if it is one.
pub(crate) fn find(request: &ResourceRequest) -> Option<Handler> {
    let found = REVIEWS
        .into_iter()
        .find(|review| request.group == review.group && request.version == "v1" && request.resource == review.plural);
    found.map(|review| review.handler)
}

fn decode<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, ApiError> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !media_type.is_empty() && !media_type.starts_with("application/json") {
        return Err(ApiError::unsupported_body());
    }
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("the review is not readable: {error}")))
}

fn review_token(config: &Config, headers: &HeaderMap, body: &[u8]) -> Result<Response, ApiError> {
    let mut review: TokenReview = decode(headers, body)?;
    let token = review.spec.token.clone();
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    review.status = Some(match config.tokens.get(&token) {
        Some(user) => {
            let mut groups = user.groups.clone();
            groups.push("system:authenticated".into());
            TokenReviewStatus {
                authenticated: Some(true),
                audiences: Some(vec!["https://kubernetes.default.svc".into()]),
                user: Some(UserInfo {
                    username: Some(user.name.clone()),
                    groups: Some(groups),
                    ..UserInfo::default()
                }),
                ..TokenReviewStatus::default()
            }
        }
        None => TokenReviewStatus {
            error: Some("invalid bearer token".into()),
            user: Some(UserInfo::default()),
            ..TokenReviewStatus::default()
        },
    });
    response::json(201, &review)
}

fn review_access(config: &Config, headers: &HeaderMap, body: &[u8]) -> Result<Response, ApiError> {
    let mut review: SubjectAccessReview = decode(headers, body)?;
    let spec = &review.spec;
    let has_user = spec.user.as_deref().is_some_and(|user| !user.is_empty());
    let has_group = spec.groups.iter().flatten().next().is_some();
    let mut errors = attribute_errors(
        spec.resource_attributes.is_some(),
        spec.non_resource_attributes.is_some(),
    );
    if !has_user && !has_group {
        errors.push(invalid("spec.user", "\"\"", "a user or a group must be given"));
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid("authorization.k8s.io", "", "", &errors));
    }
    let allowed = is_allowed(
        config,
        spec.user.as_deref().unwrap_or_default(),
        spec.resource_attributes.as_ref(),
        spec.non_resource_attributes.as_ref(),
    );
    review.status = Some(SubjectAccessReviewStatus {
        allowed,
        ..SubjectAccessReviewStatus::default()
    });
    response::json(201, &review)
}

fn review_self_access(config: &Config, headers: &HeaderMap, body: &[u8]) -> Result<Response, ApiError> {
    let mut review: SelfSubjectAccessReview = decode(headers, body)?;
    let spec = &review.spec;
    let errors = attribute_errors(
        spec.resource_attributes.is_some(),
        spec.non_resource_attributes.is_some(),
    );
    if !errors.is_empty() {
        return Err(ApiError::invalid("authorization.k8s.io", "", "", &errors));
    }
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let user = token.and_then(|token| config.tokens.get(token.trim_start_matches("Bearer ")));
    let allowed = is_allowed(
        config,
        user.map(|user| user.name.as_str()).unwrap_or_default(),
        spec.resource_attributes.as_ref(),
        spec.non_resource_attributes.as_ref(),
    );
    review.status = Some(SubjectAccessReviewStatus {
        allowed,
        ..SubjectAccessReviewStatus::default()
    });
    response::json(201, &review)
}

fn attribute_errors(resource: bool, path: bool) -> Vec<FieldError> {
    if resource == path {
        vec![invalid(
            "spec.resourceAttributes",
            "null",
            "one of nonResourceAttributes or resourceAttributes must be given",
        )]
    } else {
        Vec::new()
    }
}

fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
    FieldError {
        field: field.into(),
        kind: FieldErrorKind::Invalid(value.into()),
        detail: detail.into(),
    }
}

fn is_allowed(
    config: &Config,
    user: &str,
    resource: Option<&ResourceAttributes>,
    path: Option<&NonResourceAttributes>,
) -> bool {
    let text = |value: Option<&Option<String>>| value.and_then(Option::as_deref).unwrap_or_default().to_owned();
    let verb = text(resource.map(|resource| &resource.verb).or(path.map(|path| &path.verb)));
    let group = text(resource.map(|resource| &resource.group));
    let plural = text(resource.map(|resource| &resource.resource));
    let namespace = text(resource.map(|resource| &resource.namespace));
    let path = text(path.map(|path| &path.path));
    let matches = |rule: &Option<String>, value: &str| rule.as_deref().is_none_or(|rule| rule == value);
    !config.denied.iter().any(|denied| {
        matches(&denied.user, user)
            && matches(&denied.verb, &verb)
            && matches(&denied.group, &group)
            && matches(&denied.resource, &plural)
            && matches(&denied.namespace, &namespace)
            && matches(&denied.path, &path)
    })
}
