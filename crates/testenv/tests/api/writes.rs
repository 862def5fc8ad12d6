//! Creates, updates and patches (R105, R142, M94, I6, I8, F1, F2, trap 12, trap 28).

use http::Method;
use serde_json::{Value, json};

use super::fixtures::{lease, node, pod, service, slice};
use super::{Api, text, version, with};

/// At most 58 characters of the prefix and 5 random ones (R142, trap 28, G4).
#[tokio::test]
async fn r142_generated_names() {
    let api = Api::new().await;
    for prefix in ["web-".to_owned(), "a".repeat(58), "b".repeat(80)] {
        let mut nameless = with(slice(""), "metadata.generateName", json!(prefix));
        nameless["metadata"].as_object_mut().unwrap().remove("name");
        let created = api.create("endpointslices", &nameless).await.ok();
        let name = text(&created, "/metadata/name");
        let kept = &prefix[..prefix.len().min(58)];
        let random = name.strip_prefix(kept).unwrap();
        assert_eq!(random.len(), 5, "{name}");
        assert!(
            random
                .bytes()
                .all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte)),
            "{name}"
        );
        assert_eq!(created["metadata"]["generateName"], json!(prefix));
    }
}

#[tokio::test]
async fn a_name_wins_over_a_prefix() {
    let api = Api::new().await;
    let both = with(slice("a"), "metadata.generateName", json!("web-"));
    let created = api.create("endpointslices", &both).await.ok();
    assert_eq!(text(&created, "/metadata/name"), "a");
    let again = api.create("endpointslices", &both).await;
    again.assert_rejected(
        "409 AlreadyExists discovery.k8s.io/endpointslices \"a\"",
        "endpointslices.discovery.k8s.io \"a\" already exists",
    );
}

#[tokio::test]
async fn creating_twice_is_rejected() {
    let api = Api::new().await;
    api.create("services", &service("a")).await.ok();
    let again = api.create("services", &service("a")).await;
    again.assert_rejected("409 AlreadyExists /services \"a\"", "services \"a\" already exists");
    let other = with(service("b"), "metadata.resourceVersion", json!("5"));
    let versioned = api.create("services", &other).await;
    versioned.assert_rejected("500", "");
}

#[tokio::test]
async fn the_namespace_of_the_object_must_match_the_path() {
    let api = Api::new().await;
    let elsewhere = with(slice("a"), "metadata.namespace", json!("elsewhere"));
    let response = api.create("endpointslices", &elsewhere).await;
    response.assert_rejected("400 BadRequest", "");
    let nowhere = "/apis/discovery.k8s.io/v1/namespaces/nowhere-at-all/endpointslices";
    let response = api.send(Method::POST, nowhere, &slice("a")).await;
    response.assert_rejected(
        "404 NotFound /namespaces \"nowhere-at-all\"",
        "namespaces \"nowhere-at-all\" not found",
    );
}

#[tokio::test]
async fn a_body_of_another_kind_is_rejected() {
    let api = Api::new().await;
    let response = api.create("endpointslices", &service("a")).await;
    response.assert_rejected(
        "400 BadRequest",
        "Service in version \"v1\" cannot be handled as a EndpointSlice",
    );
    let wrong = with(slice("a"), "endpoints", json!("many"));
    let response = api.create("endpointslices", &wrong).await;
    response.assert_rejected(
        "400 BadRequest",
        "EndpointSlice in version \"v1\" cannot be handled as a EndpointSlice",
    );
}

#[tokio::test]
async fn the_name_of_an_update_must_match_the_path() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let response = api.put("endpointslices", "a", &slice("b")).await;
    response.assert_rejected("400 BadRequest", "");
}

/// An update with a stale version conflicts (F1, I8).
#[tokio::test]
async fn f1_a_stale_version_conflicts() {
    let api = Api::new().await;
    for (resource, object, group) in [
        ("endpointslices", slice("a"), "discovery.k8s.io"),
        ("services", service("a"), ""),
        ("leases", lease("a", "me"), "coordination.k8s.io"),
    ] {
        let first = api.create(resource, &object).await.ok();
        let second = with(first.clone(), "metadata.annotations", json!({"a": "b"}));
        let second = api.update(resource, &second).await.ok();
        assert_ne!(version(&first), version(&second));
        let stale = with(first, "metadata.annotations", json!({"a": "c"}));
        let full = if group.is_empty() {
            resource.to_owned()
        } else {
            format!("{resource}.{group}")
        };
        api.update(resource, &stale).await.assert_rejected(
            &format!("409 Conflict {group}/{resource} \"a\""),
            &format!("Operation cannot be fulfilled on {full} \"a\": "),
        );
        assert_eq!(api.get(resource, "a").await.ok(), second);
    }
}

