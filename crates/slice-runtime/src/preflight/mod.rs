//! The preflight check: whether the requests of a controller can be built, and whether its permissions are granted.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::{
    Resource as _,
    core::{Request, params::PostParams, request::Error},
};
use slice_controller::{Controller, ErrorChain, WatchSpec};

use crate::{
    client::{ApiClient, Connections, RequestError},
    escape::Escaped,
    run::{REQUEST_TIMEOUT, RunOptions, slices_watch},
    watch::ListWatch,
};

/// The time between two reviews while permissions are missing.
const REVIEW_PERIOD: Duration = Duration::from_secs(60);
/// The first delay after a review that failed; it doubles up to [`REVIEW_PERIOD`].
const REVIEW_BACKOFF: Duration = Duration::from_secs(1);

/// Why a controller cannot run: a request cannot be built, for example because the namespace is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot list and watch {resource}: {message}; check the namespace")]
pub struct PreflightError {
    /// The resource.
    pub resource: &'static str,
    /// Why the request cannot be built.
    pub message: String,
}

/// Checks whether the requests of a controller can be built. Sends nothing: [`run`](crate::run) waits for a server that cannot
/// be reached, lacks a resource or denies access.
#[must_use]
pub fn preflight<C: Controller>(controller: &C, options: &RunOptions) -> Vec<PreflightError> {
    let watches = controller.watches();
    let errors = watches.iter().filter_map(|spec| build_error(spec, options));
    let mut unique = Vec::new();
    for error in errors.chain(build_error(&slices_watch(&options.managed_by), options)) {
        // A resource may have several watches.
        if !unique.contains(&error) {
            unique.push(error);
        }
    }
    unique
}

fn build_error<W, O>(spec: &WatchSpec<W, O>, options: &RunOptions) -> Option<PreflightError> {
    let request = ListWatch::new(spec, &options.namespace).watch_from("", REQUEST_TIMEOUT);
    let error = request.err()?;
    Some(PreflightError {
        resource: spec.resource,
        message: Escaped(ErrorChain(&error)).to_string(),
    })
}

/// The permissions of a program as last reviewed, for `/readyz`.
#[derive(Debug, Default)]
pub(crate) struct Permissions(Mutex<PermissionState>);

/// The result of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PermissionState {
    /// No review has ended yet.
    #[default]
    Pending,
    /// The server did not answer a review, or refused it.
    Unknown(String),
    /// Not granted, each as verb and resource.
    Missing(Vec<String>),
    /// All are granted.
    Granted,
}

impl Permissions {
    pub(crate) fn get(&self) -> PermissionState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the state. Returns the one before.
    pub(crate) fn replace(&self, state: PermissionState) -> PermissionState {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

/// Reviews permissions until all are granted, and logs each change of the result. Without them the program runs on: a missing
/// permission is an error of the requests that need it.
pub(crate) async fn review_permissions(
    connections: Connections,
    required: Vec<ResourceAttributes>,
    permissions: Arc<Permissions>,
) {
    // Without the rate limit of writes: the reviews are few, and explain why others fail.
    let api = ApiClient::new(connections, REQUEST_TIMEOUT, None);
    let mut backoff = REVIEW_BACKOFF;
    loop {
        let state = match missing(&api, &required).await {
            Ok(missing) if missing.is_empty() => PermissionState::Granted,
            Ok(missing) => PermissionState::Missing(missing),
            Err(error) => PermissionState::Unknown(Escaped(ErrorChain(&error)).to_string()),
        };
        let before = permissions.replace(state.clone());
        if before != state {
            log_change(&before, &state);
        }
        let delay = match state {
            PermissionState::Granted => return,
            PermissionState::Unknown(_) => backoff,
            _ => REVIEW_PERIOD,
        };
        tokio::time::sleep(delay).await;
        backoff = (delay * 2).min(REVIEW_PERIOD);
    }
}

fn log_change(before: &PermissionState, state: &PermissionState) {
    match state {
        PermissionState::Missing(missing) => tracing::warn!(
            missing = missing.join(", "),
            "permissions are missing, the program runs without them; add them to its RBAC rules"
        ),
        PermissionState::Unknown(error) => {
            tracing::warn!(
                error,
                "permissions cannot be reviewed, retrying; the program runs meanwhile"
            );
        }
        PermissionState::Granted if *before != PermissionState::Pending => {
            tracing::info!("all permissions are granted");
        }
        PermissionState::Granted | PermissionState::Pending => {}
    }
}

/// The permissions that are not granted. One review after the other, and none after an error: it would concern all of them.
async fn missing(api: &ApiClient, required: &[ResourceAttributes]) -> Result<Vec<String>, RequestError> {
    let mut missing = Vec::new();
    for attributes in required {
        let body = api.call(review_request(attributes)).await?;
        let review: SelfSubjectAccessReview = serde_json::from_slice(&body).map_err(RequestError::transport)?;
        if !matches!(review.status, Some(SubjectAccessReviewStatus { allowed: true, .. })) {
            missing.push(describe(attributes));
        }
    }
    Ok(missing)
}

fn review_request(attributes: &ResourceAttributes) -> Result<http::Request<Vec<u8>>, Error> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes.clone()),
            non_resource_attributes: None,
        },
        ..SelfSubjectAccessReview::default()
    };
    let body = serde_json::to_vec(&review).map_err(Error::SerializeBody)?;
    Request::new(SelfSubjectAccessReview::url_path(&(), None)).create(&PostParams::default(), body)
}

/// Verb, resource and group, as `update services/finalizers` or `create endpointslices.discovery.k8s.io`.
fn describe(attributes: &ResourceAttributes) -> String {
    let part = |separator: char, value: &Option<String>| match value.as_deref() {
        None | Some("") => String::new(),
        Some(value) => format!("{separator}{value}"),
    };
    let verb = attributes.verb.as_deref().unwrap_or_default();
    let resource = part(' ', &attributes.resource);
    let subresource = part('/', &attributes.subresource);
    let group = part('.', &attributes.group);
    format!("{verb}{resource}{subresource}{group}")
}

#[cfg(test)]
mod tests;
