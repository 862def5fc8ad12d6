use serde_json::{Value, json};

use super::*;

fn find<'a>(objects: &'a [DynamicObject], name: &str) -> Vec<&'a DynamicObject> {
    objects.iter().filter(|object| kind(object) == name).collect()
}

#[test]
fn objects_start_with_the_namespace_and_have_the_labels() {
    let objects = objects(&Controller::ALL, &Options::default());
    assert_eq!(kind(&objects[0]), "Namespace");
    for object in &objects {
        let labels = object.metadata.labels.as_ref().unwrap();
        assert_eq!(labels[PART_OF_LABEL], PART_OF, "{object:?}");
        assert_eq!(labels[VERSION_LABEL], VERSION, "{object:?}");
        let names = [
            PART_OF,
            "endpointslice-controller",
            "endpointslice-mirroring-controller",
        ];
        assert!(names.contains(&labels[NAME_LABEL].as_str()), "{object:?}");
    }
}

#[test]
fn objects_are_unique() {
    let objects = objects(&Controller::ALL, &Options::default());
    let mut ids: Vec<_> = objects
        .iter()
        .map(|object| {
            let metadata = &object.metadata;
            (kind(object), &metadata.namespace, &metadata.name)
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), objects.len());
}

#[test]
fn a_shadow_has_no_rights_to_write_and_no_lease() {
    let shadow = Options {
        shadow: true,
        ..Options::default()
    };
    for controller in Controller::ALL {
        let objects = objects(&[controller], &shadow);
        assert!(find(&objects, "Role").is_empty() && find(&objects, "RoleBinding").is_empty());
        for role in find(&objects, "ClusterRole") {
            for rule in role.data["rules"].as_array().unwrap() {
                // Reviews store nothing; the secure port needs them.
                let is_review = rule["resources"].to_string().contains("reviews");
                let verbs = rule["verbs"].as_array().unwrap();
                let read_only = verbs
                    .iter()
                    .all(|verb| ["get", "list", "watch"].contains(&verb.as_str().unwrap()));
                assert!(is_review || read_only, "{rule}");
            }
        }
        let spec = &find(&objects, "Deployment")[0].data["spec"];
        assert_eq!(spec["replicas"], 1);
        let args = spec["template"]["spec"]["containers"][0]["args"].to_string();
        assert!(
            args.contains("--dry-run=true") && args.contains("--leader-elect=false"),
            "{args}"
        );
    }
}

#[test]
fn the_image_and_the_number_of_replicas_can_be_chosen() {
    let options = Options {
        image: Some("registry.example/controller@sha256:1".to_owned()),
        replicas: 3,
        shadow: false,
    };
    let objects = objects(&[Controller::Mirroring], &options);
    let spec = &find(&objects, "Deployment")[0].data["spec"];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(
        spec["template"]["spec"]["containers"][0]["image"],
        "registry.example/controller@sha256:1"
    );
}

/// The pod of a controller: its labels and its spec.
fn pod(objects: &[DynamicObject]) -> (BTreeMap<String, String>, Value) {
    let template = &find(objects, "Deployment")[0].data["spec"]["template"];
    let labels = serde_json::from_value(template["metadata"]["labels"].clone()).unwrap();
    (labels, template["spec"].clone())
}

fn selects(selector: &Value, labels: &BTreeMap<String, String>) -> bool {
    let selector = selector.as_object().unwrap();
    assert!(!selector.is_empty(), "selects all pods");
    selector
        .iter()
        .all(|(name, value)| labels.get(name).map(String::as_str) == value.as_str())
}

#[test]
fn selectors_match_the_pods_of_their_controller_and_no_others() {
    let [one, other] = Controller::ALL.map(|controller| objects(&[controller], &Options::default()));
    for (objects, others) in [(&one, &other), (&other, &one)] {
        let ((labels, pod), (foreign_labels, _)) = (pod(objects), pod(others));
        let spec = |kind: &str| find(objects, kind)[0].data["spec"].clone();
        let affinity = &pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
        for (place, selector) in [
            ("Deployment", &spec("Deployment")["selector"]["matchLabels"]),
            ("Service", &spec("Service")["selector"]),
            (
                "PodDisruptionBudget",
                &spec("PodDisruptionBudget")["selector"]["matchLabels"],
            ),
            ("NetworkPolicy", &spec("NetworkPolicy")["podSelector"]["matchLabels"]),
            (
                "affinity",
                &affinity[0]["podAffinityTerm"]["labelSelector"]["matchLabels"],
            ),
            (
                "zones",
                &pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
            ),
        ] {
            assert!(selects(selector, &labels), "{place}: {selector} {labels:?}");
            assert!(!selects(selector, &foreign_labels), "{place}: {selector}");
        }
        let monitoring = monitoring_objects(&Controller::ALL);
        let monitor = &find(&monitoring, "PodMonitor")[0].data["spec"];
        assert!(selects(&monitor["selector"]["matchLabels"], &labels), "{monitor}");
    }
}

