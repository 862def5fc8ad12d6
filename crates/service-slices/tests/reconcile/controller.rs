//! Cases of upstream's controller tests that concern one sync.

use serde_json::{Value, json};
use slice_core::well_known::TRIGGER_TIME_ANNOTATION;
use slice_reconciler::TriggerTime;

use crate::{
    fixtures::{pod, unready},
    harness::Harness,
};

const DELETED: Option<&str> = Some("2024-01-02T03:04:05Z");

/// Two pods in one new slice with three ports (T-CTL-13…18).
#[test]
fn t_ctl_13_to_18_two_pods() {
    let ports = [("a", 80, "TCP"), ("b", 161, "UDP"), ("c", 3456, "SCTP")];
    let port = |(name, number, protocol)| json!({"name": name, "port": number, "protocol": protocol});
    let ports = json!(ports.map(port));
    let dual = "10.0.0.2 fd08::5678:0000:0000:9abc:def0";
    for (id, family, ips, is_ready, deleted, expected) in [
        ("13", "IPv4", dual, true, None, "10.0.0.1 T/T/F, 10.0.0.2 T/T/F"),
        ("14", "IPv6", dual, true, None, "fd08::5678:0:0:9abc:def0 T/T/F"),
        (
            "15",
            "IPv4",
            "10.0.0.2",
            true,
            DELETED,
            "10.0.0.1 T/T/F, 10.0.0.2 F/T/T",
        ),
        (
            "16",
            "IPv4",
            "10.0.0.2",
            false,
            DELETED,
            "10.0.0.1 T/T/F, 10.0.0.2 F/F/T",
        ),
        ("17", "IPv4", "10.0.0.1", false, None, "10.0.0.1 T/T/F, 10.0.0.1 F/F/F"),
        ("18", "IPv4", "10.0.0.1", true, None, "10.0.0.1 T/T/F, 10.0.0.1 T/T/F"),
    ] {
        let mut second = if is_ready { pod(1) } else { unready(pod(1)) };
        second["status"]["podIPs"] = ips.split(' ').map(|ip| json!({"ip": ip})).collect();
        second["metadata"]["deletionTimestamp"] = json!(deleted);
        let mut harness = Harness::new();
        harness.pods = vec![pod(0), second];
        harness.service["spec"]["ipFamilies"] = json!([family]);
        harness.service["spec"]["ports"] = ports.clone();
        harness.trigger_time = TriggerTime::Set("2024-01-02T03:04:05.5Z".into());
        assert_eq!(harness.sync().writes(), [1, 0, 0], "T-CTL-{id}");
        let slice = json!(harness.slices[0].to_k8s());
        let endpoints = slice["endpoints"].as_array().unwrap().iter().map(describe);
        assert_eq!(endpoints.collect::<Vec<_>>().join(", "), expected, "T-CTL-{id}");
        assert_eq!(slice["ports"], ports, "T-CTL-{id}");
        let annotations = &slice["metadata"]["annotations"];
        assert_eq!(
            annotations[TRIGGER_TIME_ANNOTATION], "2024-01-02T03:04:05.5Z",
            "T-CTL-{id}"
        );
    }
}

/// Address and conditions ready, serving, terminating of an endpoint on node-1.
fn describe(endpoint: &Value) -> String {
    assert_eq!(endpoint["nodeName"], "node-1");
    let letter = |condition: &str| {
        if endpoint["conditions"][condition] == true {
            "T"
        } else {
            "F"
        }
    };
    let conditions = ["ready", "serving", "terminating"].map(letter).join("/");
    format!("{} {conditions}", endpoint["addresses"][0].as_str().unwrap())
}

/// A terminating slice is ignored and not written (T-CTL-10, -41).
#[test]
fn t_ctl_10_and_41_terminating_slices_are_ignored() {
    let mut harness = Harness::new();
    harness.sync();
    let terminating = harness.store([pod(0)]);
    terminating.metadata.deletion_timestamp = serde_json::from_value(json!(DELETED)).unwrap();
    assert_eq!(harness.sync().writes(), [0, 0, 0], "T-CTL-10");

    harness.slices.remove(0);
    harness.pods = vec![pod(0), pod(1)];
    harness.store([pod(0)]);
    harness.store([pod(1)]);
    let before = harness.slices.clone();
    assert_eq!(harness.sync().writes(), [0, 0, 0], "T-CTL-41");
    assert_eq!(harness.slices, before, "T-CTL-41");
}
