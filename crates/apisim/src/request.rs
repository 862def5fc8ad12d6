//! What a request asks for, read off its method and address.
//!
//! The simulator dispatches on it; the fault rules match on it.

use std::collections::VecDeque;

use http::Method;
use percent_encoding::percent_decode_str;

/// What is to be done, in the words of Kubernetes' authorisation rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection.
    Watch,
    /// Add an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object.
    Patch,
    /// Remove one object.
    Delete,
    /// Remove a whole collection.
    DeleteCollection,
}

impl Verb {
    /// Whether a request of this verb can change what the server stores.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// A request for a resource: which verb, on which object or collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRequest {
    /// What is to be done.
    pub verb: Verb,
    /// The API group, empty for core.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The namespace in the address, if it has one.
    pub namespace: Option<String>,
    /// The plural name of the resource.
    pub resource: String,
    /// The object's name in the address, if it has one.
    pub name: Option<String>,
    /// The part of the object that is meant, such as `status`.
    pub subresource: Option<String>,
}

impl ResourceRequest {
    /// Reads the address of a resource; `None` for any other address (`/version`, `/apis`, `/healthz`, …).
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
        // `namespaces/NAME/RESOURCE` is a resource in a namespace, but `namespaces/NAME/status` is a part of a namespace.
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

/// The parameters behind the `?` of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query part of an address.
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

    /// Whether a parameter is switched on.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &Method, address: &str) -> Option<ResourceRequest> {
        let (path, query) = match address.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (address, None),
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
    fn addresses_of_resources() {
        use Verb::{Create, Delete, DeleteCollection, Get, List, Patch, Update, Watch};
        let discovery = "discovery.k8s.io";
        let slices = "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices";
        for (method, address, expected) in [
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
            assert_eq!(parse(&method, address), Some(expected), "{method} {address}");
        }
    }

    #[test]
    fn other_addresses_are_not_resources() {
        for address in [
            "/",
            "/version",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/discovery.k8s.io/v1",
            "/healthz",
        ] {
            assert_eq!(parse(&Method::GET, address), None, "{address}");
        }
    }
}
