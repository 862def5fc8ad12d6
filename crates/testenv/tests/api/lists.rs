//! Lists: pages, selectors, versions (F11, R50, G12).

use serde_json::{Value, json};

use super::fixtures::{event, node, pod, service, slice};
use super::{Api, COMPACTION_LOCK, names, text, version, with};

/// Creates slices with these names.
async fn slices(api: &Api, names: &[&str]) {
    for name in names {
        api.create("endpointslices", &slice(name)).await.ok();
    }
}

#[tokio::test]
async fn a_list_is_sorted_and_names_its_kind() {
    let api = Api::new().await;
    slices(&api, &["b", "a", "c"]).await;
    let list = api.list("endpointslices", "").await.ok();
    assert_eq!(
        (text(&list, "/kind"), text(&list, "/apiVersion")),
        ("EndpointSliceList".into(), "discovery.k8s.io/v1".into())
    );
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert!(version(&list).parse::<u64>().unwrap() > 0);
    let kinds: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["kind"])
        .collect();
    assert_eq!(kinds, [&json!(null); 3], "items carry no kind");
}

#[tokio::test]
async fn an_empty_list_has_items() {
    let api = Api::new().await;
    let list = api.list("endpointslices", "").await.ok();
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn the_version_of_a_list_is_that_of_the_last_write_or_later() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let list = api.list("endpointslices", "").await.ok();
    assert!(version(&list).parse::<u64>().unwrap() >= version(&created).parse::<u64>().unwrap());
    assert_eq!(version(&list["items"][0]), version(&created));
}

#[tokio::test]
async fn pages() {
    let api = Api::new().await;
    slices(&api, &["a", "b", "c", "d", "e"]).await;
    let first = api.list("endpointslices", "limit=2").await.ok();
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a".into(), "b".into()], &json!(3))
    );
    // Objects created meanwhile are not in the remaining pages, which have the version of the first.
    slices(&api, &["bb", "f"]).await;
    let query = format!("limit=2&continue={}", text(&first, "/metadata/continue"));
    let second = api.list("endpointslices", &query).await.ok();
    assert_eq!(
        (names(&second), version(&second)),
        (vec!["c".into(), "d".into()], version(&first))
    );
    let query = format!("limit=2&continue={}", text(&second, "/metadata/continue"));
    let third = api.list("endpointslices", &query).await.ok();
    assert_eq!(
        (names(&third), text(&third, "/metadata/continue")),
        (vec!["e".into()], String::new())
    );
    assert_eq!(third["metadata"]["remainingItemCount"], json!(null));
}

/// With a selector the server does not count the remaining items.
#[tokio::test]
async fn pages_of_a_selection() {
    let api = Api::new().await;
    for (name, team) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
        let labelled = with(slice(name), "metadata.labels", json!({"team": team}));
        api.create("endpointslices", &labelled).await.ok();
    }
    let first = api.list("endpointslices", "limit=2&labelSelector=team%3Dx").await.ok();
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a".into(), "c".into()], &json!(null))
    );
    let query = format!(
        "limit=2&labelSelector=team%3Dx&continue={}",
        text(&first, "/metadata/continue")
    );
    assert_eq!(names(&api.list("endpointslices", &query).await.ok()), ["d"]);
}

#[tokio::test]
async fn a_page_token_must_be_one() {
    let api = Api::new().await;
    let response = api.list("endpointslices", "limit=2&continue=garbage").await;
    assert_eq!(response.error_summary(), "400 BadRequest");
    slices(&api, &["a", "b"]).await;
    let first = api.list("endpointslices", "limit=1").await.ok();
    let query = format!(
        "limit=1&resourceVersion=5&continue={}",
        text(&first, "/metadata/continue")
    );
    let response = api.list("endpointslices", &query).await;
    assert_eq!(
        response.error_summary(),
        "400 BadRequest",
        "a token holds its own version"
    );
}

