//! What is measured.

use prometheus::Encoder as _;
use slice_core::AddressType;
use slice_reconciler::{Changes, Plan, Summary};

use super::{metrics::Metrics, *};

fn exposition(stage: &Stage) -> String {
    let mut text = Vec::new();
    prometheus::TextEncoder::new()
        .encode(&stage.registry.gather(), &mut text)
        .unwrap();
    String::from_utf8(text).unwrap()
}

/// The lines of the exposition that begin so, without the common prefix.
fn lines(stage: &Stage, beginning: &str) -> Vec<String> {
    let text = exposition(stage);
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

/// R87, R91, R128, R130, T-MET ids, W5: both families count.
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
        stage.delete(Watch::Pods, &format!("p{i}"));
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
    stage.delete(Watch::Services, "web");
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

/// R127: names, types, help and buckets as dashboards know them, and one of our own (W21).
#[test]
fn r127_names_and_buckets_are_upstreams() {
    let mut stage = stage();
    stage.apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!("PreferClose"),
    ));
    stage.sync("web");
    let text = exposition(&stage);
    let described = text.lines().filter_map(|line| line.strip_prefix("# "));
    let described: Vec<String> = described
        .map(|line| line.replace("endpoint_slice_controller_", ""))
        .collect();
    let expected = [
        ("changes", "counter", "[ALPHA] Number of EndpointSlice changes"),
        (
            "desired_endpoint_slices",
            "gauge",
            "[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation",
        ),
        (
            "endpoints_added_per_sync",
            "histogram",
            "[BETA] Number of endpoints added on each Service sync",
        ),
        ("endpoints_desired", "gauge", "[BETA] Number of endpoints desired"),
        (
            "endpoints_removed_per_sync",
            "histogram",
            "[BETA] Number of endpoints removed on each Service sync",
        ),
        (
            "endpointslices_changed_per_sync",
            "histogram",
            "[ALPHA] Number of EndpointSlices changed on each Service sync",
        ),
        (
            "endpointslices_written_per_sync",
            "histogram",
            "Number of EndpointSlices changed on each Service sync, in buckets for numbers",
        ),
        ("num_endpoint_slices", "gauge", "[BETA] Number of EndpointSlices"),
        (
            "services_count_by_traffic_distribution",
            "gauge",
            "[BETA] Number of Services using some specific trafficDistribution",
        ),
        ("syncs", "counter", "[ALPHA] Number of EndpointSlice syncs"),
    ];
    let expected = expected.iter();
    let expected =
        expected.flat_map(|(name, kind, help)| [format!("HELP {name} {help}"), format!("TYPE {name} {kind}")]);
    assert_eq!(described, expected.collect::<Vec<_>>());

    let buckets = |name: &str| -> Vec<String> {
        let lines = lines(&stage, &format!("{name}_bucket{{"));
        let bounds = lines.iter().filter(|line| !line.contains("PreferClose"));
        let bounds = bounds.filter_map(|line| line.split("le=\"").nth(1)?.split('"').next());
        bounds.map(ToOwned::to_owned).collect()
    };
    let doubling = (1..=15)
        .map(|power| (1 << power).to_string())
        .chain(["+Inf".to_owned()]);
    let doubling: Vec<String> = doubling.collect();
    let numbers = ["endpoints_added_per_sync", "endpoints_removed_per_sync"].map(buckets);
    assert_eq!(numbers, [doubling.clone(), doubling]);
    assert_eq!(
        buckets("endpointslices_changed_per_sync"),
        [
            "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"
        ]
    );
}

/// R51, R107, R108, W21, trap 26, trap 38, trap 44.
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
    // W21: two families with two slices each, and nothing to do the next time.
    assert_eq!(
        lines(&stage, "endpointslices_written_per_sync_bucket{le=\"2\"}"),
        ["endpointslices_written_per_sync_bucket{le=\"2\"} 4"]
    );
    let failure = SyncOutcome {
        failures: vec![SyncFailure::Create(write_error("no"))],
        ..SyncOutcome::default()
    };
    stage.plan("web");
    stage.controller.on_sync_result(&Key::new("ns", "web"), &failure);
    assert_eq!(lines(&stage, "syncs")[0], r#"syncs{result="error"} 1"#);
    assert_eq!(
        lines(&stage, "endpointslices_changed_per_sync_count"),
        [format!("endpointslices_changed_per_sync_count{labels} 4")]
    );
}

fn by_traffic_distribution(stage: &Stage) -> Vec<String> {
    let lines = lines(stage, "services_count_by_traffic_distribution");
    lines
        .iter()
        .map(|line| line.split_once("distribution=").unwrap().1.replace(['"', '}'], ""))
        .collect()
}

