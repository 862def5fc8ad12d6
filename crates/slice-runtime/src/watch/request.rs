//! What is asked of the server.

use std::time::Duration;

use http::{Request, header::ACCEPT};
use slice_controller::WatchSpec;

/// Objects per page of a list.
const PAGE: usize = 500;
const FULL: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Where a resource is found, and in which form.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    path: String,
    label_selector: String,
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
        Self {
            path: format!("/{}/{scope}{}", spec.api_path(), spec.resource),
            label_selector: spec.label_selector.clone(),
            metadata_only: spec.metadata_only,
        }
    }

    /// One object, to see whether the list is to be had at all.
    pub(super) fn one(&self) -> Request<Vec<u8>> {
        self.request(&[("limit", "1")], METADATA_LIST)
    }

    /// One page of a list; the first one is as new as the server's data.
    pub(super) fn page(&self, continue_at: &str) -> Request<Vec<u8>> {
        let limit = PAGE.to_string();
        let mut query = vec![("limit", limit.as_str())];
        if !continue_at.is_empty() {
            query.push(("continue", continue_at));
        }
        self.request(&query, METADATA_LIST)
    }

    /// All objects as of this version or a later one, and then what happens to them, in one stream. Without a version, they
    /// are as new as the server's data.
    pub(super) fn watch_list(&self, at_least: &str, timeout: Duration) -> Request<Vec<u8>> {
        let mut query = vec![("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")];
        if !at_least.is_empty() {
            query.push(("resourceVersion", at_least));
        }
        self.watch(&query, timeout)
    }

    /// What happens to objects from a version on.
    pub(crate) fn watch_from(&self, version: &str, timeout: Duration) -> Request<Vec<u8>> {
        self.watch(&[("resourceVersion", version)], timeout)
    }

    fn watch(&self, more: &[(&str, &str)], timeout: Duration) -> Request<Vec<u8>> {
        let timeout = timeout.as_secs().to_string();
        let mut query = vec![
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", &timeout),
        ];
        query.extend(more);
        self.request(&query, METADATA)
    }

    fn request(&self, query: &[(&str, &str)], metadata: &'static str) -> Request<Vec<u8>> {
        let path = format!("{}?", self.path);
        let start = path.len();
        let mut text = form_urlencoded::Serializer::for_suffix(path, start);
        text.extend_pairs(query);
        if !self.label_selector.is_empty() {
            text.append_pair("labelSelector", &self.label_selector);
        }
        let mut request = Request::new(Vec::new());
        // A path of ours with an encoded query is a URI.
        *request.uri_mut() = text.finish().parse().unwrap_or_default();
        let accept = if self.metadata_only { metadata } else { FULL };
        request
            .headers_mut()
            .insert(ACCEPT, http::HeaderValue::from_static(accept));
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> WatchSpec<(), ()> {
        WatchSpec::new((), "v1", "pods", |()| ())
    }

    #[test]
    fn requests_are_what_the_api_wants() {
        let seconds = Duration::from_secs(9);
        let uri = |request: Request<Vec<u8>>| request.uri().to_string();
        assert_eq!(uri(Target::new(&pods(), "").page("")), "/api/v1/pods?limit=500");
        assert_eq!(
            uri(Target::new(&pods(), "a").page("b=&c")),
            "/api/v1/namespaces/a/pods?limit=500&continue=b%3D%26c"
        );
        assert_eq!(
            uri(Target::new(&pods(), "").watch_from("7", seconds)),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=9&resourceVersion=7"
        );
        let labelled = pods().labels("a.io/b=c,!d").metadata_only();
        let request = Target::new(&labelled, "").watch_list("", seconds);
        assert_eq!(request.headers()[ACCEPT], METADATA);
        assert_eq!(
            uri(request),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=9&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&labelSelector=a.io%2Fb%3Dc%2C%21d"
        );
        let nodes = WatchSpec::new((), "v1", "nodes", |()| ()).cluster_scoped();
        assert_eq!(uri(Target::new(&nodes, "a").page("")), "/api/v1/nodes?limit=500");
    }
}