/// An expired continue token is rejected with a new one that continues inconsistently (F11).
#[tokio::test]
async fn f11_expired_page_tokens() {
    let _alone = COMPACTION_LOCK.lock().await;
    let api = Api::new().await;
    for name in ["a", "b", "c"] {
        api.create("events", &event(name, &api.namespace)).await.ok();
    }
    let first = api.list("events", "limit=1").await.ok();
    api.create("events", &event("d", &api.namespace)).await.ok();
    api.compact().await;
    let query = format!("limit=1&continue={}", text(&first, "/metadata/continue"));
    let response = api.list("events", &query).await;
    assert_eq!(response.error_summary(), "410 Expired");
    let query = format!("limit=5&continue={}", text(&response.body, "/metadata/continue"));
    assert_eq!(names(&api.list("events", &query).await.ok()), ["b", "c", "d"]);
}

#[tokio::test]
async fn label_selectors() {
    let api = Api::new().await;
    for (name, labels) in [
        ("a", json!({"team": "x", "tier": "1"})),
        ("b", json!({"team": "y"})),
        ("c", json!({"tier": "2"})),
        ("d", json!({"team": "", "service.kubernetes.io/headless": ""})),
    ] {
        api.create("endpointslices", &with(slice(name), "metadata.labels", labels))
            .await
            .ok();
    }
    for (selector, expected) in [
        ("team=x", "a"),
        ("team==x", "a"),
        ("team!=x", "b c d"),
        ("team", "a b d"),
        ("!team", "c"),
        ("team=", "d"),
        ("team in (x,y)", "a b"),
        ("team notin (x,y)", "c d"),
        ("team,tier", "a"),
        ("tier>1", "c"),
        ("tier<2", "a"),
        ("service.kubernetes.io/headless=", "d"),
        ("!service.kubernetes.io/headless,team", "a b"),
        ("team=x,team=y", ""),
        ("", "a b c d"),
    ] {
        let query: String = form_urlencoded(selector);
        let list = api.list("endpointslices", &format!("labelSelector={query}")).await.ok();
        assert_eq!(names(&list).join(" "), expected, "{selector}");
    }
}

#[tokio::test]
async fn bad_selectors() {
    let api = Api::new().await;
    for query in [
        "labelSelector=a%3Db%3Dc",
        "labelSelector=%21%21",
        "labelSelector=a%20in%20b",
        "labelSelector=a%3D-b-",
        "fieldSelector=a",
    ] {
        assert_eq!(
            api.list("endpointslices", query).await.error_summary(),
            "400 BadRequest",
            "{query}"
        );
    }
    let response = api.list("endpointslices", "fieldSelector=spec.colour%3Dred").await;
    response.assert_rejected("400 BadRequest", "\"spec.colour\" is not a known field selector: only ");
}

#[tokio::test]
async fn field_selectors() {
    let api = Api::new().await;
    slices(&api, &["a", "b"]).await;
    api.create("pods", &with(pod("bound"), "spec.nodeName", json!("node-1")))
        .await
        .ok();
    api.create("pods", &pod("loose")).await.ok();
    let running = json!({"status": {"phase": "Running", "podIP": "10.1.2.3"}});
    api.patch("merge", "pods", "bound/status", &running).await.ok();
    let headless = with(service("headless"), "spec.clusterIP", json!("None"));
    api.create("services", &headless).await.ok();
    let outside = with(
        service("outside"),
        "spec",
        json!({"type": "ExternalName", "externalName": "example.com"}),
    );
    api.create("services", &outside).await.ok();
    let namespace = format!("metadata.namespace={}", api.namespace);
    for (resource, selector, expected) in [
        ("endpointslices", "metadata.name=a", "a"),
        ("endpointslices", "metadata.name!=a", "b"),
        ("endpointslices", &namespace, "a b"),
        ("endpointslices", "metadata.namespace=other", ""),
        ("pods", "spec.nodeName=node-1", "bound"),
        ("pods", "spec.nodeName=", "loose"),
        ("pods", "status.phase=Running", "bound"),
        ("pods", "status.phase!=Running,metadata.name=loose", "loose"),
        ("pods", "status.podIP=10.1.2.3", "bound"),
        ("services", "spec.clusterIP=None", "headless"),
        ("services", "spec.type=ExternalName", "outside"),
    ] {
        let query = form_urlencoded(selector);
        let list = api.list(resource, &format!("fieldSelector={query}")).await.ok();
        assert_eq!(names(&list).join(" "), expected, "{resource} {selector}");
    }
}

