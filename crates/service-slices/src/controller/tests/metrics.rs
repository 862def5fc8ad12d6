//! Metrics.

use slice_controller::{MetricKind, MetricValue};
use slice_core::AddressType;
use slice_reconciler::{EndpointCounts, Plan, PlanStats, hints::TrafficDistribution};

use super::*;
use crate::controller::metrics::METRICS;

/// The value of a counter or gauge, if it was recorded.
fn number(harness: &mut Harness, name: &str, labels: &[&'static str]) -> Option<f64> {
    match harness.metrics().get(name, labels)? {
        MetricValue::Number(number) => Some(*number),
        MetricValue::Histogram { .. } => panic!("{name} is a histogram"),
    }
}

/// Sum and bucket counts of a histogram, if it was recorded.
fn histogram(harness: &mut Harness, name: &str, labels: &[&'static str]) -> Option<(f64, Vec<u64>)> {
    match harness.metrics().get(name, labels)? {
        MetricValue::Histogram { sum, counts, .. } => Some((*sum, counts.clone())),
        MetricValue::Number(_) => panic!("{name} is a number"),
    }
}

fn gauges(harness: &mut Harness) -> [Option<f64>; 3] {
    ["endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices"].map(|name| number(harness, name, &[]))
}

fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.apply(&node("n1", "a"));
    harness.apply(&with(&service("web"), "/spec/ipFamilies", json!(["IPv4", "IPv6"])));
    for i in 0..150 {
        let ips = json!([{"ip": format!("10.0.1.{i}")}, {"ip": format!("fd00::{i}")}]);
        harness.apply(&with(&pod(&format!("p{i}"), ""), "/status/podIPs", ips));
    }
    harness.sync("web");
    harness
}

/// Gauges count both address types, follow the desired state, and drop deleted Services (R87, R91, R128, R130, T-MET ids, W5).
#[test]
fn gauges_follow_the_desired_state_and_deletions() {
    let mut harness = harness();
    assert_eq!(gauges(&mut harness), [300.0, 4.0, 4.0].map(Some));
    for i in 0..150 {
        harness.delete(Watch::Pods, &format!("p{i}"));
    }
    harness.sync("web");
    assert_eq!(gauges(&mut harness), [0.0, 2.0, 2.0].map(Some));
    harness.delete(Watch::Services, "web");
    harness.sync("web");
    assert_eq!(gauges(&mut harness), [0.0, 0.0, 0.0].map(Some));
}

/// Names, types, help and buckets are upstream's, with one metric of our own (R127, W21).
#[test]
fn r127_names_and_buckets_are_upstreams() {
    let expected = [
        "histogram endpoints_added_per_sync[]: [BETA] Number of endpoints added on each Service sync",
        "histogram endpoints_removed_per_sync[]: [BETA] Number of endpoints removed on each Service sync",
        "gauge endpoints_desired[]: [BETA] Number of endpoints desired",
        "gauge num_endpoint_slices[]: [BETA] Number of EndpointSlices",
        "gauge desired_endpoint_slices[]: [BETA] Number of EndpointSlices that would exist with perfect endpoint \
         allocation",
        "counter changes[\"operation\"]: [ALPHA] Number of EndpointSlice changes",
        "histogram endpointslices_changed_per_sync[\"topology\", \"traffic_distribution\"]: [ALPHA] Number of \
         EndpointSlices changed on each Service sync",
        "histogram endpointslices_written_per_sync[]: Number of EndpointSlices changed on each Service sync, in buckets \
         for numbers",
        "counter syncs[\"result\"]: [ALPHA] Number of EndpointSlice syncs",
        "gauge services_count_by_traffic_distribution[\"traffic_distribution\"]: [BETA] Number of Services using some \
         specific trafficDistribution",
    ];
    let described = METRICS.map(|metric| {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram { .. } => "histogram",
        };
        format!("{kind} {}{:?}: {}", metric.name, metric.labels, metric.help)
    });
    assert_eq!(described, expected);
    let buckets = |name: &str| -> Vec<f64> {
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap();
        match metric.kind {
            MetricKind::Histogram { buckets } => buckets.to_vec(),
            kind => panic!("{kind:?}"),
        }
    };
    let doubling: Vec<f64> = (1..=15).map(|power| f64::from(1 << power)).collect();
    for name in [
        "endpoints_added_per_sync",
        "endpoints_removed_per_sync",
        "endpointslices_written_per_sync",
    ] {
        assert_eq!(buckets(name), doubling, "{name}");
    }
    assert_eq!(
        buckets("endpointslices_changed_per_sync"),
        [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]
    );
}

