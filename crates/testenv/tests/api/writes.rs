//! Creating, replacing and patching (R105, R142, M94, I6, I8, F1, F2, trap 12, trap 28).

use http::Method;
use serde_json::{Value, json};

use super::objects::{lease, node, pod, service, slice};
use super::{Api, text, version, with};

/// R142, trap 28, G4: at most 58 characters of the prefix and 5 random ones.
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
    again.refused(
        "409 AlreadyExists discovery.k8s.io/endpointslices \"a\"",
        "endpointslices.discovery.k8s.io \"a\" already exists",
    );
}

#[tokio::test]
async fn creating_twice_is_refused() {
    let api = Api::new().await;
    api.create("services", &service("a")).await.ok();
    let again = api.create("services", &service("a")).await;
    again.refused("409 AlreadyExists /services \"a\"", "services \"a\" already exists");
    let other = with(service("b"), "metadata.resourceVersion", json!("5"));
    let versioned = api.create("services", &other).await;
    versioned.refused("500", "");
}

#[tokio::test]
async fn the_namespace_of_the_object_must_be_that_of_the_address() {
    let api = Api::new().await;
    let elsewhere = with(slice("a"), "metadata.namespace", json!("elsewhere"));
    let answer = api.create("endpointslices", &elsewhere).await;
    answer.refused("400 BadRequest", "");
    let nowhere = "/apis/discovery.k8s.io/v1/namespaces/nowhere-at-all/endpointslices";
    let answer = api.send(Method::POST, nowhere, &slice("a")).await;
    answer.refused(
        "404 NotFound /namespaces \"nowhere-at-all\"",
        "namespaces \"nowhere-at-all\" not found",
    );
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    let api = Api::new().await;
    let answer = api.create("endpointslices", &service("a")).await;
    answer.refused(
        "400 BadRequest",
        "Service in version \"v1\" cannot be handled as a EndpointSlice",
    );
    let wrong = with(slice("a"), "endpoints", json!("many"));
    let answer = api.create("endpointslices", &wrong).await;
    answer.refused(
        "400 BadRequest",
        "EndpointSlice in version \"v1\" cannot be handled as a EndpointSlice",
    );
}

#[tokio::test]
async fn a_replacement_needs_the_name_of_the_address() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let answer = api.put("endpointslices", "a", &slice("b")).await;
    answer.refused("400 BadRequest", "");
}

/// F1, I8: the version of the reader must be the version of the store.
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
        api.update(resource, &stale).await.refused(
            &format!("409 Conflict {group}/{resource} \"a\""),
            &format!("Operation cannot be fulfilled on {full} \"a\": "),
        );
        assert_eq!(api.get(resource, "a").await.ok(), second);
    }
}

/// R142: without a version a replacement always wins, and wipes what it does not name (R105, M94).
#[tokio::test]
async fn r142_a_replacement_without_version_is_unconditional() {
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

/// Trap 12, R150: a uid in the object is a precondition even without a version.
#[tokio::test]
async fn a_replacement_of_another_uid_conflicts() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let other = with(
        slice("a"),
        "metadata.uid",
        json!("4c1d0d5c-0000-0000-0000-000000000000"),
    );
    let answer = api.update("endpointslices", &other).await;
    answer.refused(
        "409 Conflict discovery.k8s.io/endpointslices \"a\"",
        "Operation cannot be fulfilled on endpointslices.discovery.k8s.io \"a\": ",
    );
}

/// F2: a slice that was deleted is not found, also with its uid; where PUT creates, the uid finds nothing to agree with.
#[tokio::test]
async fn f2_replacing_what_was_deleted() {
    let api = Api::new().await;
    for (resource, object, refusal) in [
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
        assert_eq!(api.update(resource, &created).await.refusal(), refusal);
    }
}

/// F2, R142: PUT never creates.
#[tokio::test]
async fn f2_writing_to_what_is_not_there() {
    let api = Api::new().await;
    let line = "404 NotFound discovery.k8s.io/endpointslices \"a\"";
    let told = "endpointslices.discovery.k8s.io \"a\" not found";
    api.update("endpointslices", &slice("a")).await.refused(line, told);
    api.get("endpointslices", "a").await.refused(line, told);
    api.delete("endpointslices", "a", &json!({})).await.refused(line, told);
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    api.patch("merge", "endpointslices", "a", &patch)
        .await
        .refused(line, told);
    api.get("pods", "a")
        .await
        .refused("404 NotFound /pods \"a\"", "pods \"a\" not found");
    let versioned = with(slice("a"), "metadata.resourceVersion", json!("1"));
    api.update("endpointslices", &versioned).await.refused(line, told);
}

/// I6, R151: a write that changes nothing keeps the version, and nobody hears of it.
#[tokio::test]
async fn a_write_of_what_is_stored_keeps_the_version() {
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

/// The unconditional replacement by an equal object is a no-op, too (R105).
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
    assert_eq!(again.refusal(), "422 Invalid");
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
    assert_eq!(stale.refusal(), line);
    let other = json!({"metadata": {"uid": "4c1d0d5c-0000-0000-0000-000000000000", "labels": {"a": "d"}}});
    let other = api.patch("merge", "endpointslices", "a", &other).await;
    assert_eq!(other.refusal(), "422 Invalid discovery.k8s.io/EndpointSlice \"a\"");
    assert_eq!(other.causes(), ["FieldValueInvalid metadata.uid"]);
}

#[tokio::test]
async fn patches_are_validated() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let bad = json!({"addressType": "IPv6"});
    let answer = api.patch("merge", "endpointslices", "a", &bad).await;
    assert_eq!(answer.refusal(), "422 Invalid discovery.k8s.io/EndpointSlice \"a\"");
    assert_eq!(answer.causes(), ["FieldValueInvalid addressType"]);
}

/// The status has an address of its own: each of the two leaves the other part alone. Labels go both ways.
#[tokio::test]
async fn status_and_spec_are_written_apart() {
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
    let answer = api.send(Method::POST, &path, &slice("a")).await;
    assert_eq!(answer.code, 201);
    assert_eq!(api.get("endpointslices", "a").await.code, 404);
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