#[tokio::test]
async fn lists_of_all_namespaces_and_of_cluster_wide_objects() {
    let api = Api::new().await;
    let label = json!({"suite": api.namespace});
    api.create("endpointslices", &with(slice("a"), "metadata.labels", label.clone()))
        .await
        .ok();
    let node_name = format!("{}-node", api.namespace);
    api.create("nodes", &with(node(&node_name), "metadata.labels", label))
        .await
        .ok();
    let query = format!("labelSelector=suite%3D{}", api.namespace);
    let everywhere = api
        .read(&format!("/apis/discovery.k8s.io/v1/endpointslices?{query}"))
        .await
        .ok();
    assert_eq!(names(&everywhere), ["a"]);
    assert_eq!(names(&api.list("nodes", &query).await.ok()), [node_name]);
}

/// A list in a namespace that does not exist is empty, not an error.
#[tokio::test]
async fn lists_of_an_unknown_namespace_are_empty() {
    let api = Api::new().await;
    let list = api.read("/api/v1/namespaces/nowhere-at-all/pods").await.ok();
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn resource_versions_in_lists() {
    let api = Api::new().await;
    let first = api.create("endpointslices", &slice("a")).await.ok();
    let second = api.create("endpointslices", &slice("b")).await.ok();
    let (first, second) = (version(&first), version(&second));
    let at = |version: &str, matching: &str| format!("resourceVersion={version}&resourceVersionMatch={matching}");
    let exact = api.list("endpointslices", &at(&first, "Exact")).await.ok();
    assert_eq!((names(&exact), version(&exact)), (vec!["a".into()], first.clone()));
    let later = api.list("endpointslices", &at(&second, "NotOlderThan")).await.ok();
    assert_eq!(names(&later), ["a", "b"]);
    let least = api
        .list("endpointslices", &format!("resourceVersion={second}"))
        .await
        .ok();
    assert_eq!(names(&least), ["a", "b"]);
    assert!(version(&least).parse::<u64>().unwrap() >= second.parse::<u64>().unwrap());
    for bad in [
        "resourceVersionMatch=Exact".to_owned(),
        at("0", "Exact"),
        at(&first, "Nonsense"),
    ] {
        assert_eq!(
            api.list("endpointslices", &bad).await.error_summary(),
            "422 Invalid meta.k8s.io/ListOptions \"\"",
            "{bad}"
        );
    }
    let response = api.list("endpointslices", "resourceVersion=abc").await;
    response.assert_rejected("400 BadRequest", "invalid resource version: ");
}

/// The server waits for a future version, then rejects the request with a retry hint.
#[tokio::test]
async fn a_version_from_the_future_times_out() {
    let api = Api::new().await;
    let list = api.list("endpointslices", "").await.ok();
    let future = version(&list).parse::<u64>().unwrap() + 1_000_000;
    let response = api.list("endpointslices", &format!("resourceVersion={future}")).await;
    response.assert_rejected("504 Timeout", "Timeout: Too large resource version: ");
    assert_eq!(response.causes(), ["ResourceVersionTooLarge "]);
    assert_eq!(response.body["details"]["retryAfterSeconds"], 1);
}

/// Percent-encodes a selector.
fn form_urlencoded(selector: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    selector.bytes().map(escape).collect()
}
