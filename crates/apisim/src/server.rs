//! From an HTTP request to an HTTP response.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, request::Parts};

use crate::{
    Config,
    answer::{self, Response},
    discovery,
    handlers::{self, Call},
    present::Presentation,
    request::{Query, ResourceRequest, Verb},
    resources::{self, Table},
    reviews,
    status::ApiError,
    store::Store,
};

/// The server behind all clones of a handle.
pub(crate) struct Server {
    pub(crate) config: Config,
    store: Mutex<Store>,
}

/// What a new cluster holds. The cluster IP is the first of the range, as that of a real server.
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];
const KUBERNETES: &str = r#"{
    "metadata": {"name": "kubernetes", "namespace": "default",
                 "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None",
             "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
             "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]}
}"#;

impl Server {
    pub(crate) fn new(config: Config) -> Self {
        let mut store = Store::new(config.history_events_max, config.garbage_collection);
        if let Err(refusal) = boot(&mut store) {
            tracing::error!(?refusal, "a new server cannot store its own first objects");
        }
        Self {
            config,
            store: Mutex::new(store),
        }
    }

    /// The state. A panic while it was held leaves it whole enough for other tests to fail for their own reasons.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn answer(self: &Arc<Self>, parts: &Parts, body: Bytes) -> Response {
        let answer = self.route(parts, body);
        answer.unwrap_or_else(|refusal| answer::refused(&refusal))
    }

    fn route(self: &Arc<Self>, parts: &Parts, body: Bytes) -> Result<Response, ApiError> {
        let query = Query::parse(parts.uri.query());
        let path = parts.uri.path();
        if let Some(answer) = discovery::answer(&parts.method, path)? {
            return Ok(answer);
        }
        let Some(request) = ResourceRequest::parse(&parts.method, path, &query) else {
            return no_such_address(path);
        };
        if let Some(review) = reviews::find(&request) {
            return match (request.verb, &request.name) {
                (_, Some(_)) => Err(ApiError::unknown_resource()),
                (Verb::Create, None) => review(&self.config, &parts.headers, &body),
                _ => Err(ApiError::method_not_allowed()),
            };
        }
        let Some(resource) = resources::find(&request.group, &request.version, &request.resource) else {
            return no_such_address(path);
        };
        let presentation = Presentation::negotiate(resource, &parts.headers)?;
        let answer = handlers::handle(&Call {
            server: self,
            resource,
            presentation,
            request,
            query,
            headers: parts.headers.clone(),
            body,
        });
        let mut response = answer.unwrap_or_else(|refusal| answer::refused(&refusal));
        if let Some(deprecation) = resource.deprecation {
            answer::warn(&mut response, &[deprecation.to_owned()]);
        }
        Ok(response)
    }
}

fn boot(store: &mut Store) -> Result<(), ApiError> {
    for name in NAMESPACES {
        let namespace = serde_json::json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        });
        handlers::install(store, Table::Namespaces, &namespace.to_string())?;
    }
    handlers::install(store, Table::Services, KUBERNETES)
}

/// An address of a known group gets a `Status`, any other a line of text. A known resource with an unknown method, too,
/// is told so.
fn no_such_address(path: &str) -> Result<Response, ApiError> {
    let request = ResourceRequest::parse(&Method::GET, path, &Query::default());
    let Some(request) = request.filter(|request| discovery::has_group(&request.group)) else {
        return Ok(answer::text(404, "404 page not found\n"));
    };
    let known = resources::find(&request.group, &request.version, &request.resource).is_some();
    Err(if known {
        ApiError::method_not_allowed()
    } else {
        ApiError::unknown_resource()
    })
}