/// An update without a version is unconditional and removes the fields that it omits (R142, R105, M94).
#[tokio::test]
async fn r142_an_update_without_version_is_unconditional() {
    let api = Api::new().await;
    let old = with(slice("a"), "metadata.annotations", json!({"a": "b"}));
    let old = with(old, "metadata.finalizers", json!(["example.com/hold"]));
    let old = with(old, "metadata.generateName", json!("a-"));
    let old = api.create("endpointslices", &old).await.ok();
    let new = api.update("endpointslices", &slice("a")).await.ok();
    for gone in ["annotations", "finalizers", "generateName"] {
        assert_eq!(new["metadata"][gone], json!(null), "{gone}");
    }
    for kept in ["uid", "creationTimestamp"] {
        assert_eq!(new["metadata"][kept], old["metadata"][kept], "{kept}");
    }
}

/// A uid in the object is a precondition even without a version (trap 12, R150).
#[tokio::test]
async fn an_update_with_another_uid_conflicts() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let other = with(
        slice("a"),
        "metadata.uid",
        json!("4c1d0d5c-0000-0000-0000-000000000000"),
    );
    let response = api.update("endpointslices", &other).await;
    response.assert_rejected(
        "409 Conflict discovery.k8s.io/endpointslices \"a\"",
        "Operation cannot be fulfilled on endpointslices.discovery.k8s.io \"a\": ",
    );
}

/// A deleted slice is not found, even with its uid; where PUT creates, the uid precondition fails (F2).
#[tokio::test]
async fn f2_update_of_a_deleted_object() {
    let api = Api::new().await;
    for (resource, object, error) in [
        (
            "endpointslices",
            slice("a"),
            "404 NotFound discovery.k8s.io/endpointslices \"a\"",
        ),
        (
            "endpoints",
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"}}),
            "409 Conflict /endpoints \"a\"",
        ),
    ] {
        let created = api.create(resource, &object).await.ok();
        api.delete(resource, "a", &json!({})).await.ok();
        assert_eq!(api.update(resource, &created).await.error_summary(), error);
    }
}

/// PUT never creates (F2, R142).
#[tokio::test]
async fn f2_writes_to_a_missing_object() {
    let api = Api::new().await;
    let line = "404 NotFound discovery.k8s.io/endpointslices \"a\"";
    let message = "endpointslices.discovery.k8s.io \"a\" not found";
    api.update("endpointslices", &slice("a"))
        .await
        .assert_rejected(line, message);
    api.get("endpointslices", "a").await.assert_rejected(line, message);
    api.delete("endpointslices", "a", &json!({}))
        .await
        .assert_rejected(line, message);
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    api.patch("merge", "endpointslices", "a", &patch)
        .await
        .assert_rejected(line, message);
    api.get("pods", "a")
        .await
        .assert_rejected("404 NotFound /pods \"a\"", "pods \"a\" not found");
    let versioned = with(slice("a"), "metadata.resourceVersion", json!("1"));
    api.update("endpointslices", &versioned)
        .await
        .assert_rejected(line, message);
}

/// A no-op write keeps the version and causes no watch event (I6, R151).
#[tokio::test]
async fn a_noop_write_keeps_the_version() {
    let api = Api::new().await;
    for (resource, object) in [
        ("endpointslices", slice("a")),
        ("services", service("a")),
        ("leases", lease("a", "me")),
    ] {
        let stored = api.create(resource, &object).await.ok();
        let mut watch = api
            .watch(resource, &format!("resourceVersion={}", version(&stored)))
            .await;
        assert_eq!(api.update(resource, &stored).await.ok(), stored);
        let patch = json!({"metadata": {"annotations": null}});
        assert_eq!(api.patch("merge", resource, "a", &patch).await.ok(), stored);
        let changed = with(stored.clone(), "metadata.annotations", json!({"a": "b"}));
        let changed = api.update(resource, &changed).await.ok();
        assert_eq!(watch.event().await, ("MODIFIED a".into(), changed));
    }
}

/// An unconditional update with an equal object is a no-op, too (R105).
#[tokio::test]
async fn an_equal_object_without_version_keeps_the_version() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let again = api.update("endpointslices", &slice("a")).await.ok();
    assert_eq!(version(&again), version(&created));
}

#[tokio::test]
async fn patches() {
    let api = Api::new().await;
    let labelled = with(service("a"), "metadata.labels", json!({"x": "1", "y": "2"}));
    api.create("services", &labelled).await.ok();
    let merge = json!({"metadata": {"labels": {"x": null, "z": "3"}}});
    let merged = api.patch("merge", "services", "a", &merge).await.ok();
    assert_eq!(merged["metadata"]["labels"], json!({"y": "2", "z": "3"}));
    let json = json!([
        {"op": "test", "path": "/metadata/labels/z", "value": "3"},
        {"op": "replace", "path": "/metadata/labels/z", "value": "4"},
    ]);
    let patched = api.patch("json", "services", "a", &json).await.ok();
    assert_eq!(patched["metadata"]["labels"], json!({"y": "2", "z": "4"}));
    let again = api.patch("json", "services", "a", &json).await;
    assert_eq!(again.error_summary(), "422 Invalid");
    let lists = json!({"spec": {"ports": [{"port": 81, "name": "second"}, {"port": 80, "name": "first"}]}});
    let strategic = api.patch("strategic-merge", "services", "a", &lists).await.ok();
    let ports = strategic["spec"]["ports"].as_array().unwrap();
    let ports: Vec<_> = ports
        .iter()
        .map(|port| (text(port, "/name"), port["port"].as_i64().unwrap()))
        .collect();
    assert_eq!(ports, [("second".into(), 81), ("first".into(), 80)]);
}

