//! The dashboard of Grafana.

use serde_json::{Value, json};

use crate::{Controller, PART_OF};

/// Size of a panel in the grid of Grafana, which is 24 wide.
const WIDTH: usize = 8;
const HEIGHT: usize = 8;

/// Grafana replaces it by the step of the panel, and at least four scrape intervals, so that no change is skipped.
pub(super) const RATE_INTERVAL: &str = "$__rate_interval";

/// A query: an expression of Prometheus and the name of its lines.
struct Query {
    expression: String,
    legend: String,
}

/// A panel with its unit, as Grafana names it.
struct Panel {
    title: &'static str,
    unit: &'static str,
    queries: Vec<Query>,
}

/// The dashboard as text.
pub(super) fn json() -> String {
    let panels: Vec<Value> = panels()
        .iter()
        .enumerate()
        .map(|(index, panel)| render(index, panel))
        .collect();
    let dashboard = json!({
        "uid": PART_OF,
        "title": "EndpointSlice controllers",
        "tags": [PART_OF],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]},
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}

fn panels() -> Vec<Panel> {
    let jobs = Controller::ALL.map(Controller::name).join("|");
    [of_slices(&jobs), of_programs(&jobs)].into_iter().flatten().collect()
}

fn of_slices(jobs: &str) -> Vec<Panel> {
    vec![
        panel(
            "Leaders",
            "short",
            vec![query(
                format!("sum by (name) (leader_election_master_status{{name=~\"{jobs}\"}})"),
                "{{name}}",
            )],
        ),
        panel("Keys failing", "short", each("max", "keys_failing", "")),
        panel("Oldest failing key", "s", each("max", "oldest_failing_key_seconds", "")),
        panel("Change to write, 99 %", "s", quantile("0.99")),
        panel("Change to write, median", "s", quantile("0.5")),
        panel("Slices written by operation", "ops", rate("changes", "operation")),
        panel("Failed syncs by reason", "ops", rate("sync_retries_total", "reason")),
        panel("Changes by other clients", "ops", rate("foreign_changes_total", "")),
        panel(
            "Differences of a dry run",
            "short",
            each("max", "dry_run_differences", ""),
        ),
        panel(
            "Work queue depth",
            "short",
            vec![query(
                format!("sum by (name) (workqueue_depth{{job=~\"{jobs}\"}})"),
                "{{name}}",
            )],
        ),
        panel("EndpointSlices", "short", each("max", "num_endpoint_slices", "")),
        panel("Endpoints", "short", each("max", "endpoints_desired", "")),
    ]
}

fn of_programs(jobs: &str) -> Vec<Panel> {
    vec![
        panel(
            "Failing lists and watches",
            "s",
            each("max", "watch_failing_seconds", "resource"),
        ),
        panel(
            "Age of watch positions",
            "s",
            each("max", "watch_position_age_seconds", "resource"),
        ),
        panel(
            "Requests by status code",
            "reqps",
            vec![query(
                format!("sum by (job, code) (rate(rest_client_requests_total{{job=~\"{jobs}\"}}[{RATE_INTERVAL}]))"),
                "{{job}} {{code}}",
            )],
        ),
        panel(
            "Writes held back by an overloaded API server",
            "s",
            each("max", "gate_closed_seconds", ""),
        ),
        panel("Lists by reason", "ops", rate("lists_total", "reason")),
        panel(
            "Memory",
            "bytes",
            vec![query(
                format!("process_resident_memory_bytes{{job=~\"{jobs}\"}}"),
                "{{pod}}",
            )],
        ),
        panel(
            "CPU",
            "short",
            vec![query(
                format!("rate(process_cpu_seconds_total{{job=~\"{jobs}\"}}[{RATE_INTERVAL}])"),
                "{{pod}}",
            )],
        ),
        panel("Version", "short", each("count", "build_info", "version")),
    ]
}

fn panel(title: &'static str, unit: &'static str, queries: Vec<Query>) -> Panel {
    Panel { title, unit, queries }
}

fn query(expression: String, legend: &str) -> Query {
    Query {
        expression,
        legend: legend.to_owned(),
    }
}

/// A query for each controller: an aggregation over its instances, by a label unless that is empty.
fn each(aggregation: &str, metric: &str, label: &str) -> Vec<Query> {
    of_each(label, |prefix, job| {
        format!("{aggregation} {}({prefix}_{metric}{{{job}}})", by(label))
    })
}

fn rate(metric: &str, label: &str) -> Vec<Query> {
    of_each(label, |prefix, job| {
        format!("sum {}(rate({prefix}_{metric}{{{job}}}[{RATE_INTERVAL}]))", by(label))
    })
}

fn quantile(quantile: &str) -> Vec<Query> {
    of_each("", |prefix, job| {
        let buckets = format!("{prefix}_change_to_write_seconds_bucket{{{job}}}");
        format!("histogram_quantile({quantile}, sum by (le) (rate({buckets}[{RATE_INTERVAL}])))")
    })
}

/// The expression gets the prefix of the metrics, and a matcher of the job: kube-controller-manager has some of these metrics, too.
fn of_each(label: &str, expression: impl Fn(&str, &str) -> String) -> Vec<Query> {
    let query = |controller: Controller| Query {
        expression: expression(controller.metrics_prefix(), &format!("job=\"{}\"", controller.name())),
        legend: if label.is_empty() {
            controller.name().to_owned()
        } else {
            format!("{} {{{{{label}}}}}", controller.name())
        },
    };
    Controller::ALL.map(query).into()
}

fn by(label: &str) -> String {
    if label.is_empty() {
        return String::new();
    }
    format!("by ({label}) ")
}

fn render(index: usize, panel: &Panel) -> Value {
    let datasource = json!({"type": "prometheus", "uid": "${datasource}"});
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..)
        .map(|(query, id)| {
            json!({
                "refId": id.to_string(),
                "datasource": datasource,
                "expr": query.expression,
                "legendFormat": query.legend,
            })
        })
        .collect();
    json!({
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": datasource,
        "gridPos": {"x": index % 3 * WIDTH, "y": index / 3 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    })
}
