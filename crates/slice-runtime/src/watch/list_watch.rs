//! The list and watch requests of a resource.

use std::time::Duration;

use kube::core::{
    Request,
    params::{ListParams, WatchParams},
};
use slice_controller::{ObjectRef, WatchSpec};

use crate::client::BuiltRequest;

/// Objects per page of a list.
const PAGE_SIZE: u32 = 500;

/// Builds the list and watch requests of one resource.
#[derive(Clone, Debug)]
pub(crate) struct ListWatch {
    requests: Request,
    /// The paths of the API and of the resource in it.
    paths: [String; 2],
    label_selector: Option<String>,
    metadata_only: bool,
}

impl ListWatch {
    /// For one namespace, or for all if it is empty.
    pub(crate) fn new<W, O>(spec: &WatchSpec<W, O>, namespace: &str) -> Self {
        let namespace = if spec.namespaced { namespace } else { "" };
        let paths = [spec.api_path(), spec.resource.to_owned()];
        let selector = &spec.label_selector;
        Self {
            requests: requests(&paths, namespace),
            paths,
            label_selector: (!selector.is_empty()).then(|| selector.clone()),
            metadata_only: spec.metadata_only,
        }
    }

    /// A consistent read of at most one object: checks access, and returns the current resourceVersion. Reads this object if
    /// given.
    pub(crate) fn probe(&self, object: Option<&ObjectRef>) -> BuiltRequest {
        let params = ListParams {
            field_selector: object.map(|object| format!("metadata.name={}", object.name)),
            limit: Some(1),
            ..ListParams::default()
        };
        match object {
            // Within its namespace, the server reads only the object.
            Some(object) => self.list(&requests(&self.paths, &object.namespace), params),
            None => self.list(&self.requests, params),
        }
    }

    /// One page of a list. The first page, without a continue token, is a consistent read.
    pub(super) fn page(&self, continue_token: &str) -> BuiltRequest {
        let params = ListParams {
            limit: Some(PAGE_SIZE),
            continue_token: (!continue_token.is_empty()).then(|| continue_token.to_owned()),
            ..ListParams::default()
        };
        self.list(&self.requests, params)
    }

    fn list(&self, requests: &Request, params: ListParams) -> BuiltRequest {
        let params = ListParams {
            label_selector: self.label_selector.clone(),
            ..params
        };
        if self.metadata_only {
            requests.list_metadata(&params)
        } else {
            requests.list(&params)
        }
    }

    /// A streaming list: all objects, then their changes. Without a resourceVersion it is a consistent read.
    pub(super) fn streaming_list(&self, timeout: Duration) -> BuiltRequest {
        self.watch(&self.watch_params(timeout).initial_events(), "")
    }

    /// A watch from a resourceVersion.
    pub(crate) fn watch_from(&self, version: &str, timeout: Duration) -> BuiltRequest {
        self.watch(&self.watch_params(timeout), version)
    }

    fn watch_params(&self, timeout: Duration) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector.clone(),
            timeout: Some(u32::try_from(timeout.as_secs()).expect("the timeout of a watch is less than years")),
            ..WatchParams::default()
        }
    }

    fn watch(&self, params: &WatchParams, version: &str) -> BuiltRequest {
        if self.metadata_only {
            self.requests.watch_metadata(params, version)
        } else {
            self.requests.watch(params, version)
        }
    }
}

/// Requests for one namespace, or for all if it is empty.
fn requests([api, resource]: &[String; 2], namespace: &str) -> Request {
    Request::new(match namespace {
        "" => format!("/{api}/{resource}"),
        namespace => format!("/{api}/namespaces/{namespace}/{resource}"),
    })
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;

    fn pods() -> WatchSpec<(), ()> {
        WatchSpec::new((), "v1", "pods", |()| ())
    }

    /// Path and query of a request. kube starts a query with `?&`, whose first pair is empty.
    fn uri(request: BuiltRequest) -> String {
        request.unwrap().uri().to_string().replace("?&", "?")
    }

    #[test]
    fn requests_have_the_expected_path_query_and_accept_header() {
        let seconds = Duration::from_secs(9);
        assert_eq!(uri(ListWatch::new(&pods(), "").page("")), "/api/v1/pods?limit=500");
        assert_eq!(
            uri(ListWatch::new(&pods(), "a").page("b=&c")),
            "/api/v1/namespaces/a/pods?limit=500&continue=b%3D%26c"
        );
        assert_eq!(
            uri(ListWatch::new(&pods(), "").watch_from("7", seconds)),
            "/api/v1/pods?watch=true&timeoutSeconds=9&allowWatchBookmarks=true&resourceVersion=7"
        );
        let labelled = pods().labels("a.io/b=c,!d").metadata_only();
        // An empty version, not version 0, which would allow stale data.
        let request = ListWatch::new(&labelled, "").streaming_list(seconds);
        assert_eq!(
            request.as_ref().unwrap().headers()[ACCEPT],
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        );
        assert_eq!(
            uri(request),
            "/api/v1/pods?watch=true&timeoutSeconds=9&labelSelector=a.io%2Fb%3Dc%2C%21d&allowWatchBookmarks=true\
             &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
        );
        let request = ListWatch::new(&labelled, "").probe(None);
        assert_eq!(
            request.as_ref().unwrap().headers()[ACCEPT],
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        );
        assert_eq!(uri(request), "/api/v1/pods?labelSelector=a.io%2Fb%3Dc%2C%21d&limit=1");
        let object = |namespace: &str| ObjectRef {
            namespace: namespace.into(),
            name: "x".into(),
            ..ObjectRef::default()
        };
        assert_eq!(
            uri(ListWatch::new(&pods(), "").probe(Some(&object("a")))),
            "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx&limit=1"
        );
        let nodes = WatchSpec::new((), "v1", "nodes", |()| ()).cluster_scoped();
        assert_eq!(
            uri(ListWatch::new(&nodes, "a").probe(Some(&object("")))),
            "/api/v1/nodes?fieldSelector=metadata.name%3Dx&limit=1"
        );
        assert_eq!(uri(ListWatch::new(&nodes, "a").page("")), "/api/v1/nodes?limit=500");
    }

    #[test]
    fn an_invalid_namespace_is_a_build_error() {
        assert!(ListWatch::new(&pods(), "a b").page("").is_err());
    }
}
