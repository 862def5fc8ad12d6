//! Discovery, version and health.

use serde_json::{Value, json};

use super::{Api, text};

#[tokio::test]
async fn groups_and_versions() {
    let api = Api::new().await;
    assert_eq!(api.read("/api").await.ok()["versions"], json!(["v1"]));
    let groups = api.read("/apis").await.ok();
    assert_eq!(text(&groups, "/kind"), "APIGroupList");
    for name in [
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
    ] {
        let found = groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .find(|group| group["name"] == name);
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        let group = found.unwrap_or_else(|| panic!("no group {name}"));
        assert_eq!(
            (&group["preferredVersion"], &group["versions"][0]),
            (&version, &version)
        );
        let alone = api.read(&format!("/apis/{name}")).await.ok();
        assert_eq!(
            (text(&alone, "/kind"), &alone["preferredVersion"]),
            ("APIGroup".into(), &version)
        );
    }
}

const ALL: &str = "create delete deletecollection get list patch update watch";
const STATUS: &str = "get patch update";

/// Group, name, kind, whether namespaced, short name, and verbs.
const RESOURCES: [(&str, &str, &str, bool, &str, &str); 16] = [
    ("v1", "endpoints", "Endpoints", true, "ep", ALL),
    ("v1", "events", "Event", true, "ev", ALL),
    (
        "v1",
        "namespaces",
        "Namespace",
        false,
        "ns",
        "create delete get list patch update watch",
    ),
    ("v1", "namespaces/status", "Namespace", false, "", STATUS),
    ("v1", "nodes", "Node", false, "no", ALL),
    ("v1", "nodes/status", "Node", false, "", STATUS),
    ("v1", "pods", "Pod", true, "po", ALL),
    ("v1", "pods/status", "Pod", true, "", STATUS),
    ("v1", "services", "Service", true, "svc", ALL),
    ("v1", "services/status", "Service", true, "", STATUS),
    ("coordination.k8s.io/v1", "leases", "Lease", true, "", ALL),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", true, "", ALL),
    ("events.k8s.io/v1", "events", "Event", true, "ev", ALL),
    (
        "authentication.k8s.io/v1",
        "tokenreviews",
        "TokenReview",
        false,
        "",
        "create",
    ),
    (
        "authorization.k8s.io/v1",
        "subjectaccessreviews",
        "SubjectAccessReview",
        false,
        "",
        "create",
    ),
    (
        "authorization.k8s.io/v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        false,
        "",
        "create",
    ),
];

#[tokio::test]
async fn resources() {
    let api = Api::new().await;
    for (group, name, kind, namespaced, short, verbs) in RESOURCES {
        let root = if group == "v1" { "/api" } else { "/apis" };
        let document = api.read(&format!("{root}/{group}")).await.ok();
        assert_eq!(text(&document, "/kind"), "APIResourceList");
        assert_eq!(text(&document, "/groupVersion"), group);
        let mut resources = document["resources"].as_array().unwrap().iter();
        let found = resources.find(|resource| resource["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {group}"));
        assert_eq!(
            (text(found, "/kind").as_str(), &found["namespaced"]),
            (kind, &json!(namespaced)),
            "{group} {name}"
        );
        assert_eq!(words(&found["shortNames"]), short, "{group} {name}");
        assert_eq!(words(&found["verbs"]), verbs, "{group} {name}");
    }
}

fn words(list: &Value) -> String {
    let words: Vec<&str> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    words.join(" ")
}

#[tokio::test]
async fn the_version() {
    let api = Api::new().await;
    let version = api.read("/version").await.ok();
    assert_eq!(
        (text(&version, "/major"), text(&version, "/minor")),
        ("1".into(), "36".into())
    );
    assert_eq!(text(&version, "/gitVersion"), "v1.36.4");
}

#[tokio::test]
async fn health() {
    let api = Api::new().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        let response = api.read(path).await;
        assert_eq!((response.code, &response.body), (200, &json!("ok")), "{path}");
    }
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let api = Api::new().await;
    for path in [
        "/apis/discovery.k8s.io/v1beta1/endpointslices",
        "/apis/discovery.k8s.io/v1/nonsense",
        "/apis/no.such.group/v1",
    ] {
        let response = api.read(path).await;
        assert_eq!(response.code, 404, "{path}: {response:?}");
    }
}

/// A verb that the resource does not support.
#[tokio::test]
async fn wrong_methods() {
    let api = Api::new().await;
    let path = api.collection("endpointslices");
    let response = api.send(http::Method::PUT, &path, &json!({})).await;
    response.assert_rejected("405 MethodNotAllowed", "");
}
