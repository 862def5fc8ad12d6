//! The command as a process, and what it leaves in the cluster.

use std::{path::Path, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{Namespace, ResourceQuota, Service},
    discovery::v1::EndpointSlice,
    flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use testenv::{ControlPlane, KubeconfigFile, TestProcess};
use tokio::task::JoinHandle;

pub(crate) const NAMESPACE: &str = "endpointslice-system";
const PART_OF: &str = "app.kubernetes.io/part-of=endpointslice-rs";
pub(crate) const PROGRAMS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// The Lease of kube-controller-manager.
pub(crate) const MANAGER: &str = "kube-controller-manager";
/// The holder of Leases.
pub(crate) const NODE_A: &str = "node-a_1";

pub(crate) fn start(kubeconfig: &Path, args: &[&str]) -> TestProcess {
    start_with(kubeconfig, args, &[])
}

/// The same, with these environment variables.
pub(crate) fn start_with(kubeconfig: &Path, args: &[&str], variables: &[(&str, &str)]) -> TestProcess {
    let kubeconfig = [("KUBECONFIG", kubeconfig.to_str().unwrap())];
    let variables = [&kubeconfig, variables].concat();
    TestProcess::start(env!("CARGO_BIN_EXE_deploy"), args, &variables).unwrap()
}

/// The kubeconfig of an administrator.
pub(crate) fn admin(control_plane: &ControlPlane) -> KubeconfigFile {
    control_plane.kubeconfig(control_plane.admin()).unwrap()
}

/// Runs the command. Returns whether it succeeded, and its output.
pub(crate) async fn deploy(kubeconfig: &KubeconfigFile, args: &[&str]) -> (bool, String) {
    let process = start(&kubeconfig.path, args);
    let status = process.wait().await.unwrap();
    (status.success(), process.output())
}

/// All our objects that are not in our namespace, and the namespace.
pub(crate) async fn installed(client: &Client) -> Vec<String> {
    let ours = ListParams::default().labels(PART_OF);
    macro_rules! names {
        ($($kind:ty),*) => {{
            let mut names = Vec::new();
            $(
                let listed = Api::<$kind>::all(client.clone()).list(&ours).await.unwrap();
                names.extend(listed.iter().map(|object| object.name_any()));
            )*
            names
        }};
    }
    names!(
        Namespace,
        ClusterRole,
        ClusterRoleBinding,
        Role,
        RoleBinding,
        FlowSchema,
        PriorityLevelConfiguration,
        ResourceQuota
    )
}

/// Names and versions of all slices outside our namespace.
pub(crate) async fn slices(client: &Client) -> Vec<(String, String)> {
    let slices = Api::<EndpointSlice>::all(client.clone())
        .list(&ListParams::default())
        .await
        .unwrap();
    let others = slices
        .into_iter()
        .filter(|slice| slice.namespace().as_deref() != Some(NAMESPACE));
    others
        .map(|slice| (slice.name_any(), slice.resource_version().unwrap()))
        .collect()
}

pub(crate) async fn deployment(client: &Client, name: &str) -> Option<Deployment> {
    Api::namespaced(client.clone(), NAMESPACE).get_opt(name).await.unwrap()
}

pub(crate) fn arguments(deployment: &Deployment) -> &[String] {
    let pod = deployment.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    pod.containers[0].args.as_deref().unwrap_or_default()
}

/// The names of the Services that users or checks have created.
pub(crate) async fn services(client: &Client) -> Vec<String> {
    let services = Api::<Service>::default_namespaced(client.clone())
        .list(&ListParams::default())
        .await;
    let names = services.unwrap().into_iter().map(|service| service.name_any());
    names.filter(|name| name != "kubernetes").collect()
}

/// Renews Leases for an instance until it is dropped.
pub(crate) struct Leaders(JoinHandle<()>);

impl Leaders {
    /// The Leases of both controllers, whose programs no fake node runs, and of kube-controller-manager.
    pub(crate) fn start(client: &Client) -> Self {
        Self::of(client, NODE_A, &[PROGRAMS[0], PROGRAMS[1], MANAGER])
    }

    /// The Lease of kube-controller-manager only, so that the check for built-in controllers is a short one.
    pub(crate) fn of_manager(client: &Client, holder: &'static str) -> Self {
        Self::of(client, holder, &[MANAGER])
    }

    fn of(client: &Client, holder: &'static str, names: &[&'static str]) -> Self {
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
        let names = names.to_vec();
        Self(tokio::spawn(async move {
            let mut renewals = tokio::time::interval(Duration::from_millis(500));
            loop {
                renewals.tick().await;
                for name in &names {
                    renew(&leases, name, holder).await;
                }
            }
        }))
    }

    /// After this, the Leases are not renewed.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        // Ends with the abort.
        drop((&mut self.0).await);
    }
}

impl Drop for Leaders {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Renews a Lease, or creates it, for an instance that leads since 1970.
pub(crate) async fn renew(leases: &Api<Lease>, name: &str, holder: &str) {
    let now = jiff::Timestamp::now();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15,
            "acquireTime": "1970-01-01T00:00:00.000000Z", "renewTime": format!("{now:.6}")},
    });
    let manager = PatchParams::apply("leader").force();
    leases.patch(name, &manager, &Patch::Apply(lease)).await.unwrap();
}
