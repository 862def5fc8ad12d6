//! Every expression of alerts and dashboard parses, and has only metrics that the programs declare, with labels of that metric.

use std::collections::{BTreeMap, BTreeSet};

use rusty_promql_parser::{
    Expr,
    ast::{Aggregation, BinaryExpr, Call},
    expr,
    parser::{
        function::{ValueType, get_function},
        selector::VectorSelector,
    },
};
use slice_controller::{Controller as _, MetricKind, MetricSpec};
use slice_runtime::Metrics;

use super::*;
use crate::controller::{mirroring_controller, service_controller};

/// Labels that Prometheus adds to every time series.
const SCRAPE_LABELS: [&str; 2] = ["job", "pod"];
/// Metrics with a label that is the same for all series of a program, and not in their declarations.
const NAMED: [&str; 2] = ["workqueue_", "leader_election_"];

/// The labels of each time series of both programs.
type Declared = BTreeMap<String, BTreeSet<&'static str>>;

fn declared() -> Declared {
    let mut found = Declared::new();
    let mut add = |name: &str, spec: &MetricSpec| {
        let mut labels: BTreeSet<&'static str> = spec.labels.iter().copied().chain(SCRAPE_LABELS).collect();
        if NAMED.iter().any(|prefix| name.starts_with(prefix)) {
            labels.insert("name");
        }
        let suffixes: &[&str] = match spec.kind {
            MetricKind::Histogram { .. } => &["_bucket", "_sum", "_count"],
            MetricKind::Counter | MetricKind::Gauge => &[""],
        };
        for suffix in suffixes {
            let le = (*suffix == "_bucket").then_some("le");
            let labels = labels.iter().copied().chain(le).collect();
            found.insert(format!("{name}{suffix}"), labels);
        }
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
    found
}

/// All queries of alerts and dashboard, with the labels in the names of their lines.
fn expressions() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for controller in Controller::ALL {
        let rule = prometheus_rule(controller);
        let alerts = rule.data["spec"]["groups"][0]["rules"].as_array().unwrap();
        found.extend(
            alerts
                .iter()
                .map(|alert| (alert["expr"].as_str().unwrap().to_owned(), Vec::new())),
        );
    }
    found.extend(queries_of_dashboard());
    found
}

/// The queries of the dashboard, with the labels in the names of their lines.
fn queries_of_dashboard() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let dashboard: Value = serde_json::from_str(&dashboard::json()).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap().replace(dashboard::RATE_INTERVAL, "1m");
            let legend = target["legendFormat"].as_str().unwrap().split("{{").skip(1);
            let labels = legend.map(|rest| rest.split("}}").next().unwrap().to_owned());
            found.push((expression, labels.collect()));
        }
    }
    found
}

/// What is wrong in an expression; `legend` are labels that its result needs.
fn errors(expression: &str, legend: &[String], declared: &Declared) -> Vec<String> {
    let mut errors = Vec::new();
    match expr(expression) {
        Ok((rest, parsed)) if rest.trim().is_empty() => {
            let labels = check(&parsed, declared, &mut errors);
            missing("legend", legend, &labels, &mut errors);
        }
        result => errors.push(format!("does not parse: {result:?}")),
    }
    errors
}

fn missing(place: &str, used: &[String], labels: &BTreeSet<String>, errors: &mut Vec<String>) {
    let unknown = used.iter().filter(|label| !labels.contains(*label));
    errors.extend(unknown.map(|label| format!("{place} has label {label}, not one of {labels:?}")));
}

/// Checks an expression with all parts. Returns the labels of its result.
fn check(expr: &Expr, declared: &Declared, errors: &mut Vec<String>) -> BTreeSet<String> {
    match expr {
        Expr::Number(_) | Expr::String(_) => BTreeSet::new(),
        Expr::VectorSelector(selector) => check_selector(selector, declared, errors),
        Expr::MatrixSelector(matrix) => check_selector(&matrix.selector, declared, errors),
        Expr::Call(call) => check_call(call, declared, errors),
        Expr::Aggregation(aggregation) => check_aggregation(aggregation, declared, errors),
        Expr::Binary(binary) => {
            let BinaryExpr { lhs, rhs, modifier, .. } = &**binary;
            assert_eq!(*modifier, None, "this test knows no matching of labels");
            let mut labels = check(lhs, declared, errors);
            labels.extend(check(rhs, declared, errors));
            labels
        }
        Expr::Unary(unary) => check(&unary.expr, declared, errors),
        Expr::Paren(inner) => check(inner, declared, errors),
        Expr::Subquery(subquery) => check(&subquery.expr, declared, errors),
    }
}

