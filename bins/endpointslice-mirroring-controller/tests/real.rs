//! The binary on a real API server, with a service account that has the generated RBAC rules.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scenarios;

use std::{num::NonZeroUsize, time::Duration};

use mirroring::controller::{Config, MirroringController};
use slice_runtime::policy_rules;
use testenv::ControlPlane;

/// The generated RBAC rules (`docs/reference/rbac.md`) suffice; they are within those of mirroring.md appendix A.1. Only the admission plugin requires `endpoints/finalizers`.
#[tokio::test]
async fn the_generated_rbac_rules_suffice() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
        .start()
        .await
        .unwrap();
    let config = Config {
        managed_by: mirroring::MANAGED_BY.to_owned(),
        max_endpoints_per_subset: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    let rules = policy_rules(&MirroringController::new(config), "endpoints");
    // Not the name of the built-in controller's account, which has a default role binding.
    let account = control_plane
        .service_account("kube-system", "mirrors", rules)
        .await
        .unwrap();
    let kubeconfig = control_plane.kubeconfig(&account).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    scenarios::mirror_and_restart(&control_plane.client().unwrap(), &[&flag]).await;
}
