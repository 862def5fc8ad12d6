//! Tests of recording and applying measurements.

use super::*;

static SIZES: MetricSpec = MetricSpec {
    name: "sizes",
    help: "Sizes",
    kind: MetricKind::Histogram { buckets: &[1.0, 2.0] },
    labels: &[],
};
static WRITES: MetricSpec = MetricSpec {
    name: "writes",
    help: "Writes",
    kind: MetricKind::Counter,
    labels: &["operation"],
};
static KNOWN: MetricSpec = MetricSpec {
    name: "known",
    help: "Known objects",
    kind: MetricKind::Gauge,
    labels: &[],
};

fn apply_all(measurements: &mut Measurements) -> MetricValues {
    let mut values = MetricValues::default();
    for metric in [&SIZES, &WRITES, &KNOWN] {
        values.register(metric);
    }
    for measurement in measurements.take() {
        values.apply(measurement);
    }
    values
}

fn number(values: &MetricValues, name: &str, labels: &[&'static str]) -> Option<f64> {
    match values.get(name, labels)? {
        MetricValue::Number(number) => Some(*number),
        MetricValue::Histogram { .. } => panic!("{name} is a histogram"),
    }
}

#[test]
fn counters_add_gauges_keep_the_last_value_and_histograms_count_per_bucket() {
    let mut measurements = Measurements::default();
    for value in [0.5, 1.0, 1.5, 3.0] {
        measurements.record(&SIZES, &[], value);
        measurements.record(&KNOWN, &[], value);
        measurements.record(&WRITES, &["create"], value);
    }
    let values = apply_all(&mut measurements);
    let histogram = MetricValue::Histogram {
        bounds: &[1.0, 2.0],
        counts: vec![2, 1, 1],
        sum: 6.0,
    };
    assert_eq!(values.get("sizes", &[]), Some(&histogram));
    assert_eq!(number(&values, "known", &[]), Some(3.0));
    assert_eq!(number(&values, "writes", &["create"]), Some(6.0));
    assert_eq!(measurements.take(), []);
}

#[test]
fn only_metrics_without_labels_have_a_value_before_the_first_measurement() {
    let values = apply_all(&mut Measurements::default());
    let names: Vec<_> = values.families().map(|family| family.metric.name).collect();
    assert_eq!(names, ["known", "sizes"]);
    assert_eq!(number(&values, "known", &[]), Some(0.0));
}

#[test]
#[should_panic(expected = "two metrics are named known")]
fn registering_two_metrics_with_one_name_panics() {
    static OTHER: MetricSpec = MetricSpec {
        kind: MetricKind::Counter,
        ..KNOWN
    };
    apply_all(&mut Measurements::default()).register(&OTHER);
}

#[test]
#[should_panic(expected = "label values of writes")]
fn missing_label_value_panics() {
    Measurements::default().record(&WRITES, &[], 1.0);
}

#[test]
fn gauge_is_the_sum_of_all_contributions() {
    let mut measurements = Measurements::default();
    let mut sums = GaugeSums::new([(&KNOWN, &[])]);
    for (name, contribution, expected) in [
        ("a", Some(2), Some(2.0)),
        ("b", Some(3), Some(5.0)),
        ("a", Some(1), Some(4.0)),
        ("a", Some(1), None),
        ("b", None, Some(1.0)),
        ("c", None, None),
    ] {
        sums.replace(
            &Key::new("ns", name),
            contribution.map(|count| [count]),
            &mut measurements,
        );
        let recorded: Vec<f64> = measurements
            .take()
            .iter()
            .map(|measurement| measurement.value)
            .collect();
        assert_eq!(recorded, Vec::from_iter(expected), "{name} {contribution:?}");
    }
}

/// The work queue buckets of upstream, with the same digits.
#[test]
fn exponential_buckets_are_products_not_powers() {
    let bounds: [f64; 5] = exponential_buckets(1e-8, 10.0);
    assert_eq!(
        bounds.map(|bound| format!("{bound:e}")),
        ["1e-8", "1e-7", "1e-6", "9.999999999999999e-6", "9.999999999999999e-5"]
    );
}
