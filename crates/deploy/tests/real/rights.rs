//! Users with no more than the rights that the command needs.

use k8s_openapi::api::rbac::v1::PolicyRule;
use manifests::{Controller, Options};
use testenv::{Cluster, rule};

use crate::harness::{Leaders, NAMESPACE, PROGRAMS, deploy, deployment, installed};

/// What a user needs to install: without the verbs `bind` and `escalate` also all that the controllers get.
fn to_install() -> Vec<PolicyRule> {
    let objects = manifests::objects(&Controller::ALL, &Options::default());
    let rules = objects.iter().filter_map(|object| object.data.get("rules"));
    let granted = rules.flat_map(|rules| serde_json::from_value::<Vec<PolicyRule>>(rules.clone()).unwrap());
    let needed = [
        to_objects(&["get", "create", "patch"]),
        rule(&[""], &["nodes", "pods"], &["list"]),
        rule(&["apps"], &["replicasets"], &["list"]),
        rule(&[""], &["services", "endpoints"], &["create", "get", "list", "delete"]),
        rule(&["discovery.k8s.io"], &["endpointslices"], &["list"]),
        rule(&["coordination.k8s.io"], &["leases"], &["get"]),
    ];
    needed.into_iter().chain(granted).collect()
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
async fn a_user_with_the_rights_of_the_controllers_installs_and_deletes_them() {
    let cluster = Cluster::start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let installer = control_plane.user("installer", to_install()).await.unwrap();
    let installer = control_plane.kubeconfig(&installer).unwrap();
    let leaders = Leaders::start(&client);
    let (success, output) = deploy(&installer, &[]).await;
    assert!(success, "{output}");
    leaders.stop().await;
    let (success, output) = deploy(&installer, &["--delete"]).await;
    assert!(
        !success && output.contains("error: nothing was deleted: cannot delete "),
        "{output}"
    );
    assert!(deployment(&client, PROGRAMS[0]).await.is_some());

    // The Secret of monitoring cannot be read, and was not installed.
    let mut rules = to_install();
    rules.push(to_objects(&["delete"]));
    rules.push(rule(&["coordination.k8s.io"], &["leases"], &["delete"]));
    let remover = control_plane.user("remover", rules.clone()).await.unwrap();
    let remover = control_plane.kubeconfig(&remover).unwrap();
    let (success, output) = deploy(&remover, &["--delete"]).await;
    assert!(success, "{output}");
    let remains = "the namespace endpointslice-system remains: it has perhaps persistentvolumeclaims, which this user may not list";
    assert!(output.contains(remains), "{output}");
    assert!(
        output
            .contains("may not read them: configmaps/endpointslice-dashboard, secrets/endpointslice-metrics-reader\n"),
        "{output}"
    );
    assert_eq!(installed(&client).await, [NAMESPACE]);

    rules.push(rule(&[""], &["persistentvolumeclaims"], &["list"]));
    let remover = control_plane.user("remover-of-all", rules).await.unwrap();
    let remover = control_plane.kubeconfig(&remover).unwrap();
    let (success, output) = deploy(&remover, &["--delete"]).await;
    assert!(success && !output.contains("may not"), "{output}");
    assert_eq!(installed(&client).await, [""; 0]);
}
