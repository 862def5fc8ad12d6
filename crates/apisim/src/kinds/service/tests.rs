use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::kinds::{
    ClusterIps, Kind,
    fixtures::{create, object, summary, update, update_status},
};

/// A Service with one port and a selector, merged with these spec fields.
fn body(spec: &Value) -> Value {
    let mut json = json!({
        "metadata": { "name": "web", "namespace": "ns" },
        "spec": { "ports": [{ "port": 80 }], "selector": { "app": "web" } },
    });
    json_patch::merge(&mut json["spec"], spec);
    json
}

fn created(spec: &Value) -> Result<Service, Vec<String>> {
    create(body(spec), &mut ClusterIps::default()).map_err(|errors| summary(&errors))
}

fn spec_of(service: &Service) -> Value {
    serde_json::to_value(&service.spec).unwrap()
}

/// The spec of a stored Service after an update with these spec fields.
fn changed(old: &Value, patch: &Value) -> Result<Value, Vec<String>> {
    let ips = &mut ClusterIps::default();
    let old: Service = create(body(old), ips).unwrap();
    let mut new = serde_json::to_value(&old).unwrap();
    json_patch::merge(&mut new["spec"], patch);
    let stored = update(&old, object(new), ips).map_err(|errors| summary(&errors))?;
    Ok(spec_of(&stored))
}

const V4: &str = "10.0.1.1";
const V6: &str = "fd00:10::101";

#[test]
fn defaults_of_a_plain_service() {
    let expected = json!({
        "clusterIP": V4,
        "clusterIPs": [V4],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }],
        "selector": { "app": "web" },
        "sessionAffinity": "None",
        "type": "ClusterIP",
    });
    assert_eq!(spec_of(&created(&json!({})).unwrap()), expected);
}

#[test]
fn new_services_get_families_and_addresses() {
    let cases = [
        (
            json!({ "ipFamilyPolicy": "PreferDualStack" }),
            json!(["IPv4", "IPv6"]),
            json!([V4, V6]),
        ),
        (
            json!({ "ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"] }),
            json!(["IPv6", "IPv4"]),
            json!([V6, V4]),
        ),
        (json!({ "ipFamilies": ["IPv6"] }), json!(["IPv6"]), json!([V6])),
        (
            json!({ "clusterIP": "fd00:10::10" }),
            json!(["IPv6"]),
            json!(["fd00:10::10"]),
        ),
        (json!({ "clusterIP": "None" }), json!(["IPv4"]), json!(["None"])),
        (
            json!({ "clusterIP": "None", "selector": null }),
            json!(["IPv4", "IPv6"]),
            json!(["None"]),
        ),
        (
            json!({ "clusterIP": "None", "selector": null, "ipFamilyPolicy": "SingleStack" }),
            json!(["IPv4"]),
            json!(["None"]),
        ),
        (
            json!({ "type": "ExternalName", "externalName": "example.com." }),
            json!(null),
            json!(null),
        ),
    ];
    for (fields, families, ips) in cases {
        let spec = spec_of(&created(&fields).unwrap());
        assert_eq!(
            (&spec["ipFamilies"], &spec["clusterIPs"]),
            (&families, &ips),
            "{fields}"
        );
        assert_eq!(spec["clusterIP"], ips[0], "{fields}");
    }
}

fn check_rejected(cases: &[(Value, &[&str])]) {
    for (fields, expected) in cases {
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(created(fields).err(), Some(expected), "{fields}");
    }
}

