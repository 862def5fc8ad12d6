//! Metrics.

use slice_controller::{MetricKind, MetricValue, WriteCounts};
use slice_core::AddressType;
use slice_reconciler::{EndpointCounts, PlanStats};

use super::{metrics::METRICS, *};

/// The value of a counter or a gauge, or the sum of a histogram; 0 if nothing was recorded yet.
fn value(harness: &mut Harness, name: &str, labels: &[&'static str]) -> f64 {
    match harness.metrics().get(name, labels) {
        Some(MetricValue::Number(number)) => *number,
        Some(MetricValue::Histogram { sum, .. }) => *sum,
        None => 0.0,
    }
}

/// Number of values in a histogram.
fn count(harness: &mut Harness, name: &str) -> u64 {
    match harness.metrics().get(name, &[]) {
        Some(MetricValue::Histogram { counts, .. }) => counts.iter().sum(),
        other => panic!("{name}: {other:?}"),
    }
}

/// All metrics in one line, as in the table of T-MIR-20…47: desired slices/slices/endpoints, then endpoints added, updated,
/// removed and skipped, then slices created, updated and deleted. Sums of 0 are omitted.
fn summary(harness: &mut Harness) -> String {
    let gauges = ["desired_endpoint_slices", "num_endpoint_slices", "endpoints_desired"]
        .map(|name| value(harness, name, &[]).to_string())
        .join("/");
    let sums: [(_, _, &[_]); 7] = [
        ("+", "endpoints_added_per_sync", &[]),
        ("~", "endpoints_updated_per_sync", &[]),
        ("-", "endpoints_removed_per_sync", &[]),
        ("!", "addresses_skipped_per_sync", &[]),
        ("c", "changes", &["create"]),
        ("u", "changes", &["update"]),
        ("d", "changes", &["delete"]),
    ];
    let sums = sums.map(|(mark, name, labels)| (mark, value(harness, name, labels)));
    let sums = sums.iter().filter(|(_, sum)| *sum > 0.0);
    sums.fold(gauges, |text, (mark, sum)| format!("{text} {mark}{sum}"))
}

/// Metrics after one sync without existing slices (M72, T-MIR-20…42).
#[test]
fn t_mir_20_to_42_metrics_of_a_first_sync() {
    let two = "10.0.0.1 10.0.0.2 :a/80 b/443; 10.0.1.1 10.0.1.2 10.0.1.3 :c/3000 d/3001";
    let bad = "this-is-not-an-ip1 this-is-not-an-ip12 :a/80; \
               this-is-not-an-ip11 this-is-not-an-ip12 this-is-not-an-ip3 :b/443";
    for (id, max, subsets, expected) in [
        ("T-MIR-20", 1000, "", "0/0/0"),
        ("T-MIR-21", 1000, " :http/80", "0/0/0"),
        ("T-MIR-22", 1000, "10.0.0.1@pod-1 :http/80", "1/1/1 +1 c1"),
        (
            "T-MIR-23",
            1000,
            "10.0.0.1 :http/80; 10.0.0.2 :https/443",
            "2/2/2 +2 c2",
        ),
        (
            "T-MIR-24",
            1000,
            "10.0.0.1 :http/80; 10.0.0.1 :https/443",
            "1/1/1 +1 c1",
        ),
        ("T-MIR-25", 1000, "10.0.0.1 :http/80; 10.0.0.2 :http/80", "1/1/2 +2 c1"),
        (
            "T-MIR-31",
            1000,
            "10.0.0.1 10.0.0.2 :http/80 https/443/UDP",
            "1/1/2 +2 c1",
        ),
        (
            "T-MIR-32",
            1000,
            "!10.0.0.1 !10.0.0.2 :http/80 https/443/UDP",
            "1/1/2 +2 c1",
        ),
        (
            "T-MIR-33",
            1000,
            "10.1.1.1 10.1.1.2 !10.0.0.1 !10.0.0.2 :80",
            "1/1/4 +4 c1",
        ),
        ("T-MIR-34", 1000, two, "2/2/5 +5 c2"),
        (
            "T-MIR-38",
            1000,
            "10.0.0.1 fd00::1 :a/80; 10.0.0.2 10.0.0.3 fd00::2 :b/443",
            "4/4/5 +5 c4",
        ),
        (
            "T-MIR-39",
            1000,
            "fd00::1 fd00::2 :a/80; fd00::3 fd00::4 fd00::5 :b/443",
            "2/2/5 +5 c2",
        ),
        (
            "T-MIR-40",
            1000,
            "fd00::1 this-is-not-an-ip :a/80; this-is-also-not-an-ip fd00::3 fd00::4 :b/443",
            "2/2/3 +3 !2 c2",
        ),
        ("T-MIR-41", 1000, bad, "0/0/0 !5"),
        ("T-MIR-42", 2, two, "2/2/4 +4 !1 c2"),
    ] {
        let mut harness = Harness::with_config(Config {
            max_endpoints_per_subset: NonZeroUsize::new(max).unwrap(),
            ..config()
        });
        harness.apply(&service(&Value::Null));
        harness.apply(&endpoints(subsets));
        harness.sync();
        assert_eq!(summary(&mut harness), expected, "{id}");
    }
}

/// Metrics after one sync with an existing slice for the first subset (T-MIR-35…37).
#[test]
fn t_mir_35_to_37_metrics_of_a_later_sync() {
    let ports = json!([{"name": "a", "protocol": "TCP", "port": 80}, {"name": "b", "protocol": "TCP", "port": 443}]);
    let endpoint = |addresses: Value, pod: &str, conditions: Value| json!({"addresses": addresses, "targetRef": {"name": pod}, "conditions": conditions});
    let ready = json!({"ready": true});
    let other = json!([
        endpoint(json!(["10.0.0.2"]), "pod-2", json!({})),
        endpoint(json!(["10.0.0.1", "10.0.0.3"]), "pod-1", ready.clone()),
    ]);
    let same = json!([
        endpoint(json!(["10.0.0.1"]), "pod-1", ready.clone()),
        endpoint(json!(["10.0.0.2"]), "pod-2", ready),
    ]);
    for (id, existing, expected) in [
        ("T-MIR-35", json!([]), "2/2/5 +5 c1 u1"),
        ("T-MIR-36", other, "2/2/5 +4 ~1 -1 c1 u1"),
        ("T-MIR-37", same, "2/2/5 +3 c1"),
    ] {
        let mut harness = Harness::new();
        harness.slices = vec![stored("test-ep-1", "IPv4", &ports, &existing)];
        harness.apply(&service(&Value::Null));
        harness.apply(&endpoints(
            "10.0.0.1@pod-1 10.0.0.2@pod-2 :a/80 b/443; 10.0.1.1 10.0.1.2 10.0.1.3 :c/3000 d/3001",
        ));
        harness.sync();
        assert_eq!(summary(&mut harness), expected, "{id}");
    }
}

/// Objects that are not mirrored leave the gauges. Cleanup records no per-sync histograms, but its deletions count (M110, M108,
/// M121, D11).
#[test]
fn m108_objects_that_are_not_mirrored_leave_the_gauges() {
    type Change = fn(&mut Harness);
    let changes: [(&str, Change); 3] = [
        ("the object", |harness| {
            harness.delete(Watch::Endpoints, "test-ep");
        }),
        ("the Service", |harness| {
            harness.delete(Watch::Services, "test-ep");
        }),
        ("both", |harness| {
            harness.delete(Watch::Services, "test-ep");
            harness.delete(Watch::Endpoints, "test-ep");
        }),
    ];
    for (id, change) in changes {
        let mut harness = Harness::mirrored("10.0.0.1 :80");
        change(&mut harness);
        assert_eq!(summary(&mut harness), "1/1/1 +1 c1", "{id}: before the sync");
        harness.sync();
        harness.sync();
        assert_eq!(summary(&mut harness), "0/0/0 +1 c1 d1", "{id}");
        assert_eq!(count(&mut harness, "endpoints_removed_per_sync"), 1, "{id}");
        assert_eq!(count(&mut harness, "endpoints_sync_duration"), 3, "{id}");
    }
}

/// Objects that leave the scope leave the gauges (M124).
#[test]
fn objects_out_of_scope_leave_the_gauges() {
    let mut harness = Harness::with_config(Config {
        service_selector: "team=a".into(),
        ..config()
    });
    harness.apply(&service(&Value::Null));
    harness.apply(&endpoints("10.0.0.1 :80"));
    harness.sync();
    harness.delete(Watch::Services, "test-ep");
    harness.sync();
    assert_eq!(summary(&mut harness), "0/0/0 +1 c1");
}

/// Gauges are sums over all objects; a sync replaces the part of its object (M123, D7, T-MIR-61…65). The table has (endpoints,
/// slices) per group.
#[test]
fn t_mir_61_to_65_gauges_are_sums_over_all_objects() {
    let initial = [(12, 5), (18, 8)];
    let expanded = [(45, 1), (35, 1)];
    let mut harness = Harness::new();
    for (id, name, groups, expected) in [
        ("T-MIR-61", "svc1", Some(initial), "2/13/30"),
        ("T-MIR-62", "svc2", Some(expanded), "4/15/110"),
        ("T-MIR-63", "svc3", Some(initial), "6/28/140"),
        ("T-MIR-64", "svc1", Some(expanded), "6/17/190"),
        ("T-MIR-65", "svc3", None, "4/4/160"),
        ("M124: an unknown object", "svc4", None, "4/4/160"),
    ] {
        let metrics = &mut harness.controller.metrics;
        let key = Key::new("test", name);
        let stats = |(endpoints, slices): (usize, usize)| PlanStats {
            address_type: AddressType::IPv4,
            changes: EndpointCounts::default(),
            desired_endpoints: endpoints,
            slices,
            min_slices: endpoints.div_ceil(100),
        };
        match groups {
            Some(groups) => {
                let plan = Plan {
                    stats: groups.map(stats).into(),
                    ..Plan::default()
                };
                metrics.record_plan(&key, &plan, 0);
            }
            None => metrics.remove(&key),
        }
        assert_eq!(summary(&mut harness), expected, "{id}");
    }
}

/// Durations in whole milliseconds, also of failed syncs (M104, M116, M122).
#[test]
fn m122_durations_and_writes_are_recorded() {
    let mut harness = Harness::new();
    for (micros, sum) in [(999, "0"), (1_999, "0.001"), (2_250_500, "2.251")] {
        let outcome = SyncOutcome {
            writes: WriteCounts {
                created: 1,
                updated: 2,
                deleted: 3,
            },
            failures: vec![SyncFailure::Create(write_error("no"))],
            duration: Duration::from_micros(micros),
            ..SyncOutcome::default()
        };
        harness.controller.on_sync_result(&key(), &outcome);
        let found = value(&mut harness, "endpoints_sync_duration", &[]);
        assert_eq!(found.to_string(), sum, "{micros}");
    }
    assert_eq!(summary(&mut harness), "0/0/0 c3 u6 d9");
}

/// Names, types, help and buckets equal those of upstream (M112–M120).
#[test]
fn m112_to_m120_metrics_equal_those_of_upstream() {
    let expected = [
        "histogram endpoints_added_per_sync[]: [ALPHA] Number of endpoints added on each Endpoints sync",
        "histogram endpoints_updated_per_sync[]: [ALPHA] Number of endpoints updated on each Endpoints sync",
        "histogram endpoints_removed_per_sync[]: [ALPHA] Number of endpoints removed on each Endpoints sync",
        "histogram addresses_skipped_per_sync[]: [ALPHA] Number of addresses skipped on each Endpoints sync due to being \
         invalid or exceeding MaxEndpointsPerSubset",
        "histogram endpoints_sync_duration[]: [ALPHA] Duration of syncEndpoints() in seconds",
        "gauge endpoints_desired[]: [ALPHA] Number of endpoints desired",
        "gauge num_endpoint_slices[]: [ALPHA] Number of EndpointSlices",
        "gauge desired_endpoint_slices[]: [ALPHA] Number of EndpointSlices that would exist with perfect endpoint \
         allocation",
        "counter changes[\"operation\"]: [ALPHA] Number of EndpointSlice changes",
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
    let doubling = |first: f64| -> Vec<f64> {
        let bounds = std::iter::successors(Some(first), |bound| Some(bound * 2.0));
        bounds.take(15).collect()
    };
    for name in [
        "addresses_skipped_per_sync",
        "endpoints_added_per_sync",
        "endpoints_removed_per_sync",
        "endpoints_updated_per_sync",
    ] {
        assert_eq!(buckets(name), doubling(2.0), "{name}");
    }
    let seconds = buckets("endpoints_sync_duration");
    assert_eq!(seconds, doubling(0.001));
    assert_eq!(
        [seconds[0], seconds[14]].map(|bound| bound.to_string()),
        ["0.001", "16.384"]
    );
}
