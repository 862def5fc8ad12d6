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
            // Without leader election, as in a dry run, instances have no status, but a version.
            format!("absent({prefix}_build_info) or max(leader_election_master_status{{name=\"{name}\"}}) < 1"),
            "2m",
            "no instance leads, or the leader is not scraped: possibly no EndpointSlice is written",
            &format!(
                "{} Check that the pods run, that Prometheus scrapes them, and that they may update their Lease.",
                without_leader(controller)
            ),
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
            "WatchFails",
            "critical",
            // The leader renews its Lease meanwhile, and no key is enqueued that could fail.
            format!("max by (resource) ({prefix}_watch_failing_seconds) > 300"),
            "1m",
            "{{ $labels.resource }} cannot be listed or watched, so that EndpointSlices follow their changes no longer",
            "The list or watch of {{ $labels.resource }} has failed for {{ $value | humanizeDuration }}. The log and /debug/state \
             have the error. Check the permissions of the ServiceAccount and the API server.",
        ),
        alert(
            "ForeignChanges",
            "warning",
            // In more than three of twelve intervals: a second writer changes slices as often as their inputs change, which is
            // seldom in a quiescent cluster, while a takeover or a repair is a burst in one or two intervals.
            format!("count_over_time((sum(increase({prefix}_foreign_changes_total[5m])) > 0)[1h:5m]) > 3"),
            "1m",
            "another client changes the same EndpointSlices again and again",
            "Another instance or the built-in controller writes EndpointSlices with the same managed-by label. Turn one of \
             them off.",
        ),
    ]
}

/// What happens while no instance leads.
const fn without_leader(controller: Controller) -> &'static str {
    match controller {
        Controller::EndpointSlice => "New pods receive no traffic, and terminated pods still receive it.",
        Controller::Mirroring => {
            "Changes of Endpoints objects have no effect: traffic still goes to the addresses that were mirrored last."
        }
    }
}

/// `endpoint_slice_controller` → `EndpointSliceController`.
fn camel_case(name: &str) -> String {
    let capitalised = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capitalised).collect()
}
