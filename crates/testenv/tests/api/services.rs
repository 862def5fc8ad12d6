//! Defaults and validation of Services (R56a, R110, H3, traps 29 and 30).

use serde_json::{Value, json};

use super::fixtures::{endpoints, service};
use super::{Api, assert_all_rejected, text, with};

/// A Service whose spec is exactly this.
fn of(name: &str, spec: Value) -> Value {
    with(service(name), "spec", spec)
}

/// The stored spec without the addresses, which the server allocates.
async fn stored(api: &Api, service: &Value) -> Value {
    let mut spec = api.create("services", service).await.ok()["spec"].clone();
    for choice in ["clusterIP", "clusterIPs"] {
        spec.as_object_mut().unwrap().remove(choice);
    }
    spec
}

#[tokio::test]
async fn defaults_of_an_ordinary_service() {
    let api = Api::new().await;
    let expected = json!({
        "selector": {"app": "a"},
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    });
    assert_eq!(stored(&api, &service("a")).await, expected);
    assert_eq!(
        api.get("services", "a").await.ok()["status"],
        json!({"loadBalancer": {}})
    );
}

#[tokio::test]
async fn defaults_of_other_types() {
    let api = Api::new().await;
    let outside = of("a", json!({"type": "ExternalName", "externalName": "example.com"}));
    let expected = json!({"type": "ExternalName", "externalName": "example.com", "sessionAffinity": "None"});
    assert_eq!(stored(&api, &outside).await, expected);
    let affine = with(service("b"), "spec.sessionAffinity", json!("ClientIP"));
    let config = json!({"clientIP": {"timeoutSeconds": 10800}});
    assert_eq!(stored(&api, &affine).await["sessionAffinityConfig"], config);
    for kind in ["NodePort", "LoadBalancer"] {
        let name = kind.to_lowercase();
        let spec = stored(&api, &with(service(&name), "spec.type", json!(kind))).await;
        assert_eq!(spec["externalTrafficPolicy"], "Cluster", "{kind}");
        let port = spec["ports"][0]["nodePort"].as_u64().unwrap();
        assert!((30_000..32_768).contains(&port), "{kind}: {port}");
    }
    let balanced = api.get("services", "loadbalancer").await.ok();
    assert_eq!(balanced["spec"]["allocateLoadBalancerNodePorts"], true);
}

/// The families of a Service determine its slices (R56a).
#[tokio::test]
async fn r56a_families() {
    let api = Api::new().await;
    let cases = [
        ("a", json!({}), json!(["IPv4"]), "SingleStack"),
        ("b", json!({"ipFamilies": ["IPv6"]}), json!(["IPv6"]), "SingleStack"),
        (
            "c",
            json!({"ipFamilies": ["IPv4", "IPv6"]}),
            json!(["IPv4", "IPv6"]),
            "RequireDualStack",
        ),
        (
            "d",
            json!({"ipFamilyPolicy": "PreferDualStack"}),
            json!(["IPv4", "IPv6"]),
            "PreferDualStack",
        ),
        (
            "e",
            json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}),
            json!(["IPv6", "IPv4"]),
            "RequireDualStack",
        ),
    ];
    for (name, fields, families, policy) in cases {
        let mut requested = service(name);
        requested["spec"]
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let response = api.create("services", &requested).await;
        if name == "c" {
            // Two families need a dual-stack policy.
            assert_eq!(response.causes(), ["FieldValueInvalid spec.ipFamilyPolicy"]);
            continue;
        }
        let spec = response.ok()["spec"].clone();
        assert_eq!(
            (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
            (&families, &json!(policy)),
            "{name}"
        );
        let addresses = spec["clusterIPs"].as_array().unwrap();
        assert_eq!(spec["clusterIP"], addresses[0], "{name}");
        let got: Vec<&str> = addresses
            .iter()
            .map(|ip| {
                if ip.as_str().unwrap().contains(':') {
                    "IPv6"
                } else {
                    "IPv4"
                }
            })
            .collect();
        assert_eq!(json!(got), families, "{name}: {addresses:?}");
    }
}

