//! Alerts.

use serde_json::{Value, json};

use crate::Controller;

/// The alerts of a controller. Thresholds are far from what is measured in quiescent and in busy clusters.
pub(super) fn alerts(controller: Controller) -> Vec<Value> {
    let prefix = controller.metrics_prefix();
    let name = controller.name();
    let alert = |kind: &str, severity: &str, expression: String, duration: &str, summary: &str, description: &str| {
        json!({
            "alert": format!("{}{kind}", camel_case(prefix)),
            "expr": expression,
            "for": duration,
            "labels": {"severity": severity},
            "annotations": {"summary": format!("{name}: {summary}"), "description": description},
        })
    };
    vec![
        alert(
            "NoLeader",
            "critical",
            // Also if no instance is scraped at all.
            format!("absent(leader_election_master_status{{name=\"{name}\"}} == 1)"),
            "2m",
            "no instance leads, so that no EndpointSlice is written",
            "New pods receive no traffic, and terminated pods still receive it. Check that the pods run, that Prometheus \
             scrapes them, and that they may update their Lease.",
        ),
        alert(
            "KeysFailing",
            "warning",
            format!("max({prefix}_oldest_failing_key_seconds) > 600"),
            "1m",
            "EndpointSlices of an object cannot be written",
            "The oldest failing key has failed for {{ $value | humanizeDuration }}. Events of its object, the log and \
             /debug/state have the reason.",
        ),
        alert(
            "LatencyHigh",
            "warning",
            format!("histogram_quantile(0.99, sum by (le) (rate({prefix}_change_to_write_seconds_bucket[5m]))) > 10"),
            "10m",
            "EndpointSlices are written late",
            "1 % of the changes were written more than {{ $value | humanizeDuration }} after they happened. Check the load and \
             the errors of the API server, and admission webhooks for EndpointSlices.",
        ),
        alert(
            "ForeignChanges",
            "warning",
            format!("sum(rate({prefix}_foreign_changes_total[10m])) > 0.1"),
            "10m",
            "another client changes the same EndpointSlices",
            "Another instance or the built-in controller writes EndpointSlices with the same managed-by label. Turn one of \
             them off.",
        ),
    ]
}

/// `endpoint_slice_controller` → `EndpointSliceController`.
fn camel_case(name: &str) -> String {
    let capitalised = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capitalised).collect()
}