/// Syncs are counted by result, writes by operation, changed slices per successful sync (R51, R107, R108, W21, trap 26, trap 38,
/// trap 44).
#[test]
fn syncs_and_writes_are_counted() {
    let mut harness = harness();
    harness.sync("web");
    harness.sync("unknown");
    assert_eq!(number(&mut harness, "syncs", &["success"]), Some(3.0));
    assert_eq!(number(&mut harness, "syncs", &["error"]), None);
    let changes = ["create", "update", "delete"].map(|operation| number(&mut harness, "changes", &[operation]));
    assert_eq!(changes, [Some(4.0), None, None]);
    let (sum, counts) = histogram(&mut harness, "endpoints_added_per_sync", &[]).unwrap();
    assert_eq!((sum, counts.iter().sum::<u64>()), (300.0, 4));
    let labels = ["Disabled", ""];
    let per_sync = "endpointslices_changed_per_sync";
    let (sum, counts) = histogram(&mut harness, per_sync, &labels).unwrap();
    assert_eq!((sum, counts.iter().sum::<u64>()), (4.0, 4));
    // Two address types with two slices each, then nothing to write (W21).
    let (_, counts) = histogram(&mut harness, "endpointslices_written_per_sync", &[]).unwrap();
    assert_eq!(counts[0], 4);
    let failure = SyncOutcome {
        failures: vec![SyncFailure::Create(write_error("denied"))],
        ..SyncOutcome::default()
    };
    harness.plan("web");
    harness.controller.on_sync_result(&Key::new("ns", "web"), &failure);
    assert_eq!(number(&mut harness, "syncs", &["error"]), Some(1.0));
    let (_, counts) = histogram(&mut harness, per_sync, &labels).unwrap();
    assert_eq!(counts.iter().sum::<u64>(), 4);
}

fn by_traffic_distribution(harness: &mut Harness) -> Vec<String> {
    let values = ["PreferClose", "PreferSameNode", "PreferSameZone"];
    let name = "services_count_by_traffic_distribution";
    let counts = values.map(|value| Some(format!("{value} {}", number(harness, name, &[value])?)));
    counts.into_iter().flatten().collect()
}

/// A value without Services stays at zero. Unknown values are not counted; upstream counts them (H66, R129).
#[test]
fn t_met_03_t_mtd_01_to_09_services_are_counted_by_traffic_distribution() {
    let (close, zone, node) = ("PreferClose", "PreferSameZone", "PreferSameNode");
    let mut harness = Harness::new();
    for (name, value, expected) in [
        ("s1", Some(close), "PreferClose 1"),
        ("s1", Some(close), "PreferClose 1"),
        ("s2", Some(close), "PreferClose 2"),
        ("s3", Some(zone), "PreferClose 2, PreferSameZone 1"),
        ("s4", None, "PreferClose 2, PreferSameZone 1"),
        ("s2", Some(node), "PreferClose 1, PreferSameNode 1, PreferSameZone 1"),
        (
            "s3",
            Some("deleted"),
            "PreferClose 1, PreferSameNode 1, PreferSameZone 0",
        ),
        ("s1", None, "PreferClose 0, PreferSameNode 1, PreferSameZone 0"),
        ("s2", None, "PreferClose 0, PreferSameNode 0, PreferSameZone 0"),
    ] {
        if value == Some("deleted") {
            harness.delete(Watch::Services, name);
        } else {
            harness.apply(&with(&service(name), "/spec/trafficDistribution", json!(value)));
        }
        harness.sync(name);
        assert_eq!(
            by_traffic_distribution(&mut harness).join(", "),
            expected,
            "{name} {value:?}"
        );
    }
}

#[test]
fn t_mtd_10_gauges_of_a_service_with_traffic_distribution() {
    let mut harness = Harness::new();
    harness.apply(&node("n1", "a"));
    harness.apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!("PreferClose"),
    ));
    harness.apply(&pod("a", "10.0.0.1"));
    harness.apply(&pod("b", "10.0.0.2"));
    harness.sync("web");
    assert_eq!(gauges(&mut harness), [2.0, 1.0, 1.0].map(Some));
    assert_eq!(by_traffic_distribution(&mut harness), ["PreferClose 1"]);
}

/// Gauges are running sums, so that a sync costs the same however many Services there are. Summing up each time would visit two
/// billion entries here (D6, W20).
#[test]
fn t_met_04_gauge_updates_take_constant_time() {
    let mut harness = Harness::new();
    let metrics = &mut harness.controller.metrics;
    let (small, large) = (stats(182, 2), stats(356, 4));
    let plan = Plan {
        stats: vec![small, large],
        ..Plan::default()
    };
    for name in 0..50_000 {
        metrics.record_plan(
            &Key::new("ns", name.to_string()),
            &plan,
            Some(TrafficDistribution::PreferClose),
        );
    }
    for name in 1..50_000 {
        metrics.forget(&Key::new("ns", name.to_string()));
    }
    assert_eq!(gauges(&mut harness), [538.0, 6.0, 6.0].map(Some));
    assert_eq!(by_traffic_distribution(&mut harness), ["PreferClose 1"]);
}

/// Metrics belong to a controller, not to the process (T-MC-04).
#[test]
fn t_mc_04_each_controller_has_metrics_of_its_own() {
    let (mut one, mut other) = (harness(), Harness::new());
    assert_eq!(number(&mut one, "endpoints_desired", &[]), Some(300.0));
    assert_eq!(number(&mut other, "endpoints_desired", &[]), Some(0.0));
}

fn stats(endpoints: usize, slices: usize) -> PlanStats {
    PlanStats {
        address_type: AddressType::IPv4,
        changes: EndpointCounts::default(),
        desired_endpoints: endpoints,
        slices,
        min_slices: slices,
    }
}