#[test]
fn invalid_addresses_and_types_are_rejected() {
    let two = ["10.0.0.10", "fd00:10::10"];
    check_rejected(&[
        (json!({ "ports": null }), &["spec.ports FieldValueRequired"]),
        (
            json!({ "clusterIP": "10.1.0.1" }),
            &["spec.clusterIPs FieldValueInvalid"],
        ),
        (
            json!({ "clusterIP": "10.0.0.1" }),
            &["spec.clusterIPs FieldValueInvalid"],
        ),
        (
            json!({ "clusterIP": "010.0.0.9" }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
        (
            json!({ "clusterIP": two[0], "clusterIPs": two }),
            &["spec.ipFamilyPolicy FieldValueInvalid"],
        ),
        (
            json!({ "ipFamilies": ["IPv4", "IPv6"] }),
            &["spec.ipFamilyPolicy FieldValueInvalid"],
        ),
        (
            json!({ "clusterIP": two[0], "ipFamilies": ["IPv6"] }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
        (json!({ "type": "X" }), &["spec.type FieldValueNotSupported"]),
        (
            json!({ "type": "ExternalName" }),
            &["spec.externalName FieldValueRequired"],
        ),
        (
            json!({ "type": "NodePort", "clusterIP": "None" }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
    ]);
}

#[test]
fn invalid_policies_selectors_and_ports_are_rejected() {
    check_rejected(&[
        (
            json!({ "sessionAffinity": "X" }),
            &["spec.sessionAffinity FieldValueNotSupported"],
        ),
        (
            json!({ "trafficDistribution": "X" }),
            &["spec.trafficDistribution FieldValueNotSupported"],
        ),
        (
            json!({ "internalTrafficPolicy": "X" }),
            &["spec.internalTrafficPolicy FieldValueNotSupported"],
        ),
        (
            json!({ "selector": { "-a": "b c" } }),
            &["spec.selector FieldValueInvalid", "spec.selector FieldValueInvalid"],
        ),
        (
            json!({ "ports": [{ "port": 80 }, { "port": 81 }] }),
            &[
                "spec.ports[0].name FieldValueRequired",
                "spec.ports[1].name FieldValueRequired",
            ],
        ),
        (
            json!({ "ports": [{ "name": "a", "port": 80 }, { "name": "a", "port": 80 }] }),
            &[
                "spec.ports[1].name FieldValueDuplicate",
                "spec.ports[1] FieldValueDuplicate",
            ],
        ),
        (
            json!({ "ports": [{ "name": "A", "port": 0, "targetPort": "123", "protocol": "X" }] }),
            &[
                "spec.ports[0].name FieldValueInvalid",
                "spec.ports[0].port FieldValueInvalid",
                "spec.ports[0].protocol FieldValueNotSupported",
                "spec.ports[0].targetPort FieldValueInvalid",
            ],
        ),
    ]);
}

#[test]
fn names_are_dns1123_labels() {
    for (name, errors) in [("1web", 0), ("web", 0), ("a.b", 1), ("Web", 1)] {
        let mut json = body(&json!({}));
        json["metadata"]["name"] = name.into();
        let found = create::<Service>(json, &mut ClusterIps::default())
            .err()
            .unwrap_or_default();
        assert_eq!(found.len(), errors, "{name}");
    }
}

#[test]
fn update_preserves_omitted_allocations() {
    let omitted = json!({ "clusterIP": null, "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null });
    let dual = json!({ "ipFamilyPolicy": "RequireDualStack" });
    let spec = changed(&dual, &omitted).unwrap();
    assert_eq!(
        (&spec["clusterIPs"], &spec["ipFamilies"]),
        (&json!([V4, V6]), &json!(["IPv4", "IPv6"]))
    );
    let spec = changed(&json!({ "type": "NodePort" }), &json!({ "ports": [{ "port": 80 }] })).unwrap();
    assert_eq!(spec["ports"][0]["nodePort"], 30086);
}

#[test]
fn ip_family_policy_can_change_in_both_directions() {
    let spec = changed(&json!({}), &json!({ "ipFamilyPolicy": "PreferDualStack" })).unwrap();
    assert_eq!(
        (&spec["clusterIPs"], &spec["ipFamilies"]),
        (&json!([V4, V6]), &json!(["IPv4", "IPv6"]))
    );
    let dual = json!({ "ipFamilyPolicy": "RequireDualStack" });
    let spec = changed(&dual, &json!({ "ipFamilyPolicy": "SingleStack" })).unwrap();
    assert_eq!(
        (&spec["clusterIPs"], &spec["ipFamilies"]),
        (&json!([V4]), &json!(["IPv4"]))
    );
}

#[test]
fn invalid_updates_are_rejected() {
    let cases: [(Value, Value, &[&str]); 5] = [
        (
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            json!({ "clusterIPs": [V4, "fd00:10::10"] }),
            &["spec.clusterIPs[1] FieldValueInvalid"],
        ),
        (
            json!({}),
            json!({ "clusterIP": "10.0.0.10" }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
        (
            json!({}),
            json!({ "clusterIP": "None" }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
        (
            json!({}),
            json!({ "ipFamilies": ["IPv6"] }),
            &["spec.clusterIPs[0] FieldValueInvalid"],
        ),
        (
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            json!({ "ipFamilies": ["IPv4"] }),
            &["spec.ipFamilyPolicy FieldValueInvalid"],
        ),
    ];
    for (old, patch, expected) in cases {
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(changed(&old, &patch), Err(expected), "{patch}");
    }
}

#[test]
fn type_change_drops_unused_fields() {
    let external = json!({ "type": "ExternalName", "externalName": "a.b" });
    let spec = changed(&json!({}), &external).unwrap();
    assert_eq!(
        (&spec["clusterIP"], &spec["internalTrafficPolicy"]),
        (&json!(null), &json!(null))
    );
    let spec = changed(&json!({ "type": "NodePort" }), &json!({ "type": "ClusterIP" })).unwrap();
    assert_eq!(
        spec["ports"],
        json!([{ "port": 80, "protocol": "TCP", "targetPort": 80 }])
    );
}

#[test]
fn addresses_and_node_ports_are_reserved_and_released() {
    let ips = &mut ClusterIps::default();
    let requesting = || {
        body(&json!({
            "type": "NodePort",
            "clusterIP": "10.0.0.10",
            "ports": [{ "port": 80, "nodePort": 30010 }],
        }))
    };
    let first: Service = create(requesting(), ips).unwrap();
    let rejected = create::<Service>(requesting(), ips).map_err(|errors| summary(&errors));
    assert_eq!(
        rejected.err(),
        Some(vec!["spec.clusterIPs FieldValueInvalid".to_owned()])
    );
    Service::update_allocation(Some(&first), None, ips);
    assert!(create::<Service>(requesting(), ips).is_ok());
}

#[test]
fn node_ports_are_checked_and_allocated() {
    let twice = json!([{ "name": "a", "port": 80, "nodePort": 30010 }, { "name": "b", "port": 81, "nodePort": 30010 }]);
    let rejected = created(&json!({ "type": "NodePort", "ports": twice }));
    assert_eq!(
        rejected.err(),
        Some(vec!["spec.ports[1].nodePort FieldValueInvalid".to_owned()])
    );
    let outside = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 80 }] });
    assert_eq!(
        created(&outside).err(),
        Some(vec!["spec.ports[0].nodePort FieldValueInvalid".to_owned()])
    );
    let both = json!([{ "name": "a", "port": 53, "protocol": "TCP" }, { "name": "b", "port": 53, "protocol": "UDP" }]);
    let spec = spec_of(&created(&json!({ "type": "NodePort", "ports": both })).unwrap());
    assert_eq!(spec["ports"][0]["nodePort"], spec["ports"][1]["nodePort"]);
    let local = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" });
    assert_eq!(spec_of(&created(&local).unwrap())["healthCheckNodePort"], 30087);
}

#[test]
fn status_ingress_requires_type_load_balancer() {
    let mut json = body(&json!({}));
    let ingress = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } });
    json["status"] = ingress.clone();
    let plain: Service = create(json, &mut ClusterIps::default()).unwrap();
    assert_eq!(
        serde_json::to_value(&plain.status).unwrap(),
        json!({ "loadBalancer": {} })
    );

    let balanced = created(&json!({ "type": "LoadBalancer" })).unwrap();
    for (old, rejected) in [(plain, true), (balanced, false)] {
        let mut new = old.clone();
        new.status = object(ingress.clone());
        let stored = update_status(&old, new);
        assert_eq!(stored.is_err(), rejected);
        if let Ok(stored) = stored {
            let status = serde_json::to_value(stored.status).unwrap();
            assert_eq!(
                status["loadBalancer"]["ingress"],
                json!([{ "ip": "1.2.3.4", "ipMode": "VIP" }])
            );
        }
    }
}

#[test]
fn deprecated_fields_and_non_canonical_addresses_get_warnings() {
    let hints = json!({ "service.kubernetes.io/topology-aware-hints": "auto" });
    let mut json = body(&json!({ "trafficDistribution": "PreferClose" }));
    json["metadata"]["annotations"] = hints;
    let service: Service = create(json, &mut ClusterIps::default()).unwrap();
    assert_eq!(service.warnings(None).len(), 2);
    assert_eq!(service.warnings(Some(&service)).len(), 2);
    let fine = created(&json!({ "trafficDistribution": "PreferSameZone" })).unwrap();
    assert_eq!(fine.warnings(None), [""; 0]);
    let non_canonical = created(&json!({ "clusterIP": "FD00:10:0::10" })).unwrap();
    assert_eq!(non_canonical.warnings(None).len(), 1);
}
