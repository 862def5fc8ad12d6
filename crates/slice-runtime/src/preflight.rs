//! Checks before a controller runs: that the API server can be reached, serves what is needed, and grants the rights.

use futures::future::join_all;
use http::StatusCode;
use slice_controller::{Controller, ErrorChain, WatchSpec};

use crate::{
    client::{ApiClient, RequestError},
    run::{CALL, RunOptions, slices_watch},
    watch,
};

/// What prevents a controller from running.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreflightError {
    /// The API server cannot be reached.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// The request cannot be built, for example because the namespace is malformed.
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
    #[error("the API server does not serve {resource} of {api}, without which nothing can be done")]
    NotServed {
        /// The group and version, as in paths.
        api: String,
        /// The resource.
        resource: &'static str,
    },
    /// A right is missing.
    #[error("not allowed to {verb} {resource}: {message}")]
    Forbidden {
        /// The verb that is not allowed.
        verb: &'static str,
        /// The resource.
        resource: &'static str,
        /// The message of the API server.
        message: String,
    },
    /// The API server rejects the request, such as for a malformed selector.
    #[error("the API server refuses to {verb} {resource}: {message}")]
    Refused {
        /// The verb.
        verb: &'static str,
        /// The resource.
        resource: &'static str,
        /// The message of the API server.
        message: String,
    },
}

/// Checks what would prevent a controller from running: each resource that it watches is listed and watched for a moment. An
/// API server that is only busy is no error, nor is one that lacks an optional resource.
pub async fn preflight<C: Controller>(
    controller: &C,
    client: kube::Client,
    options: &RunOptions,
) -> Vec<PreflightError> {
    let api = ApiClient::new(client, CALL, options.rate_limit);
    let watches = controller.watches();
    let slices = slices_watch(&options.managed_by);
    let probes = watches.iter().map(|spec| probe(&api, spec, &options.namespace));
    let (mut results, of_slices) = futures::join!(join_all(probes), probe(&api, &slices, &options.namespace));
    results.push(of_slices);
    let mut errors: Vec<PreflightError> = Vec::new();
    for error in results.into_iter().filter_map(Result::err) {
        // A resource may be watched twice.
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    // It is one server, so one error will do.
    let unreachable = |error: &PreflightError| matches!(error, PreflightError::Unreachable(_));
    if let Some(index) = errors.iter().position(unreachable) {
        errors = vec![errors.swap_remove(index)];
    }
    errors
}

async fn probe<W, O>(api: &ApiClient, spec: &WatchSpec<W, O>, namespace: &str) -> Result<(), PreflightError> {
    let target = watch::Target::new(spec, namespace);
    let version = match watch::version(api, &target).await {
        Ok(version) => version,
        Err(error) => return classify(spec, "list", &error),
    };
    match api.open(target.watch_from(&version, CALL)).await {
        Ok(_) => Ok(()),
        Err(error) => classify(spec, "watch", &error),
    }
}

/// What a failure means; nothing, if it may pass.
fn classify<W, O>(spec: &WatchSpec<W, O>, verb: &'static str, error: &RequestError) -> Result<(), PreflightError> {
    let (resource, message) = (spec.resource, ErrorChain(error).to_string());
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
        code if code.is_client_error() => PreflightError::Refused {
            verb,
            resource,
            message,
        },
        _ => return Ok(()),
    })
}
