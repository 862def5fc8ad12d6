//! Request routing: from an HTTP request to an HTTP response.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, request::Parts};

use crate::{
    Config, discovery,
    handlers::{self, Call},
    representation::Negotiated,
    request::{Query, ResourceRequest, Verb},
    resources::{self, Table},
    response::{self, Response},
    reviews,
    status::ApiError,
    store::Store,
};

/// The server that all clones of an [`ApiSim`](crate::ApiSim) share.
pub(crate) struct Server {
    pub(crate) config: Config,
    store: Mutex<Store>,
}

/// Namespaces of a new cluster.
const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];
/// The service of the API server itself. Its cluster IP is the first of the range, as in a real cluster.
const KUBERNETES_SERVICE: &str = r#"{
    "metadata": {"name": "kubernetes", "namespace": "default",
                 "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None",
             "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
             "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]}
}"#;

impl Server {
    pub(crate) fn new(config: Config) -> Self {
        let mut store = Store::new(config.history_events_max, config.garbage_collection);
        if let Err(error) = bootstrap(&mut store) {
            tracing::error!(
                ?error,
                "cannot create the system namespaces and the service default/kubernetes"
            );
        }
        Self {
            config,
            store: Mutex::new(store),
        }
    }

    /// Locks the store. A poisoned lock is ignored: after a panic in one test, other tests still fail for their own reasons.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn handle(self: &Arc<Self>, parts: &Parts, body: Bytes) -> Response {
        let response = self.route(parts, body);
        response.unwrap_or_else(|error| response::api_error(&error))
    }

    fn route(self: &Arc<Self>, parts: &Parts, body: Bytes) -> Result<Response, ApiError> {
        let query = Query::parse(parts.uri.query());
        let path = parts.uri.path();
        if let Some(response) = discovery::handle(&parts.method, path)? {
            return Ok(response);
        }
        let Some(request) = ResourceRequest::parse(&parts.method, path, &query) else {
            return not_found(path);
        };
        if let Some(handler) = reviews::find(&request) {
            return match (request.verb, &request.name) {
                (_, Some(_)) => Err(ApiError::unknown_resource()),
                (Verb::Create, None) => handler(&self.config, &parts.headers, &body),
                _ => Err(ApiError::method_not_allowed()),
            };
        }
        let Some(resource) = resources::find(&request.group, &request.version, &request.resource) else {
            return not_found(path);
        };
        let negotiated = Negotiated::negotiate(resource, &parts.headers)?;
        let response = handlers::handle(&Call {
            server: self,
            resource,
            negotiated,
            request,
            query,
            headers: parts.headers.clone(),
            body,
        });
        let mut response = response.unwrap_or_else(|error| response::api_error(&error));
        if let Some(deprecation) = resource.deprecation {
            response::add_warnings(&mut response, &[deprecation.to_owned()]);
        }
        Ok(response)
    }
}

fn bootstrap(store: &mut Store) -> Result<(), ApiError> {
    for name in SYSTEM_NAMESPACES {
        let namespace = serde_json::json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        });
        handlers::seed(store, Table::Namespaces, &namespace.to_string())?;
    }
    handlers::seed(store, Table::Services, KUBERNETES_SERVICE)
}

/// The response for a path without a handler: a `Status` if the API group is known, plain text otherwise. A known resource
/// gets "method not allowed".
fn not_found(path: &str) -> Result<Response, ApiError> {
    let request = ResourceRequest::parse(&Method::GET, path, &Query::default());
    let Some(request) = request.filter(|request| discovery::has_group(&request.group)) else {
        return Ok(response::text(404, "404 page not found\n"));
    };
    let known = resources::find(&request.group, &request.version, &request.resource).is_some();
    Err(if known {
        ApiError::method_not_allowed()
    } else {
        ApiError::unknown_resource()
    })
}
