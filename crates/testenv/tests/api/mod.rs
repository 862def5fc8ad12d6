//! The API behaviour that the controllers rely on, as tests that run unchanged on two servers.
//!
//! The crate root of each target provides `Server` with a client. Tests send raw HTTP requests, so that they see null
//! lists, warnings and status bodies as sent.

mod check;
mod fixtures;
mod response;
mod watch;

mod deletes;
mod discovery;
mod endpoints;
mod garbage_collection;
mod leases_events;
mod lists;
mod pods_nodes;
mod reviews;
mod services;
mod slices_planned;
mod slices_strategy;
mod slices_validation;
mod slices_verbs;
mod watches;
mod writes;

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(crate) use check::{assert_all_rejected, differences};
pub(crate) use fixtures::with;
pub(crate) use response::ApiResponse;
pub(crate) use watch::Watch;

/// Locked by tests that compact the history and by tests that start a watch, which could lose its first events.
pub(crate) static COMPACTION_LOCK: Mutex<()> = Mutex::const_new(());

/// A server with a namespace for one test.
pub(crate) struct Api {
    server: crate::Server,
    pub(crate) namespace: String,
}

impl Api {
    /// Connects and creates a namespace for this test.
    pub(crate) async fn new() -> Self {
        Self::of(crate::Server::start()).await
    }

    /// Creates a namespace on a server.
    pub(crate) async fn of(server: crate::Server) -> Self {
        let mut api = Self {
            server,
            namespace: String::new(),
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "suite-"}});
        let made = api.create("namespaces", &namespace).await.ok();
        api.namespace = text(&made, "/metadata/name");
        api
    }

    /// The path of a collection in the test's namespace, or of a cluster-scoped one.
    pub(crate) fn collection(&self, resource: &str) -> String {
        let namespace = &self.namespace;
        let (group, namespaced, resource) = match resource {
            "namespaces" | "nodes" => ("/api/v1", false, resource),
            "endpointslices" => ("/apis/discovery.k8s.io/v1", true, resource),
            "leases" => ("/apis/coordination.k8s.io/v1", true, resource),
            "events.k8s.io" => ("/apis/events.k8s.io/v1", true, "events"),
            _ => ("/api/v1", true, resource),
        };
        if namespaced {
            format!("{group}/namespaces/{namespace}/{resource}")
        } else {
            format!("{group}/{resource}")
        }
    }

    pub(crate) async fn create(&self, resource: &str, object: &Value) -> ApiResponse {
        self.send(Method::POST, &self.collection(resource), object).await
    }

    pub(crate) async fn get(&self, resource: &str, name: &str) -> ApiResponse {
        self.read(&format!("{}/{name}", self.collection(resource))).await
    }

    /// Lists the collection; `query` is the part after the `?`.
    pub(crate) async fn list(&self, resource: &str, query: &str) -> ApiResponse {
        self.read(&format!("{}?{query}", self.collection(resource))).await
    }

    /// Updates the object.
    pub(crate) async fn update(&self, resource: &str, object: &Value) -> ApiResponse {
        self.put(resource, &text(object, "/metadata/name"), object).await
    }

    pub(crate) async fn put(&self, resource: &str, name: &str, object: &Value) -> ApiResponse {
        let path = format!("{}/{name}", self.collection(resource));
        self.send(Method::PUT, &path, object).await
    }

    /// Sends a patch of the type `json`, `merge` or `strategic-merge`.
    pub(crate) async fn patch(&self, kind: &str, resource: &str, name: &str, patch: &Value) -> ApiResponse {
        let address = format!("{}/{name}", self.collection(resource));
        let media = format!("application/{kind}-patch+json");
        self.request(Method::PATCH, &address, &media, Some(patch)).await
    }

    pub(crate) async fn delete(&self, resource: &str, name: &str, options: &Value) -> ApiResponse {
        let path = format!("{}/{name}", self.collection(resource));
        self.send(Method::DELETE, &path, options).await
    }

    /// Watches the collection.
    pub(crate) async fn watch(&self, resource: &str, query: &str) -> Watch {
        let path = format!("{}?watch=true&{query}", self.collection(resource));
        let request = Request::get(path).body(Body::empty()).unwrap();
        Watch::new(self.server.client.send(request).await.unwrap()).await
    }

    /// Compacts the history. A real server still serves it from its watch caches, except for events.
    pub(crate) async fn compact(&self) {
        self.server.compact().await;
    }

    pub(crate) async fn read(&self, path: &str) -> ApiResponse {
        self.request(Method::GET, path, "application/json", None).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> ApiResponse {
        self.request(method, path, "application/json", Some(body)).await
    }

    async fn request(&self, method: Method, path: &str, content: &str, body: Option<&Value>) -> ApiResponse {
        let body = body.map_or_else(Vec::new, |body| serde_json::to_vec(body).unwrap());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .header("accept", "application/json")
            .body(Body::from(body))
            .unwrap();
        ApiResponse::read(self.server.client.send(request).await.unwrap()).await
    }
}

/// The text at a JSON pointer, empty when there is none.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

/// The resource version of an object or list.
pub(crate) fn version(object: &Value) -> String {
    text(object, "/metadata/resourceVersion")
}

/// The names of the objects in a list.
pub(crate) fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| text(item, "/metadata/name")).collect()
}