#[test]
fn ports_and_their_names_are_those_of_the_container() {
    for controller in Controller::ALL {
        let objects = objects(&[controller], &Options::default());
        let (_, pod) = pod(&objects);
        let container = &pod["containers"][0];
        let (name, number) = (&container["ports"][0]["name"], &container["ports"][0]["containerPort"]);
        assert_eq!(name, "https-metrics");
        assert_eq!(number, controller.secure_port());
        assert_eq!(&container["ports"][0]["hostPort"], number);
        assert_eq!(container["args"][0], format!("--secure-port={number}"));

        let service = &find(&objects, "Service")[0].data["spec"]["ports"][0];
        assert_eq!((&service["targetPort"], &service["port"]), (name, number));
        let policy = &find(&objects, "NetworkPolicy")[0].data["spec"]["ingress"][0]["ports"][0]["port"];
        assert_eq!(policy, number);
        let monitoring = monitoring_objects(&[controller]);
        let endpoint = &find(&monitoring, "PodMonitor")[0].data["spec"]["podMetricsEndpoints"][0];
        assert_eq!((&endpoint["port"], &endpoint["scheme"]), (name, &json!("https")));
        for (probe, path) in [
            ("startupProbe", "/livez"),
            ("livenessProbe", "/livez"),
            ("readinessProbe", "/readyz"),
        ] {
            let expected = json!({"path": path, "port": name, "scheme": "HTTPS"});
            assert_eq!(container[probe]["httpGet"], expected, "{probe}");
        }
    }
}

/// Host network, priority and tolerations: the controllers start before the network of pods. All else is restricted.
#[test]
fn pods_are_restricted_except_for_the_host_network() {
    for shadow in [false, true] {
        let options = Options {
            shadow,
            ..Options::default()
        };
        for controller in Controller::ALL {
            let (_, pod) = pod(&objects(&[controller], &options));
            let container = &pod["containers"][0];
            for (field, expected) in [
                (&pod["hostNetwork"], json!(true)),
                (&pod["hostPID"], Value::Null),
                (&pod["hostIPC"], Value::Null),
                (&pod["volumes"], Value::Null),
                (&pod["dnsPolicy"], json!("Default")),
                (&pod["enableServiceLinks"], json!(false)),
                (&pod["serviceAccountName"], json!(controller.name())),
                (&pod["priorityClassName"], json!("system-cluster-critical")),
                (&pod["nodeSelector"], json!({"kubernetes.io/os": "linux"})),
                (
                    &pod["tolerations"],
                    json!(deployment::TOLERATED_TAINTS.map(|key| json!({"key": key, "operator": "Exists"}))),
                ),
                (
                    &pod["securityContext"],
                    json!({
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "runAsGroup": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    }),
                ),
                (
                    &container["securityContext"],
                    json!({
                        "allowPrivilegeEscalation": false,
                        "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]},
                    }),
                ),
                (&container["terminationMessagePolicy"], json!("FallbackToLogsOnError")),
                (&container["resources"]["limits"], Value::Null),
            ] {
                assert_eq!(field, &expected, "{}", controller.name());
            }
            assert_eq!(pod["containers"].as_array().map(Vec::len), Some(1));
        }
    }
    let account = objects(&[Controller::EndpointSlice], &Options::default());
    assert_eq!(
        find(&account, "ServiceAccount")[0].data["automountServiceAccountToken"],
        false
    );
}

#[test]
fn tolerated_taints_are_those_of_nodes_on_which_the_network_may_wait_for_the_controllers() {
    let taints = deployment::TOLERATED_TAINTS;
    for expected in [
        "node-role.kubernetes.io/control-plane",
        "CriticalAddonsOnly",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    ] {
        assert!(taints.contains(&expected), "{expected}");
    }
    assert!(
        !taints.contains(&"node.kubernetes.io/unreachable"),
        "its replica is replaced"
    );
}