/// H66, R129: a value that nobody has any more stays at zero. Values of the future, which upstream counts too, are
/// none here
/// before they mean something.
#[test]
fn t_met_03_t_mtd_01_to_09_services_are_counted_by_traffic_distribution() {
    let (close, zone, node) = ("PreferClose", "PreferSameZone", "PreferSameNode");
    let mut stage = Stage::new();
    for (name, value, expected) in [
        ("s1", Some(close), "PreferClose 1"),
        ("s1", Some(close), "PreferClose 1"),
        ("s2", Some(close), "PreferClose 2"),
        ("s3", Some(zone), "PreferClose 2, PreferSameZone 1"),
        ("s4", None, "PreferClose 2, PreferSameZone 1"),
        ("s2", Some(node), "PreferClose 1, PreferSameNode 1, PreferSameZone 1"),
        ("s3", Some("gone"), "PreferClose 1, PreferSameNode 1, PreferSameZone 0"),
        ("s1", None, "PreferClose 0, PreferSameNode 1, PreferSameZone 0"),
        ("s2", None, "PreferClose 0, PreferSameNode 0, PreferSameZone 0"),
    ] {
        if value == Some("gone") {
            stage.delete(Watch::Services, name);
        } else {
            stage.apply(&with(&service(name), "/spec/trafficDistribution", json!(value)));
        }
        stage.sync(name);
        assert_eq!(by_traffic_distribution(&stage).join(", "), expected, "{name} {value:?}");
    }
}

#[test]
fn t_mtd_10_gauges_of_a_service_with_traffic_distribution() {
    let mut stage = Stage::new();
    stage.apply(&node("n1", "a"));
    stage.apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!("PreferClose"),
    ));
    stage.apply(&pod("a", "10.0.0.1"));
    stage.apply(&pod("b", "10.0.0.2"));
    stage.sync("web");
    let mut exposed = Vec::new();
    prometheus::TextEncoder::new()
        .encode(&stage.registry.gather(), &mut exposed)
        .unwrap();
    let exposed = String::from_utf8(exposed).unwrap();
    for (name, help, labels, value) in [
        (
            "desired_endpoint_slices",
            "Number of EndpointSlices that would exist with perfect endpoint allocation",
            "",
            1,
        ),
        ("endpoints_desired", "Number of endpoints desired", "", 2),
        ("num_endpoint_slices", "Number of EndpointSlices", "", 1),
        (
            "services_count_by_traffic_distribution",
            "Number of Services using some specific trafficDistribution",
            r#"{traffic_distribution="PreferClose"}"#,
            1,
        ),
    ] {
        let name = format!("endpoint_slice_controller_{name}");
        let expected = format!("# HELP {name} [BETA] {help}\n# TYPE {name} gauge\n{name}{labels} {value}\n");
        assert!(exposed.contains(&expected), "{expected} in {exposed}");
    }
}

/// D6, W20: gauges are running sums. Were they summed up anew, this would look at two billion Services.
#[test]
fn t_met_04_one_more_service_costs_the_same_however_many_there_are() {
    let registry = prometheus::Registry::new();
    let mut metrics = Metrics::new(&registry).unwrap();
    let (small, large) = (summary(182, 2), summary(356, 4));
    let plan = Plan {
        summaries: vec![small, large],
        ..Plan::default()
    };
    for name in 0..50_000 {
        metrics.planned(&Key::new("ns", name.to_string()), &plan, None);
    }
    for name in 1..50_000 {
        metrics.forget(&Key::new("ns", name.to_string()));
    }
    let gathered = registry.gather();
    let gauge = |name: &str| {
        let family = gathered.iter().find(|family| family.name().ends_with(name)).unwrap();
        family.get_metric()[0].get_gauge().get_value().to_string()
    };
    assert_eq!([gauge("endpoints_desired"), gauge("num_endpoint_slices")], ["538", "6"]);
}

/// T-MC-04: here whoever runs a controller gives it a registry; two controllers count apart, and one registry has room for one.
#[test]
fn t_mc_04_each_registry_has_metrics_of_its_own() {
    let (mut one, other) = (stage(), Stage::new());
    one.sync("web");
    assert_eq!(lines(&other, "endpoints_desired"), ["endpoints_desired 0"]);
    assert!(Metrics::new(&one.registry).is_err());
}

fn summary(endpoints: usize, slices: usize) -> Summary {
    Summary {
        address_type: AddressType::IPv4,
        changes: Changes::default(),
        endpoints,
        slices,
        slices_needed: slices,
    }
}
