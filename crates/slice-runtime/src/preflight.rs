//! The preflight check before a controller runs: API server reachable, resources served, access granted.

use futures::future::join_all;
use http::StatusCode;
use slice_controller::{Controller, ErrorChain, WatchSpec};

use crate::{
    client::{ApiClient, Connections, RequestError},
    escape::Escaped,
    run::{REQUEST_TIMEOUT, RunOptions, slices_watch},
    watch::{ListWatch, current_version},
};

/// Why a controller cannot run. Texts of the API server are escaped.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreflightError {
    /// The API server cannot be reached.
    #[error("the API server cannot be reached: {0}; check its address, the network and the client configuration")]
    Unreachable(String),
    /// The request cannot be built, for example because the namespace is invalid.
    #[error("cannot {verb} {resource}: {message}")]
    InvalidRequest {
        /// The verb.
        verb: &'static str,
        /// The resource.
        resource: &'static str,
        /// Why the request cannot be built.
        message: String,
    },
    /// The API server does not serve the resource.
    #[error("the API server does not serve {api}/{resource}, which is required")]
    NotServed {
        /// The path of the group and version.
        api: String,
        /// The resource.
        resource: &'static str,
    },
    /// Access is denied.
    #[error("not allowed to {verb} {resource}: {message}; check the credentials and RBAC rules")]
    Forbidden {
        /// The verb that is denied.
        verb: &'static str,
        /// The resource.
        resource: &'static str,
        /// The message of the API server.
        message: String,
    },
    /// The API server rejects the request, for example because of an invalid selector.
    #[error("the API server rejected the request to {verb} {resource}: {message}; check the selectors and names")]
    Rejected {
        /// The verb.
        verb: &'static str,
        /// The resource.
        resource: &'static str,
        /// The message of the API server.
        message: String,
    },
}

/// Checks whether a controller can run: lists and watches each of its resources once. A busy API server is not an error, nor is
/// one that lacks an optional resource.
pub async fn preflight<C: Controller>(
    controller: &C,
    connections: impl Into<Connections>,
    options: &RunOptions,
) -> Vec<PreflightError> {
    let api = ApiClient::new(connections.into(), REQUEST_TIMEOUT, options.rate_limit);
    let watches = controller.watches();
    let slices = slices_watch(&options.managed_by);
    let probes = watches.iter().map(|spec| probe(&api, spec, &options.namespace));
    let (mut results, slices_result) = futures::join!(join_all(probes), probe(&api, &slices, &options.namespace));
    results.push(slices_result);
    let mut errors: Vec<PreflightError> = Vec::new();
    for error in results.into_iter().filter_map(Result::err) {
        // A resource may have several watches.
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    // All requests go to one server, so one such error suffices.
    let unreachable = |error: &PreflightError| matches!(error, PreflightError::Unreachable(_));
    if let Some(index) = errors.iter().position(unreachable) {
        errors = vec![errors.swap_remove(index)];
    }
    errors
}

async fn probe<W, O>(api: &ApiClient, spec: &WatchSpec<W, O>, namespace: &str) -> Result<(), PreflightError> {
    let list_watch = ListWatch::new(spec, namespace);
    let version = match current_version(api, &list_watch).await {
        Ok(version) => version,
        Err(error) => return classify(spec, "list", &error),
    };
    match api.open_stream(list_watch.watch_from(&version, REQUEST_TIMEOUT)).await {
        Ok(_) => Ok(()),
        Err(error) => classify(spec, "watch", &error),
    }
}

/// Turns a request error into a preflight error; ignores errors that may be temporary.
fn classify<W, O>(spec: &WatchSpec<W, O>, verb: &'static str, error: &RequestError) -> Result<(), PreflightError> {
    let (resource, message) = (spec.resource, Escaped(ErrorChain(error)).to_string());
    if let RequestError::Build(_) = error {
        return Err(PreflightError::InvalidRequest {
            verb,
            resource,
            message,
        });
    }
    let Some(api_error) = error.api_error() else {
        return Err(PreflightError::Unreachable(message));
    };
    Err(match api_error.code {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => PreflightError::Forbidden {
            verb,
            resource,
            message,
        },
        StatusCode::NOT_FOUND if spec.optional => return Ok(()),
        StatusCode::NOT_FOUND => PreflightError::NotServed {
            api: spec.api_path(),
            resource,
        },
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::GONE => return Ok(()),
        code if code.is_client_error() => PreflightError::Rejected {
            verb,
            resource,
            message,
        },
        _ => return Ok(()),
    })
}
