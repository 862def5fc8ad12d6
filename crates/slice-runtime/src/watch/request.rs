//! What is asked of the server.

use std::time::Duration;

use kube::core::{
    Request,
    params::{ListParams, WatchParams},
};
use slice_controller::WatchSpec;

use crate::client::BuiltRequest;

/// Objects per page of a list.
const PAGE: u32 = 500;

/// Where a resource is found, and in which form.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    requests: Request,
    label_selector: Option<String>,
    metadata_only: bool,
}

impl Target {
    /// In one namespace, or in all if it is empty.
    pub(crate) fn new<W, O>(spec: &WatchSpec<W, O>, namespace: &str) -> Self {
        let scope = if spec.namespaced && !namespace.is_empty() {
            format!("namespaces/{namespace}/")
        } else {
            String::new()
        };
        let selector = &spec.label_selector;
        Self {
            requests: Request::new(format!("/{}/{scope}{}", spec.api_path(), spec.resource)),
            label_selector: (!selector.is_empty()).then(|| selector.clone()),
            metadata_only: spec.metadata_only,
        }
    }

    /// One object, to see whether the list is to be had at all.
    pub(super) fn one(&self) -> BuiltRequest {
        self.list(1, "")
    }

    /// One page of a list; the first one is as new as the server's data.
    pub(super) fn page(&self, continue_at: &str) -> BuiltRequest {
        self.list(PAGE, continue_at)
    }

    fn list(&self, limit: u32, continue_at: &str) -> BuiltRequest {
        let params = ListParams {
            label_selector: self.label_selector.clone(),
            limit: Some(limit),
            continue_token: (!continue_at.is_empty()).then(|| continue_at.to_owned()),
            ..ListParams::default()
        };
        if self.metadata_only {
            self.requests.list_metadata(&params)
        } else {
            self.requests.list(&params)
        }
    }

    /// All objects as of this version or a later one, and then what happens to them, in one stream. With an empty version,
    /// which the server takes for none, they are as new as its data.
    pub(super) fn watch_list(&self, at_least: &str, timeout: Duration) -> BuiltRequest {
        self.watch(&self.watch_params(timeout).initial_events(), at_least)
    }

    /// What happens to objects from a version on.
    pub(crate) fn watch_from(&self, version: &str, timeout: Duration) -> BuiltRequest {
        self.watch(&self.watch_params(timeout), version)
    }

    fn watch_params(&self, timeout: Duration) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector.clone(),
            timeout: Some(u32::try_from(timeout.as_secs()).expect("a watch does not last for years")),
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

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;

    fn pods() -> WatchSpec<(), ()> {
        WatchSpec::new((), "v1", "pods", |()| ())
    }

    /// The path and the query of a request. kube begins a query with `?&`, in which the first pair is empty.
    fn uri(request: BuiltRequest) -> String {
        request.unwrap().uri().to_string().replace("?&", "?")
    }

    #[test]
    fn requests_are_what_the_api_wants() {
        let seconds = Duration::from_secs(9);
        assert_eq!(uri(Target::new(&pods(), "").page("")), "/api/v1/pods?limit=500");
        assert_eq!(
            uri(Target::new(&pods(), "a").page("b=&c")),
            "/api/v1/namespaces/a/pods?limit=500&continue=b%3D%26c"
        );
        assert_eq!(
            uri(Target::new(&pods(), "").watch_from("7", seconds)),
            "/api/v1/pods?watch=true&timeoutSeconds=9&allowWatchBookmarks=true&resourceVersion=7"
        );
        assert_eq!(
            uri(Target::new(&pods(), "").watch_list("7", seconds)),
            "/api/v1/pods?watch=true&timeoutSeconds=9&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&resourceVersion=7"
        );
        let labelled = pods().labels("a.io/b=c,!d").metadata_only();
        // Without a version, and not with version 0, for which any data would do.
        let request = Target::new(&labelled, "").watch_list("", seconds);
        assert_eq!(
            request.as_ref().unwrap().headers()[ACCEPT],
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        );
        assert_eq!(
            uri(request),
            "/api/v1/pods?watch=true&timeoutSeconds=9&labelSelector=a.io%2Fb%3Dc%2C%21d&allowWatchBookmarks=true\
             &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
        );
        let request = Target::new(&labelled, "").one();
        assert_eq!(
            request.as_ref().unwrap().headers()[ACCEPT],
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        );
        assert_eq!(uri(request), "/api/v1/pods?labelSelector=a.io%2Fb%3Dc%2C%21d&limit=1");
        let nodes = WatchSpec::new((), "v1", "nodes", |()| ()).cluster_scoped();
        assert_eq!(uri(Target::new(&nodes, "a").page("")), "/api/v1/nodes?limit=500");
    }

    #[test]
    fn a_namespace_that_cannot_be_in_a_path_is_an_error() {
        assert!(Target::new(&pods(), "a b").page("").is_err());
    }
}
