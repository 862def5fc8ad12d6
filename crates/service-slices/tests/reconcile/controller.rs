//! What the tests of upstream's controller say about whole syncs.

use serde_json::{Value, json};
use slice_core::well_known::TRIGGER_TIME_ANNOTATION;
use slice_reconciler::TriggerTime;

use crate::world::{World, pod, unready};

const DELETED: Option<&str> = Some("2024-01-02T03:04:05Z");

/// T-CTL-13…18: a ready pod 10.0.0.1 and another one, in one new slice with three ports.
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
        let mut other = if is_ready { pod(1) } else { unready(pod(1)) };
        other["status"]["podIPs"] = ips.split(' ').map(|ip| json!({"ip": ip})).collect();
        other["metadata"]["deletionTimestamp"] = json!(deleted);
        let mut world = World::new();
        world.pods = vec![pod(0), other];
        world.service["spec"]["ipFamilies"] = json!([family]);
        world.service["spec"]["ports"] = ports.clone();
        world.trigger_time = TriggerTime::Set("2024-01-02T03:04:05.5Z".into());
        assert_eq!(world.sync().writes(), [1, 0, 0], "T-CTL-{id}");
        let slice = json!(world.slices[0].to_k8s());
        let endpoints = slice["endpoints"].as_array().unwrap().iter().map(described);
        assert_eq!(endpoints.collect::<Vec<_>>().join(", "), expected, "T-CTL-{id}");
        assert_eq!(slice["ports"], ports, "T-CTL-{id}");
        let annotations = &slice["metadata"]["annotations"];
        assert_eq!(
            annotations[TRIGGER_TIME_ANNOTATION], "2024-01-02T03:04:05.5Z",
            "T-CTL-{id}"
        );
    }
}

/// Address, ready, serving, terminating of an endpoint on node-1.
fn described(endpoint: &Value) -> String {
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

/// T-CTL-10, -41: a slice that is being deleted is as good as gone, and nothing is done to it.
#[test]
fn t_ctl_10_and_41_what_is_being_deleted_is_not_looked_at() {
    let mut world = World::new();
    world.sync();
    let going = world.store([pod(0)]);
    going.metadata.deletion_timestamp = serde_json::from_value(json!(DELETED)).unwrap();
    assert_eq!(world.sync().writes(), [0, 0, 0], "T-CTL-10");

    world.slices.remove(0);
    world.pods = vec![pod(0), pod(1)];
    world.store([pod(0)]);
    world.store([pod(1)]);
    let before = world.slices.clone();
    assert_eq!(world.sync().writes(), [0, 0, 0], "T-CTL-41");
    assert_eq!(world.slices, before, "T-CTL-41");
}
