//! Comparison with kube-controller-manager's metrics after the same workload.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use slice_oracle::Recorder;
use testenv::{
    CONTROLLERS, ControlPlane,
    objects::{api, create},
};

use crate::{
    accounts::{self, Accounts},
    fixtures::{node, pod},
    harness::{IDLE, put, start_deployed},
    takeover::FAST,
};

/// The names of our work queues.
const QUEUES: [&str; 2] = ["endpoint_slice", "endpoint_slice_mirroring"];
const PREFIXES: [&str; 3] = [
    "endpoint_slice_controller_",
    "endpoint_slice_mirroring_controller_",
    "workqueue_",
];
/// Labels whose values are enumerations.
const ENUMERATIONS: [&str; 5] = ["name", "operation", "result", "topology", "traffic_distribution"];
/// We do not abort a sync for a stale cache (W13), so that this result does not occur.
const NOT_OURS: [(&str, &str, &str); 1] = [("endpoint_slice_controller_syncs", "result", "stale")];

/// A metric family without its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Family {
    help: String,
    kind: String,
    /// The values of each enumerated label.
    labels: BTreeMap<String, BTreeSet<String>>,
    buckets: BTreeSet<String>,
}

/// The metric families of slices and their work queues.
fn families(page: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            help.clone_into(&mut families.entry(name.to_owned()).or_default().help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            kind.clone_into(&mut families.entry(name.to_owned()).or_default().kind);
        } else if let Some((name, labels)) = sample(line) {
            if labels
                .get("name")
                .is_some_and(|queue| !QUEUES.contains(&queue.as_str()))
            {
                continue;
            }
            let bare = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            let bare = bare.filter(|bare| families.contains_key(*bare)).unwrap_or(&name);
            let family = families.entry(bare.to_owned()).or_default();
            for (label, value) in labels {
                match label.as_str() {
                    "le" => family.buckets.insert(value),
                    _ => family.labels.entry(label).or_default().insert(value),
                };
            }
        }
    }
    families.retain(|name, _| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    families
}

/// Parses a sample line into name and labels.
fn sample(line: &str) -> Option<(String, BTreeMap<String, String>)> {
    let (what, _value) = line.rsplit_once(' ')?;
    let Some((name, labels)) = what.split_once('{') else {
        return Some((what.to_owned(), BTreeMap::new()));
    };
    let labels = labels.strip_suffix('}')?.split_terminator("\",");
    let labels = labels.map(|label| {
        let (label, value) = label.split_once("=\"").unwrap();
        (label.to_owned(), value.trim_end_matches('"').to_owned())
    });
    Some((name.to_owned(), labels.collect()))
}

/// Differences of our metrics from upstream's, as messages.
fn difference(theirs: &BTreeMap<String, Family>, ours: &BTreeMap<String, Family>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, their) in theirs {
        let Some(our) = ours.get(name) else {
            problems.push(format!("{name} is missing"));
            continue;
        };
        let mut compare = |what: &str, their: &str, our: &str| {
            if their != our {
                problems.push(format!("{name}: {what} should be {their}, but is {our}"));
            }
        };
        compare("help", &their.help, &our.help);
        compare("type", &their.kind, &our.kind);
        compare(
            "buckets",
            &format!("{:?}", their.buckets),
            &format!("{:?}", our.buckets),
        );
        let names = |family: &Family| format!("{:?}", family.labels.keys());
        compare("labels", &names(their), &names(our));
        for (label, values) in their
            .labels
            .iter()
            .filter(|(label, _)| ENUMERATIONS.contains(&label.as_str()))
        {
            let is_ours = |value: &&String| !NOT_OURS.contains(&(name, label, value));
            let values: Vec<_> = values.iter().filter(is_ours).collect();
            let found: Vec<_> = our.labels.get(label).into_iter().flatten().collect();
            compare(label, &format!("{values:?}"), &format!("{found:?}"));
        }
    }
    problems
}