fn check_selector(selector: &VectorSelector, declared: &Declared, errors: &mut Vec<String>) -> BTreeSet<String> {
    let name = selector.name.as_deref().unwrap_or_default();
    let Some(labels) = declared.get(name) else {
        errors.push(format!("{name} is no metric"));
        return BTreeSet::new();
    };
    let labels = labels.iter().copied().map(str::to_owned).collect();
    let used: Vec<String> = selector.matchers.iter().map(|matcher| matcher.name.clone()).collect();
    missing(name, &used, &labels, errors);
    labels
}

fn check_aggregation(aggregation: &Aggregation, declared: &Declared, errors: &mut Vec<String>) -> BTreeSet<String> {
    let labels = check(&aggregation.expr, declared, errors);
    let by = aggregation.grouping.as_ref().map(|grouping| grouping.labels.clone());
    let by = by.unwrap_or_default();
    missing(&aggregation.op, &by, &labels, errors);
    by.into_iter().collect()
}

fn check_call(call: &Call, declared: &Declared, errors: &mut Vec<String>) -> BTreeSet<String> {
    let Some(function) = get_function(&call.name) else {
        errors.push(format!("{} is no function", call.name));
        return BTreeSet::new();
    };
    let expected: Vec<ValueType> = call.args.iter().map(value_type).collect();
    if function.arg_types != expected {
        errors.push(format!(
            "{} takes {:?}, not {expected:?}",
            call.name, function.arg_types
        ));
    }
    let labels = call.args.iter().flat_map(|argument| check(argument, declared, errors));
    labels.collect()
}

fn value_type(expr: &Expr) -> ValueType {
    match expr.unwrap_parens() {
        Expr::Number(_) => ValueType::Scalar,
        Expr::String(_) => ValueType::String,
        Expr::MatrixSelector(_) | Expr::Subquery(_) => ValueType::Matrix,
        _ => ValueType::Vector,
    }
}

#[test]
fn alerts_and_dashboard_use_declared_metrics_and_labels() {
    let declared = declared();
    let expressions = expressions();
    assert!(expressions.len() > 20, "{expressions:?}");
    for (expression, legend) in expressions {
        let errors = errors(&expression, &legend, &declared);
        assert!(errors.is_empty(), "{expression}: {errors:?}");
    }
}

/// Others export some of these metrics as well: kube-controller-manager, and every program with client-go.
#[test]
fn dashboard_selects_the_programs_in_every_query() {
    let declared = declared();
    let is_metric = |word: &str| declared.contains_key(word.split('{').next().unwrap());
    for (expression, _) in queries_of_dashboard() {
        let mut metrics = expression
            .split(['(', ')', '[', ' '])
            .filter(|word| is_metric(word))
            .peekable();
        assert!(metrics.peek().is_some(), "{expression}");
        assert!(
            metrics.all(|metric| metric.contains("{job=") || metric.contains("{name=")),
            "{expression}"
        );
    }
}

#[test]
fn invalid_expressions_are_found() {
    let declared = declared();
    let prefix = Controller::EndpointSlice.metrics_prefix();
    let valid = format!(
        "sum by (operation) (rate({prefix}_changes{{job=\"a\"}}[5m])) > 1 or max(workqueue_depth{{name=\"b\"}})"
    );
    assert_eq!(
        errors(&valid, &["operation".to_owned()], &declared),
        <[String; 0]>::default()
    );
    for (expression, part) in [
        (format!("sum(rate({prefix}_changes[5m])"), "does not parse"),
        (format!("rate({prefix}_changes)"), "rate takes"),
        (format!("speed({prefix}_changes[5m])"), "speed"),
        ("max(workqueue_length)".to_owned(), "workqueue_length is no metric"),
        (format!("{prefix}_change_to_write_seconds"), "is no metric"),
        // A label of another metric.
        (format!("sum by (operation) ({prefix}_sync_retries_total)"), "operation"),
        (format!("{prefix}_keys_failing{{reason=\"rejected\"}}"), "reason"),
        (
            format!("{prefix}_keys_failing or {prefix}_changes{{name=\"x\"}}"),
            "name",
        ),
        // A label that the aggregation drops.
        (format!("sum by (operation) (sum({prefix}_changes))"), "operation"),
    ] {
        let errors = errors(&expression, &[], &declared).join("\n");
        assert!(errors.contains(part), "{expression}: {errors}");
    }
    let legend = errors(&format!("sum({prefix}_changes)"), &["operation".to_owned()], &declared);
    assert!(legend[0].contains("legend"), "{legend:?}");
}
