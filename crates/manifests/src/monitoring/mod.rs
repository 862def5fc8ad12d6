//! What Prometheus and Grafana need. The kinds of the Prometheus operator exist only where it is installed.

mod dashboard;
mod rules;

use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Secret, ServiceAccount},
        rbac::v1::ClusterRoleBinding,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::{
    Controller, NAME_LABEL, PART_OF, PART_OF_LABEL, PORT_NAME,
    access::{METRICS_READER, role_ref, service_account_subject},
    cluster_scoped, dynamic, namespaced, shared,
};

/// The `ServiceAccount` whose token Prometheus sends, and the Secret with the token.
const READER: &str = "endpointslice-metrics-reader";

/// What both controllers share: the token, the `PodMonitor` and the dashboard.
pub(crate) fn shared_objects() -> Vec<DynamicObject> {
    vec![
        dynamic(&ServiceAccount {
            metadata: shared(READER),
            automount_service_account_token: Some(false),
            ..ServiceAccount::default()
        }),
        dynamic(&ClusterRoleBinding {
            metadata: cluster_scoped(PART_OF, METRICS_READER),
            role_ref: role_ref("ClusterRole", METRICS_READER),
            subjects: Some(vec![service_account_subject(READER)]),
        }),
        // A PodMonitor takes its token from a Secret only. kube-controller-manager writes the token into this one.
        dynamic(&Secret {
            metadata: ObjectMeta {
                annotations: Some([("kubernetes.io/service-account.name".to_owned(), READER.to_owned())].into()),
                ..shared(READER)
            },
            type_: Some("kubernetes.io/service-account-token".to_owned()),
            ..Secret::default()
        }),
        pod_monitor(),
        dynamic(&ConfigMap {
            metadata: dashboard_metadata(),
            data: Some([(format!("{PART_OF}.json"), dashboard::json())].into()),
            ..ConfigMap::default()
        }),
    ]
}

/// Grafana's sidecar loads `ConfigMaps` with this label.
fn dashboard_metadata() -> ObjectMeta {
    let mut metadata = shared("endpointslice-dashboard");
    let labels = metadata.labels.get_or_insert_default();
    labels.insert("grafana_dashboard".to_owned(), "1".to_owned());
    metadata
}

/// The alerts of one controller.
pub(crate) fn prometheus_rule(controller: Controller) -> DynamicObject {
    custom(
        "PrometheusRule",
        &namespaced(controller, controller.name()),
        &json!({"groups": [{"name": controller.name(), "rules": rules::alerts(controller)}]}),
    )
}

fn pod_monitor() -> DynamicObject {
    let spec = json!({
        "selector": {"matchLabels": {PART_OF_LABEL: PART_OF}},
        // The label `job` is the name of the program.
        "jobLabel": NAME_LABEL,
        "podMetricsEndpoints": [{
            "port": PORT_NAME,
            "scheme": "https",
            "authorization": {"credentials": {"name": READER, "key": "token"}},
            // The certificate of the secure port is self-signed unless flags name another.
            "tlsConfig": {"insecureSkipVerify": true},
        }],
    });
    custom("PodMonitor", &shared(PART_OF), &spec)
}

/// An object of the Prometheus operator.
fn custom(kind: &str, metadata: &ObjectMeta, spec: &Value) -> DynamicObject {
    dynamic(&json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }))
}

#[cfg(test)]
mod tests;
