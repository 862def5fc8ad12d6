//! What is measured.

use prometheus::Encoder as _;

use super::*;

/// The lines of the exposition that begin so, without the common prefix.
fn lines(stage: &Stage, beginning: &str) -> Vec<String> {
    let mut text = Vec::new();
    prometheus::TextEncoder::new()
        .encode(&stage.registry.gather(), &mut text)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("endpoint_slice_controller_"));
    lines
        .filter(|line| line.starts_with(beginning))
        .map(ToOwned::to_owned)
        .collect()
}

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.apply(&node("n1", "a"));
    stage.apply(&with(&service("web"), "/spec/ipFamilies", json!(["IPv4", "IPv6"])));
    for i in 0..150 {
        let ips = json!([{"ip": format!("10.0.1.{i}")}, {"ip": format!("fd00::{i}")}]);
        stage.apply(&with(&pod(&format!("p{i}"), ""), "/status/podIPs", ips));
    }
    stage.sync("web");
    stage
}

/// T-MET ids, R128, W5: both families count.
#[test]
fn gauges_follow_what_is_wanted_and_forget_what_is_gone() {
    let mut stage = stage();
    let gauges = |stage: &Stage| {
        ["endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices"]
            .map(|name| lines(stage, name)[0].clone())
    };
    assert_eq!(
        gauges(&stage),
        [
            "endpoints_desired 300",
            "num_endpoint_slices 4",
            "desired_endpoint_slices 4"
        ]
    );
    for i in 0..150 {
        stage.delete(PODS, &format!("p{i}"));
    }
    stage.sync("web");
    assert_eq!(
        gauges(&stage),
        [
            "endpoints_desired 0",
            "num_endpoint_slices 2",
            "desired_endpoint_slices 2"
        ]
    );
    stage.delete(SERVICES, "web");
    stage.sync("web");
    assert_eq!(
        gauges(&stage),
        [
            "endpoints_desired 0",
            "num_endpoint_slices 0",
            "desired_endpoint_slices 0"
        ]
    );
}

/// R51, R107, R108, trap 26, trap 38, trap 44.
#[test]
fn syncs_and_writes_are_counted() {
    let mut stage = stage();
    stage.sync("web");
    stage.sync("not there");
    assert_eq!(lines(&stage, "syncs"), [r#"syncs{result="success"} 3"#]);
    assert_eq!(lines(&stage, "changes"), [r#"changes{operation="create"} 4"#]);
    assert_eq!(
        lines(&stage, "endpoints_added_per_sync_sum"),
        ["endpoints_added_per_sync_sum 300"]
    );
    assert_eq!(
        lines(&stage, "endpoints_added_per_sync_count"),
        ["endpoints_added_per_sync_count 4"]
    );
    let labels = r#"{topology="Disabled",traffic_distribution=""}"#;
    assert_eq!(
        lines(&stage, "endpointslices_changed_per_sync_sum"),
        [format!("endpointslices_changed_per_sync_sum{labels} 4")]
    );
    let failure = Outcome {
        failures: vec![Failure::Create("no".into())],
        ..Outcome::default()
    };
    stage.plan("web");
    stage.controller.finished(&Key::new("ns", "web"), &failure);
    assert_eq!(lines(&stage, "syncs")[0], r#"syncs{result="error"} 1"#);
    assert_eq!(
        lines(&stage, "endpointslices_changed_per_sync_count"),
        [format!("endpointslices_changed_per_sync_count{labels} 4")]
    );
}

/// R129: a value that nobody has any more stays at zero.
#[test]
fn services_are_counted_by_traffic_distribution() {
    let mut stage = Stage::new();
    for (name, value) in [
        ("web", json!("PreferClose")),
        ("db", json!("PreferSameNode")),
        ("x", json!("PreferClose")),
    ] {
        stage.apply(&with(&service(name), "/spec/trafficDistribution", value));
        stage.sync(name);
    }
    let counts = |stage: &Stage| -> Vec<String> {
        let lines = lines(stage, "services_count_by_traffic_distribution");
        lines
            .iter()
            .map(|line| line.split_once("distribution=").unwrap().1.to_owned())
            .collect()
    };
    assert_eq!(counts(&stage), [r#""PreferClose"} 2"#, r#""PreferSameNode"} 1"#]);
    stage.apply(&service("db"));
    stage.sync("db");
    assert_eq!(counts(&stage), [r#""PreferClose"} 2"#, r#""PreferSameNode"} 0"#]);
}