/// A headless Service without a selector may have endpoints of any family.
#[tokio::test]
async fn headless_services() {
    let api = Api::new().await;
    let selecting = with(service("a"), "spec.clusterIP", json!("None"));
    let spec = api.create("services", &selecting).await.ok()["spec"].clone();
    assert_eq!(
        (&spec["clusterIP"], &spec["clusterIPs"]),
        (&json!("None"), &json!(["None"]))
    );
    assert_eq!(
        (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("SingleStack"))
    );
    let free = of("b", json!({"clusterIP": "None", "ports": [{"port": 80}]}));
    let spec = api.create("services", &free).await.ok()["spec"].clone();
    assert_eq!(
        (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
        (&json!(["IPv4", "IPv6"]), &json!("RequireDualStack"))
    );
    let portless = of("c", json!({"clusterIP": "None", "selector": {"a": "b"}}));
    assert_eq!(
        api.create("services", &portless).await.ok()["spec"]["ports"],
        json!(null)
    );
}

/// An empty selector is dropped (trap 29, M8).
#[tokio::test]
async fn an_empty_selector_is_none() {
    let api = Api::new().await;
    let created = api
        .create("services", &with(service("a"), "spec.selector", json!({})))
        .await
        .ok();
    assert!(
        !created["spec"].as_object().unwrap().contains_key("selector"),
        "{created}"
    );
    let labelled = with(service("b"), "metadata.labels", json!({}));
    let created = api
        .create("services", &with(labelled, "metadata.annotations", json!({})))
        .await
        .ok();
    let metadata = created["metadata"].as_object().unwrap();
    assert!(
        !metadata.contains_key("labels") && !metadata.contains_key("annotations"),
        "{created}"
    );
}

#[tokio::test]
async fn inputs_of_the_controllers_are_stored() {
    let api = Api::new().await;
    let spec = json!({
        "selector": {"app": "a"},
        "publishNotReadyAddresses": true,
        "ports": [
            {"name": "http", "port": 80, "targetPort": "web", "appProtocol": "http", "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353},
        ],
    });
    let created = api.create("services", &of("a", spec.clone())).await.ok();
    for field in ["selector", "publishNotReadyAddresses", "ports"] {
        assert_eq!(created["spec"][field], spec[field], "{field}");
    }
}

/// Values of trafficDistribution that the controllers turn into hints (H3).
#[tokio::test]
async fn h3_traffic_distribution() {
    let api = Api::new().await;
    let path = "spec.trafficDistribution";
    for (name, value) in [("a", "PreferClose"), ("b", "PreferSameZone"), ("c", "PreferSameNode")] {
        let created = api
            .create("services", &with(service(name), path, json!(value)))
            .await
            .ok();
        assert_eq!(created["spec"]["trafficDistribution"], value);
    }
    let other = api.create("services", &with(service("d"), path, json!("Random"))).await;
    assert_eq!(other.causes(), ["FieldValueNotSupported spec.trafficDistribution"]);
    let removed = json!({"spec": {"trafficDistribution": null}});
    let removed = api.patch("merge", "services", "a", &removed).await.ok();
    assert_eq!(removed["spec"]["trafficDistribution"], json!(null));
}

#[tokio::test]
async fn bad_ports() {
    let ports = |ports: Value| of("bad", json!({ "ports": ports }));
    assert_all_rejected(
        "services",
        vec![
            (ports(json!([])), &["FieldValueRequired spec.ports"]),
            (
                ports(json!([{"port": 0}])),
                &[
                    "FieldValueInvalid spec.ports[0].port",
                    "FieldValueInvalid spec.ports[0].targetPort",
                ],
            ),
            (
                ports(json!([{"port": 70_000, "targetPort": 80}])),
                &["FieldValueInvalid spec.ports[0].port"],
            ),
            (
                ports(json!([{"port": 1}, {"port": 2}])),
                &[
                    "FieldValueRequired spec.ports[0].name",
                    "FieldValueRequired spec.ports[1].name",
                ],
            ),
            (
                ports(json!([{"port": 1, "name": "a"}, {"port": 2, "name": "a"}])),
                &["FieldValueDuplicate spec.ports[1].name"],
            ),
            (
                ports(json!([{"port": 1, "name": "a"}, {"port": 1, "name": "b"}])),
                &["FieldValueDuplicate spec.ports[1]"],
            ),
            (
                ports(json!([{"port": 1, "name": "A"}])),
                &["FieldValueInvalid spec.ports[0].name"],
            ),
            (
                ports(json!([{"port": 1, "protocol": "foo"}])),
                &["FieldValueNotSupported spec.ports[0].protocol"],
            ),
            (
                ports(json!([{"port": 1, "targetPort": "has_underscore"}])),
                &["FieldValueInvalid spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 1, "targetPort": 70_000}])),
                &["FieldValueInvalid spec.ports[0].targetPort"],
            ),
            (
                ports(json!([{"port": 1, "appProtocol": "--"}])),
                &["FieldValueInvalid spec.ports[0].appProtocol"],
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn bad_specs() {
    let spec = |path: &str, value: Value| with(service("bad"), &format!("spec.{path}"), value);
    assert_all_rejected(
        "services",
        vec![
            (spec("type", json!("Nonsense")), &["FieldValueNotSupported spec.type"]),
            (
                spec("sessionAffinity", json!("Nonsense")),
                &["FieldValueNotSupported spec.sessionAffinity"],
            ),
            (
                spec("internalTrafficPolicy", json!("Nonsense")),
                &["FieldValueNotSupported spec.internalTrafficPolicy"],
            ),
            (
                spec("selector", json!({"a": "b c"})),
                &["FieldValueInvalid spec.selector"],
            ),
            (
                spec("clusterIP", json!("nonsense")),
                &["FieldValueInvalid spec.clusterIPs[0]"],
            ),
            (
                spec("ipFamilies", json!(["IPv5"])),
                &["FieldValueNotSupported spec.ipFamilies[0]"],
            ),
            (
                spec("ipFamilies", json!(["IPv4", "IPv4"])),
                &["FieldValueDuplicate spec.ipFamilies[1]"],
            ),
            (
                spec("ipFamilyPolicy", json!("Nonsense")),
                &["FieldValueNotSupported spec.ipFamilyPolicy"],
            ),
            (
                of("bad", json!({"type": "ExternalName"})),
                &["FieldValueRequired spec.externalName"],
            ),
            (
                of("bad", json!({"type": "ExternalName", "externalName": "-"})),
                &["FieldValueInvalid spec.externalName"],
            ),
            (
                with(service("bad"), "metadata.name", json!("a.b")),
                &["FieldValueInvalid metadata.name"],
            ),
            (
                with(service("bad"), "metadata.name", json!("a".repeat(64))),
                &["FieldValueInvalid metadata.name"],
            ),
        ],
    )
    .await;
}

/// A name may start with a digit, so names of slices may, too (R110a, R156).
#[tokio::test]
async fn a_name_may_begin_with_a_digit() {
    let api = Api::new().await;
    assert_eq!(api.create("services", &service("1st")).await.code, 201);
}

#[tokio::test]
async fn an_error_names_the_service() {
    let api = Api::new().await;
    let response = api.create("services", &of("bad", json!({"ports": []}))).await;
    response.assert_rejected(
        "422 Invalid /Service \"bad\"",
        "Service \"bad\" is invalid: spec.ports: Required value",
    );
}

/// The cluster IP is immutable; all inputs of the controllers can change.
#[tokio::test]
async fn updates() {
    let api = Api::new().await;
    let created = api.create("services", &service("a")).await.ok();
    let moved = with(created.clone(), "spec.clusterIP", json!("10.0.200.200"));
    let moved = with(moved, "spec.clusterIPs", json!(["10.0.200.200"]));
    assert_eq!(
        api.update("services", &moved).await.causes(),
        ["FieldValueInvalid spec.clusterIPs[0]"]
    );
    let fresh = with(service("a"), "spec.selector", json!({"app": "b"}));
    let updated = api.update("services", &fresh).await.ok();
    assert_eq!(
        updated["spec"]["clusterIPs"], created["spec"]["clusterIPs"],
        "kept when the client omits it"
    );
    assert_eq!(updated["spec"]["selector"], json!({"app": "b"}));
    let both = with(updated, "spec.ipFamilyPolicy", json!("PreferDualStack"));
    let both = api.update("services", &both).await.ok();
    assert_eq!(both["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(both["spec"]["clusterIPs"].as_array().unwrap().len(), 2);
    assert_eq!(both["spec"]["clusterIP"], created["spec"]["clusterIP"]);
}

/// A Service can become an `ExternalName` and back (trap 30).
#[tokio::test]
async fn a_service_can_become_an_external_name_and_back() {
    let api = Api::new().await;
    let created = api.create("services", &service("a")).await.ok();
    assert_ne!(text(&created, "/spec/clusterIP"), "");
    let outside = of("a", json!({"type": "ExternalName", "externalName": "example.com"}));
    let outside = api.update("services", &outside).await.ok();
    let expected = json!({"type": "ExternalName", "externalName": "example.com", "sessionAffinity": "None"});
    assert_eq!(outside["spec"], expected);
    let back = api.update("services", &service("a")).await.ok();
    assert_ne!(text(&back, "/spec/clusterIP"), "");
}

#[tokio::test]
async fn two_services_have_two_addresses() {
    let api = Api::new().await;
    let first = api.create("services", &service("a")).await.ok();
    let second = api.create("services", &service("b")).await.ok();
    assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
    let requested = with(service("c"), "spec.clusterIP", first["spec"]["clusterIP"].clone());
    let response = api.create("services", &requested).await;
    assert_eq!(response.error_summary(), "422 Invalid /Service \"c\"");
    assert_eq!(response.causes(), ["FieldValueInvalid spec.clusterIPs"]);
}

/// Deleting a Service deletes its Endpoints, with or without a selector and without a controller (R155).
#[tokio::test]
async fn deleting_a_service_deletes_its_endpoints() {
    let api = Api::new().await;
    for (name, selector) in [("a", json!({"app": "a"})), ("b", json!(null))] {
        api.create("services", &with(service(name), "spec.selector", selector))
            .await
            .ok();
        api.create("endpoints", &endpoints(name)).await.ok();
        api.delete("services", name, &json!({})).await.ok();
        assert_eq!(
            api.get("endpoints", name).await.error_summary(),
            format!("404 NotFound /endpoints {name:?}")
        );
    }
}
