//! The example `multus` on a real API server, with the permissions that `docs/library.md` names.

use slice_runtime::{lease_rules, policy_rules};
use testenv::ControlPlane;

use crate::scenario::{example::Multus, scenario};

#[tokio::test]
async fn multus_publishes_a_secondary_network_and_a_restart_writes_nothing() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    let rules = [
        policy_rules(&Multus::default(), "services"), // for a ClusterRole
        lease_rules("multus"),                        // for a Role in the namespace of the lease
    ];
    let user = control_plane.user("multus", rules.concat()).await.unwrap();
    let kubeconfig = control_plane.kubeconfig(&user).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    scenario(control_plane.client().unwrap(), &[&flag]).await;
}
