//! Users with no more than the rights that the command needs.

use k8s_openapi::api::rbac::v1::PolicyRule;
use manifests::{Controller, Options};
use testenv::{Cluster, rule};

use crate::harness::{Leaders, deploy};

/// What a user needs to install: without the verbs `bind` and `escalate` also all that the controllers get.
fn to_install(options: &Options) -> Vec<PolicyRule> {
    let objects = manifests::objects(&Controller::ALL, options);
    let rules = objects.iter().filter_map(|object| object.data.get("rules"));
    let granted = rules.flat_map(|rules| serde_json::from_value::<Vec<PolicyRule>>(rules.clone()).unwrap());
    let mut rules = vec![
        to_objects(&["get", "create", "patch"]),
        rule(&[""], &["pods"], &["list"]),
        rule(&["apps"], &["replicasets"], &["list"]),
        rule(&[""], &["nodes"], &["list"]),
    ];
    if !options.shadow {
        rules.extend([
            rule(&[""], &["services", "endpoints"], &["create", "get", "list", "delete"]),
            rule(&["discovery.k8s.io"], &["endpointslices"], &["list"]),
            rule(&["coordination.k8s.io"], &["leases"], &["get"]),
        ]);
    }
    rules.extend(granted);
    rules
}

/// These verbs for the kinds of the objects that the command installs.
fn to_objects(verbs: &[&str]) -> PolicyRule {
    let groups = [
        "",
        "apps",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
    ];
    let resources = [
        "clusterrolebindings",
        "clusterroles",
        "deployments",
        "flowschemas",
        "namespaces",
        "networkpolicies",
        "poddisruptionbudgets",
        "prioritylevelconfigurations",
        "resourcequotas",
        "rolebindings",
        "roles",
        "serviceaccounts",
        "services",
    ];
    rule(&groups, &resources, verbs)
}

#[tokio::test]
async fn a_user_with_the_rights_of_the_controllers_installs_them() {
    let cluster = Cluster::start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let rules = to_install(&Options::default());
    let installer = control_plane.user("installer", rules).await.unwrap();
    let installer = control_plane.kubeconfig(&installer).unwrap();
    let _leaders = Leaders::start(&client);
    let (success, output) = deploy(&installer, &[]).await;
    assert!(success, "{output}");
}