/// Runs a workload in a new namespace that touches all metrics.
async fn run_workload(client: &Client, namespace: &str, recorder: &Recorder) {
    let metadata = json!({"metadata": {"name": namespace}});
    create(&Api::<Namespace>::all(client.clone()), metadata).await.unwrap();
    let selecting = |name: &str, spec: Value, annotations: Value| {
        let mut service = json!({
            "kind": "Service", "metadata": {"name": name, "annotations": annotations},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        });
        let more = spec.as_object().unwrap().clone();
        service["spec"].as_object_mut().unwrap().extend(more);
        service
    };
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let subsets = |addresses: Value| json!([{"addresses": addresses, "ports": [{"port": 80}]}]);
    let objects = [
        pod("web", 1),
        selecting("plain", json!({}), json!({})),
        selecting("both", json!({"ipFamilyPolicy": "RequireDualStack"}), json!({})),
        selecting("close", json!({"trafficDistribution": "PreferClose"}), json!({})),
        selecting("zone", json!({"trafficDistribution": "PreferSameZone"}), json!({})),
        selecting("node", json!({"trafficDistribution": "PreferSameNode"}), json!({})),
        selecting("auto", json!({}), auto),
        json!({"kind": "Service", "metadata": {"name": "db"}, "spec": {"ports": [{"port": 80}]}}),
        json!({"kind": "Endpoints", "metadata": {"name": "db"}, "subsets": subsets(json!([{"ip": "10.2.0.1"}, {"ip": "fd00:2::1"}]))}),
    ];
    for object in &objects {
        put(client, namespace, object).await;
    }
    recorder.wait_quiescent(IDLE).await.unwrap();
    // Each slice is updated, and one of each controller is deleted.
    let change = async |kind: &str, name: &str, patch: Value| {
        let api = api(client, namespace, kind).unwrap();
        let patch = Patch::Merge(patch);
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    };
    change("Pod", "web-1", json!({"metadata": {"labels": {"app": "other"}}})).await;
    recorder.wait_quiescent(IDLE).await.unwrap();
    change("Service", "both", json!({"spec": {"ipFamilyPolicy": "SingleStack"}})).await;
    change(
        "Endpoints",
        "db",
        json!({"subsets": subsets(json!([{"ip": "10.2.0.2"}]))}),
    )
    .await;
    recorder.wait_quiescent(IDLE).await.unwrap();
}

/// Deletes the Services; their Endpoints are deleted with them.
async fn delete_services(client: &Client, namespace: &str) {
    for name in ["plain", "both", "close", "zone", "node", "auto", "db"] {
        let services = api(client, namespace, "Service").unwrap();
        services.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// Our metrics have upstream's names, types, help texts, labels and buckets (R127, R131, M112–M120, M125).
#[tokio::test]
async fn r127_the_metrics_are_those_of_upstream() {
    let builder = accounts::control_plane(ControlPlane::builder());
    let control_plane = builder.start().await.unwrap();
    let client = control_plane.client().unwrap();
    let recorder = Recorder::start(client.clone()).await.unwrap();
    put(&client, "", &node("zone-b")).await;

    let manager = control_plane.controller_manager(&CONTROLLERS, &FAST).await.unwrap();
    run_workload(&client, "upstream", &recorder).await;
    let theirs = families(&manager.get("/metrics").await.unwrap());
    manager.stop().await.unwrap();
    delete_services(&client, "upstream").await;

    let accounts = Accounts::deploy(&control_plane).await;
    let ours = start_deployed(&control_plane, &accounts).await;
    run_workload(&client, "ours", &recorder).await;
    let mut found = families(&ours.services.get("/metrics").await.unwrap().1);
    for (name, family) in families(&ours.mirroring.get("/metrics").await.unwrap().1) {
        let known = found.entry(name).or_insert_with(|| family.clone());
        // Both controllers have work queue metrics.
        for (label, values) in family.labels {
            known.labels.entry(label).or_default().extend(values);
        }
    }
    ours.stop().await;

    // Nine families of each controller, and seven of the work queues.
    assert!(theirs.len() >= 9 + 9 + 7, "{:?}", theirs.keys());
    let problems = difference(&theirs, &found);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn metric_differences_are_reported() {
    let page = "# HELP workqueue_adds_total Adds\n# TYPE workqueue_adds_total counter\n\
                workqueue_adds_total{name=\"endpoint_slice\"} 3\nworkqueue_adds_total{name=\"other\"} 3\n\
                # HELP workqueue_time Time\n# TYPE workqueue_time histogram\n\
                workqueue_time_bucket{name=\"endpoint_slice\",le=\"0.1\"} 1\n\
                workqueue_time_bucket{name=\"endpoint_slice\",le=\"+Inf\"} 1\n\
                workqueue_time_sum{name=\"endpoint_slice\"} 1\n\
                # HELP go_info Go\n# TYPE go_info gauge\ngo_info 1\n";
    let theirs = families(page);
    assert_eq!(
        theirs.keys().collect::<Vec<_>>(),
        ["workqueue_adds_total", "workqueue_time"]
    );
    assert_eq!(
        theirs["workqueue_adds_total"].labels["name"],
        ["endpoint_slice".to_owned()].into()
    );
    assert_eq!(
        theirs["workqueue_time"].buckets,
        ["0.1".to_owned(), "+Inf".to_owned()].into()
    );
    assert!(difference(&theirs, &theirs).is_empty());
    for (change, to) in [
        ("Adds\n", "Other\n"),
        ("total counter", "total gauge"),
        ("0.1", "0.2"),
        ("0.1", "0.10"),
        ("{name=\"endpoint_slice\"} 3", "{name=\"endpoint_slice_mirroring\"} 3"),
        ("{name=\"endpoint_slice\"} 3", "{queue=\"endpoint_slice\"} 3"),
        (
            "# HELP workqueue_adds_total Adds\n# TYPE workqueue_adds_total counter\nworkqueue_adds_total{name=\"endpoint_slice\"} 3\n",
            "",
        ),
    ] {
        let ours = families(&page.replace(change, to));
        assert_ne!(difference(&theirs, &ours).len(), 0, "{change} → {to}");
    }
}
