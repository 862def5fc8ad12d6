//! Discovery, version and health endpoints.

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions, GroupVersionForDiscovery,
    ServerAddressByClientCIDR,
};

use crate::{
    openapi,
    request::Verb,
    resources::{self, Resource},
    response::{self, Response},
    reviews::{REVIEWS, Review},
    status::ApiError,
};

/// The API groups besides core, in discovery order.
const GROUPS: [&str; 5] = [
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
];

/// Handles a path that is not a resource. `None` for the path of a resource.
pub(crate) fn handle(method: &Method, path: &str) -> Result<Option<Response>, ApiError> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let response = match segments.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => response::text(200, "ok"),
        ["version"] => response::json(200, &version())?,
        ["api"] => response::json(200, &core_versions())?,
        ["apis"] => response::json(200, &groups())?,
        ["api", "v1"] => response::json(200, &resource_list(""))?,
        ["apis", name] if has_group(name) => response::json(200, &group(name))?,
        ["apis", name, "v1"] if has_group(name) => response::json(200, &resource_list(name))?,
        ["openapi", "v3"] => response::json(200, &openapi::index(&GROUPS))?,
        ["openapi", "v3", "api", "v1"] => response::json(200, &openapi::document(""))?,
        ["openapi", "v3", "apis", name, "v1"] if has_group(name) => response::json(200, &openapi::document(name))?,
        ["api", _] => return Err(ApiError::unknown_resource()),
        ["apis", name, _] if has_group(name) => return Err(ApiError::unknown_resource()),
        ["api" | "apis", _, _, ..] => return Ok(None),
        _ => response::text(404, "404 page not found\n"),
    };
    if method == Method::GET {
        Ok(Some(response))
    } else {
        Err(ApiError::method_not_allowed())
    }
}

/// Whether the server has an API group.
pub(crate) fn has_group(name: &str) -> bool {
    name.is_empty() || GROUPS.contains(&name)
}

fn version() -> serde_json::Value {
    serde_json::json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": "v1.36.4", "gitCommit": "",
        "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "",
    })
}

fn core_versions() -> APIVersions {
    APIVersions {
        server_address_by_client_cidrs: vec![ServerAddressByClientCIDR {
            client_cidr: "0.0.0.0/0".into(),
            server_address: "127.0.0.1:6443".into(),
        }],
        versions: vec!["v1".into()],
    }
}

fn groups() -> APIGroupList {
    APIGroupList {
        groups: GROUPS.into_iter().map(group).collect(),
    }
}

fn group(name: &str) -> APIGroup {
    let version = GroupVersionForDiscovery {
        group_version: format!("{name}/v1"),
        version: "v1".into(),
    };
    APIGroup {
        name: name.into(),
        preferred_version: Some(version.clone()),
        versions: vec![version],
        ..APIGroup::default()
    }
}

fn resource_list(group: &str) -> APIResourceList {
    let stored = resources::all().iter().filter(|resource| resource.group == group);
    let reviews = REVIEWS.iter().filter(|review| review.group == group);
    let mut resources: Vec<APIResource> = stored.flat_map(entries).chain(reviews.map(review_entry)).collect();
    resources.sort_by(|one, other| one.name.cmp(&other.name));
    APIResourceList {
        group_version: if group.is_empty() {
            "v1".into()
        } else {
            format!("{group}/v1")
        },
        resources,
    }
}

/// Discovery entries of a resource and its subresources.
fn entries(resource: &Resource) -> Vec<APIResource> {
    let mut verbs = vec![
        Verb::Create,
        Verb::Delete,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Update,
        Verb::Watch,
    ];
    if resource.delete_collection {
        verbs.insert(2, Verb::DeleteCollection);
    }
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect()).filter(|_| !names.is_empty());
    let entry = |name: String, singular: &str, verbs: &[Verb]| APIResource {
        name,
        singular_name: singular.into(),
        namespaced: resource.namespaced,
        kind: resource.kind.into(),
        verbs: verbs.iter().map(|verb| verb_name(*verb).to_owned()).collect(),
        ..APIResource::default()
    };
    let main = APIResource {
        short_names: names(resource.short_names),
        categories: names(resource.categories),
        ..entry(resource.plural.into(), resource.singular, &verbs)
    };
    let subresources = resource.subresources.iter();
    let subresources = subresources.map(|(name, verbs)| entry(format!("{}/{name}", resource.plural), "", verbs));
    std::iter::once(main).chain(subresources).collect()
}

fn review_entry(review: &Review) -> APIResource {
    APIResource {
        name: review.plural.into(),
        singular_name: review.singular.into(),
        kind: review.kind.into(),
        verbs: vec!["create".into()],
        ..APIResource::default()
    }
}

fn verb_name(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::List => "list",
        Verb::Watch => "watch",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch => "patch",
        Verb::Delete => "delete",
        Verb::DeleteCollection => "deletecollection",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_follow_their_resource() {
        let names: Vec<String> = resource_list("")
            .resources
            .into_iter()
            .map(|resource| resource.name)
            .collect();
        assert_eq!(
            names,
            [
                "endpoints",
                "events",
                "namespaces",
                "namespaces/finalize",
                "namespaces/status",
                "nodes",
                "nodes/status",
                "pods",
                "pods/status",
                "services",
                "services/status",
            ]
        );
    }

    #[test]
    fn endpointslices_entry_equals_that_of_kube_apiserver() {
        assert_eq!(
            serde_json::to_value(resource_list("discovery.k8s.io")).unwrap(),
            serde_json::json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "discovery.k8s.io/v1", "resources": [{
                    "name": "endpointslices", "singularName": "endpointslice", "namespaced": true,
                    "kind": "EndpointSlice", "verbs": [
                        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                }],
            })
        );
    }
}
