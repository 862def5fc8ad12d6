//! Every metric and label in alerts and dashboard is one that the programs declare.

use std::collections::BTreeSet;

use regex::Regex;
use slice_controller::{Controller as _, MetricKind, MetricSpec};
use slice_runtime::Metrics;

use super::*;
use crate::controller::{mirroring_controller, service_controller};

/// Labels that are not in the declarations: of the Lease or work queue, of histograms, and those that Prometheus adds.
const OTHER_LABELS: [&str; 4] = ["name", "le", "job", "pod"];

/// Names of all time series and labels of both programs.
fn declared() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut labels) = (BTreeSet::new(), BTreeSet::new());
    labels.extend(OTHER_LABELS.map(str::to_owned));
    let mut add = |name: &str, spec: &MetricSpec| {
        let suffixes: &[&str] = match spec.kind {
            MetricKind::Histogram { .. } => &["_bucket", "_sum", "_count"],
            MetricKind::Counter | MetricKind::Gauge => &[""],
        };
        names.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
        labels.extend(spec.labels.iter().map(|&label| label.to_owned()));
    };
    for controller in Controller::ALL {
        let prefix = controller.metrics_prefix();
        let own = match controller {
            Controller::EndpointSlice => service_controller().metrics(),
            Controller::Mirroring => mirroring_controller().metrics(),
        };
        for spec in own {
            add(&format!("{prefix}_{}", spec.name), spec);
        }
        for (name, spec) in Metrics::runtime_specs(prefix) {
            add(&name, spec);
        }
    }
    (names, labels)
}

/// All queries of alerts and dashboard.
fn expressions() -> Vec<String> {
    let mut found = Vec::new();
    for controller in Controller::ALL {
        let rule = prometheus_rule(controller);
        let alerts = rule.data["spec"]["groups"][0]["rules"].as_array().unwrap();
        found.extend(alerts.iter().map(|alert| alert["expr"].as_str().unwrap().to_owned()));
    }
    let dashboard: Value = serde_json::from_str(&dashboard::json()).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().unwrap();
        found.extend(targets.iter().map(|target| target["expr"].as_str().unwrap().to_owned()));
    }
    found
}

/// The metrics and labels in an expression.
fn used(expression: &str) -> (Vec<String>, Vec<String>) {
    let all = |pattern: &str, text: &str| -> Vec<String> {
        let pattern = Regex::new(pattern).unwrap();
        pattern
            .captures_iter(text)
            .map(|captures| captures[1].to_owned())
            .collect()
    };
    let grouped = all(r"by \(([^)]*)\)", expression);
    let mut labels: Vec<String> = grouped
        .iter()
        .flat_map(|list| list.split(", "))
        .map(str::to_owned)
        .collect();
    labels.extend(all(r"(\w+)=", &all(r"\{([^}]*)\}", expression).join(",")));
    let without_labels = Regex::new(r"by \([^)]*\)|\{[^}]*\}|\[[^\]]*\]")
        .unwrap()
        .replace_all(expression, "");
    let words = Regex::new(r"\b([a-z_]\w*)\s*(\(?)").unwrap();
    // A word before a parenthesis is a function.
    let metrics = words.captures_iter(&without_labels).filter(|word| word[2].is_empty());
    (metrics.map(|word| word[1].to_owned()).collect(), labels)
}

#[test]
fn alerts_and_dashboard_use_declared_metrics_and_labels() {
    let (names, labels) = declared();
    let expressions = expressions();
    assert!(expressions.len() > 20, "{expressions:?}");
    for expression in expressions {
        let (metrics, used_labels) = used(&expression);
        assert_eq!(metrics.len(), 1, "{expression}: {metrics:?}");
        assert!(
            names.contains(&metrics[0]),
            "{} of {expression} is no metric",
            metrics[0]
        );
        for label in used_labels {
            assert!(labels.contains(&label), "{label} of {expression} is no label");
        }
    }
}

#[test]
fn metrics_and_labels_are_found_in_expressions() {
    let (metrics, labels) = used("histogram_quantile(0.99, sum by (le, code) (rate(a_bucket{job=~\"x|y\"}[5m]))) > 10");
    assert_eq!(metrics, ["a_bucket"]);
    assert_eq!(labels, ["le", "code", "job"]);
    assert_eq!(used("absent(b{name=\"x\"} == 1)").0, ["b"]);
}