#[tokio::test]
async fn a_patch_can_carry_a_version_or_a_uid() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let labels = |version: &str| json!({"metadata": {"resourceVersion": version, "labels": {"a": "b"}}});
    let patched = api
        .patch("merge", "endpointslices", "a", &labels(&version(&created)))
        .await;
    assert_eq!(patched.code, 200);
    let line = "409 Conflict discovery.k8s.io/endpointslices \"a\"";
    let stale = api
        .patch(
            "merge",
            "endpointslices",
            "a",
            &with(labels(&version(&created)), "metadata.labels.a", json!("c")),
        )
        .await;
    assert_eq!(stale.error_summary(), line);
    let other = json!({"metadata": {"uid": "4c1d0d5c-0000-0000-0000-000000000000", "labels": {"a": "d"}}});
    let other = api.patch("merge", "endpointslices", "a", &other).await;
    assert_eq!(
        other.error_summary(),
        "422 Invalid discovery.k8s.io/EndpointSlice \"a\""
    );
    assert_eq!(other.causes(), ["FieldValueInvalid metadata.uid"]);
}

#[tokio::test]
async fn patches_are_validated() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let bad = json!({"addressType": "IPv6"});
    let response = api.patch("merge", "endpointslices", "a", &bad).await;
    assert_eq!(
        response.error_summary(),
        "422 Invalid discovery.k8s.io/EndpointSlice \"a\""
    );
    assert_eq!(response.causes(), ["FieldValueInvalid addressType"]);
}

/// The status is a subresource: spec and status are updated separately. Labels are updated by both.
#[tokio::test]
async fn status_and_spec_are_updated_separately() {
    let api = Api::new().await;
    let created = api.create("pods", &pod("a")).await.ok();
    let image = "spec.containers.0.image";
    let ready = json!({"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]});
    let both = with(created.clone(), "status", ready.clone());
    let plain = api
        .update("pods", &with(both, image, json!("example.com/next")))
        .await
        .ok();
    assert_eq!(plain["status"], created["status"]);
    let both = with(with(plain, "status", ready), image, json!("example.com/last"));
    let both = with(both, "metadata.labels", json!({"a": "b"}));
    let status = api.put("pods", "a/status", &both).await.ok();
    assert_eq!(status["status"]["podIP"], "10.1.2.3");
    assert_eq!(status["spec"]["containers"][0]["image"], "example.com/next");
    assert_eq!(status["metadata"]["labels"], json!({"a": "b"}));
}

#[tokio::test]
async fn conditions_in_a_status_patch_merge_by_type() {
    let api = Api::new().await;
    api.create("pods", &pod("a")).await.ok();
    let condition = |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status}]}});
    for (kind, status) in [("Ready", "False"), ("PodScheduled", "True"), ("Ready", "True")] {
        api.patch("strategic-merge", "pods", "a/status", &condition(kind, status))
            .await
            .ok();
    }
    let stored = api.get("pods", "a").await.ok();
    let conditions: Vec<(String, String)> = stored["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| (text(condition, "/type"), text(condition, "/status")))
        .collect();
    assert_eq!(
        conditions,
        [("PodScheduled".into(), "True".into()), ("Ready".into(), "True".into())]
    );
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let api = Api::new().await;
    let path = format!("{}?dryRun=All", api.collection("endpointslices"));
    let response = api.send(Method::POST, &path, &slice("a")).await;
    assert_eq!(response.code, 201);
    assert_eq!(api.get("endpointslices", "a").await.code, 404);

    let mut generated = slice("a");
    generated["metadata"] = json!({"generateName": "a"});
    let response = api.send(Method::POST, &path, &generated).await.ok();
    let name = text(&response, "/metadata/name");
    assert!(name.starts_with('a') && name.len() > 1, "{name}");
    assert_eq!(api.get("endpointslices", &name).await.code, 404);

    let mut changed = api.create("endpointslices", &slice("a")).await.ok();
    let before = version(&changed);
    changed["metadata"]["labels"] = json!({"a": "label"});
    let path = format!("{}/a?dryRun=All", api.collection("endpointslices"));
    let response = api.send(Method::PUT, &path, &changed).await.ok();
    assert_eq!(response["metadata"]["labels"], changed["metadata"]["labels"]);
    assert_eq!(version(&api.get("endpointslices", "a").await.ok()), before);
}

#[tokio::test]
async fn versions_grow_with_every_write() {
    let api = Api::new().await;
    let mut last = 0;
    let name = format!("{}-node", api.namespace);
    let written: [(&str, Value); 4] = [
        ("endpointslices", slice("a")),
        ("services", service("a")),
        ("pods", pod("a")),
        ("nodes", node(&name)),
    ];
    for (resource, object) in written {
        let number = version(&api.create(resource, &object).await.ok())
            .parse::<u64>()
            .unwrap();
        assert!(number > last, "{resource}: {number} after {last}");
        last = number;
    }
}
