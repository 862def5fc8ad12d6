//! Parsed resource requests: verb, resource, namespace and name from the HTTP method and URL.
//!
//! The simulator dispatches on them; fault rules match on them.

use std::collections::VecDeque;

use http::Method;
use percent_encoding::percent_decode_str;

/// The verb of a request, as in RBAC rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Stream the changes of a collection.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object.
    Patch,
    /// Delete one object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

impl Verb {
    /// Whether a request with this verb can change stored objects.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// A request for a resource: the verb, and the object or collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The verb.
    pub verb: Verb,
    /// The API group, empty for core.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The namespace in the URL path, if any.
    pub namespace: Option<String>,
    /// The plural name of the resource.
    pub resource: String,
    /// The object's name in the URL path, if any.
    pub name: Option<String>,
    /// The subresource, such as `status`.
    pub subresource: Option<String>,
}

impl ResourceRequest {
    /// Parses the URL path of a resource; `None` for any other path (`/version`, `/apis`, `/healthz`, …).
    #[must_use]
    pub fn parse(method: &Method, path: &str, query: &Query) -> Option<Self> {
        let mut segments = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned());
        let group = match segments.next()?.as_str() {
            "api" => String::new(),
            "apis" => segments.next()?,
            _ => return None,
        };
        let version = segments.next()?;
        let mut rest: VecDeque<String> = segments.collect();
        // `namespaces/NAME/RESOURCE` is a resource in a namespace; `namespaces/NAME/status` is a subresource.
        let in_namespace =
            rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2].as_str(), "status" | "finalize");
        let namespace = if in_namespace {
            rest.pop_front();
            rest.pop_front()
        } else {
            None
        };
        let resource = rest.pop_front()?;
        let name = rest.pop_front();
        let subresource = rest.pop_front();
        let verb = verb(method, name.is_some(), query)?;
        Some(Self {
            verb,
            group,
            version,
            namespace,
            resource,
            name,
            subresource,
        })
    }
}

fn verb(method: &Method, named: bool, query: &Query) -> Option<Verb> {
    Some(match (method, named) {
        (&Method::GET, _) if query.flag("watch") => Verb::Watch,
        (&Method::GET, true) => Verb::Get,
        (&Method::GET, false) => Verb::List,
        (&Method::POST, _) => Verb::Create,
        (&Method::PUT, _) => Verb::Update,
        (&Method::PATCH, _) => Verb::Patch,
        (&Method::DELETE, true) => Verb::Delete,
        (&Method::DELETE, false) => Verb::DeleteCollection,
        _ => return None,
    })
}

/// The query parameters of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the query of a URL.
    #[must_use]
    pub fn parse(query: Option<&str>) -> Self {
        Self(
            form_urlencoded::parse(query.unwrap_or_default().as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// The first value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether a boolean parameter is true.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &Method, url: &str) -> Option<ResourceRequest> {
        let (path, query) = match url.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (url, None),
        };
        ResourceRequest::parse(method, path, &Query::parse(query))
    }

    fn request(
        verb: Verb,
        group: &str,
        namespace: Option<&str>,
        resource: &str,
        name: Option<&str>,
        subresource: Option<&str>,
    ) -> ResourceRequest {
        ResourceRequest {
            verb,
            group: group.into(),
            version: "v1".into(),
            namespace: namespace.map(Into::into),
            resource: resource.into(),
            name: name.map(Into::into),
            subresource: subresource.map(Into::into),
        }
    }

    #[test]
    fn resource_urls_parse() {
        use Verb::{Create, Delete, DeleteCollection, Get, List, Patch, Update, Watch};
        let discovery = "discovery.k8s.io";
        let slices = "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices";
        for (method, url, expected) in [
            (Method::GET, "/api/v1/pods", request(List, "", None, "pods", None, None)),
            (
                Method::GET,
                "/api/v1/pods?limit=5&watch=1",
                request(Watch, "", None, "pods", None, None),
            ),
            (
                Method::GET,
                "/api/v1/namespaces/a",
                request(Get, "", None, "namespaces", Some("a"), None),
            ),
            (
                Method::PUT,
                "/api/v1/namespaces/a/finalize",
                request(Update, "", None, "namespaces", Some("a"), Some("finalize")),
            ),
            (
                Method::PATCH,
                "/api/v1/namespaces/a/pods/b/status",
                request(Patch, "", Some("a"), "pods", Some("b"), Some("status")),
            ),
            (
                Method::POST,
                slices,
                request(Create, discovery, Some("a"), "endpointslices", None, None),
            ),
            (
                Method::DELETE,
                slices,
                request(DeleteCollection, discovery, Some("a"), "endpointslices", None, None),
            ),
            (
                Method::DELETE,
                &format!("{slices}/x%2Dy"),
                request(Delete, discovery, Some("a"), "endpointslices", Some("x-y"), None),
            ),
        ] {
            assert_eq!(parse(&method, url), Some(expected), "{method} {url}");
        }
    }

    #[test]
    fn other_urls_are_not_resources() {
        for url in [
            "/",
            "/version",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/discovery.k8s.io/v1",
            "/healthz",
        ] {
            assert_eq!(parse(&Method::GET, url), None, "{url}");
        }
    }
}
