//! Whether there is an API server that serves what is needed, and lets us have it.

use futures::future::join_all;
use http::StatusCode;
use slice_controller::{Controller, Source};

use crate::{
    client::{ApiClient, CallError},
    run::{CALL, Options, slices_source},
    watch,
};

/// What keeps a controller from running.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// There is nobody at the other end.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// No request can be built, for example because the namespace is malformed.
    #[error("cannot {verb} {resource}: {message}")]
    Unbuilt {
        /// What was to be done.
        verb: &'static str,
        /// With what.
        resource: &'static str,
        /// Why no request can be built.
        message: String,
    },
    /// The server does not know the resource.
    #[error("the API server does not serve {resource} of {api}, without which nothing can be done")]
    NotServed {
        /// The group and version, as in paths.
        api: &'static str,
        /// The resource.
        resource: &'static str,
    },
    /// We may not.
    #[error("not allowed to {verb} {resource}: {message}")]
    Forbidden {
        /// What we may not do.
        verb: &'static str,
        /// With what.
        resource: &'static str,
        /// What the server says.
        message: String,
    },
    /// The server does not understand us: a selector is malformed, say.
    #[error("the API server refuses to {verb} {resource}: {message}")]
    Refused {
        /// What it refuses.
        verb: &'static str,
        /// Of what.
        resource: &'static str,
        /// What the server says.
        message: String,
    },
}

/// Looks for what would keep a controller from running, before it runs: each resource that it watches is listed and
/// watched for a moment. A server that is only busy is no obstacle.
pub async fn check<C: Controller>(controller: &C, client: kube::Client, options: &Options) -> Vec<Obstacle> {
    let api = ApiClient::new(client, CALL, options.rate_limit);
    let sources = controller.sources();
    let slices = slices_source(&options.managed_by);
    let probes = sources.iter().map(|source| probe(&api, source, &options.namespace));
    let (mut obstacles, of_slices) = futures::join!(join_all(probes), probe(&api, &slices, &options.namespace));
    obstacles.push(of_slices);
    let mut told: Vec<Obstacle> = Vec::new();
    for obstacle in obstacles.into_iter().filter_map(Result::err) {
        // A resource may be watched twice.
        if !told.contains(&obstacle) {
            told.push(obstacle);
        }
    }
    // It is one server, so one line says it.
    let unreachable = |obstacle: &Obstacle| matches!(obstacle, Obstacle::Unreachable(_));
    if let Some(place) = told.iter().position(unreachable) {
        told = vec![told.swap_remove(place)];
    }
    told
}

async fn probe<I>(api: &ApiClient, source: &Source<I>, namespace: &str) -> Result<(), Obstacle> {
    let target = watch::Target::new(source, namespace);
    let version = match watch::version(api, &target).await {
        Ok(version) => version,
        Err(error) => return obstacle(source, "list", &error),
    };
    match api.open(target.watch_from(&version, CALL)).await {
        Ok(_) => Ok(()),
        Err(error) => obstacle(source, "watch", &error),
    }
}

/// What a failure means; nothing, if it may pass.
fn obstacle<I>(source: &Source<I>, verb: &'static str, error: &CallError) -> Result<(), Obstacle> {
    let (api, resource, message) = (source.api, source.resource, error.to_string());
    if let CallError::Unbuilt(_) = error {
        return Err(Obstacle::Unbuilt {
            verb,
            resource,
            message,
        });
    }
    let Some(refusal) = error.refusal() else {
        return Err(Obstacle::Unreachable(message));
    };
    Err(match refusal.code {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Obstacle::Forbidden {
            verb,
            resource,
            message,
        },
        StatusCode::NOT_FOUND => Obstacle::NotServed { api, resource },
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::GONE => return Ok(()),
        code if code.is_client_error() => Obstacle::Refused {
            verb,
            resource,
            message,
        },
        _ => return Ok(()),
    })
}
