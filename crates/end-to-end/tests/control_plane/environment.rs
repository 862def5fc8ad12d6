//! The control planes that tests share, each with the accounts of the controllers.

use manifests::{Controller, LEASE_NAMESPACE};
use testenv::{ControlPlane, User};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::{
    accounts::{self, ENFORCE_OWNER_REFERENCES},
    fixtures::{self, NODE},
    harness::{Tested, put},
};

/// Shared by the tests that only inject faults into their own requests; killed with the test process.
static SHARED: OnceCell<Environment> = OnceCell::const_new();
/// For tests that stop its components, one after the other.
static DISRUPTED: OnceCell<Environment> = OnceCell::const_new();
static DISRUPTED_TURN: Mutex<()> = Mutex::const_new(());
/// For tests that replace the data of etcd, one after the other.
static RESTORED: OnceCell<Environment> = OnceCell::const_new();
static RESTORED_TURN: Mutex<()> = Mutex::const_new(());

/// A control plane, and the accounts of the controllers.
pub(crate) struct Environment {
    pub(crate) control_plane: ControlPlane,
    accounts: [User; 2],
}

impl Environment {
    /// The account of a controller, with the permissions of the manifests.
    pub(crate) fn account(&self, tested: Tested) -> &User {
        &self.accounts[tested as usize]
    }

    /// Allows the controller for Services to have its Lease in another namespace.
    pub(crate) async fn allow_lease_in(&self, namespace: &str) {
        let account = self.account(Tested::Services);
        let client = self.control_plane.client().unwrap();
        let lease_permissions =
            accounts::permissions().filter(|object| object.metadata.namespace.as_deref() == Some(LEASE_NAMESPACE));
        for mut object in lease_permissions {
            object.metadata.namespace = Some(namespace.to_owned());
            accounts::apply(&client, object).await;
        }
        let lease = accounts::access(
            "coordination.k8s.io",
            "leases",
            namespace,
            Controller::EndpointSlice.name(),
        );
        accounts::wait_until_allowed(&self.control_plane, account, lease).await;
    }
}

/// A control plane with one node, started once.
async fn start_once(cell: &'static OnceCell<Environment>, arguments: &[&str]) -> &'static Environment {
    cell.get_or_init(async || {
        let builder = ControlPlane::builder().apiserver_arg(ENFORCE_OWNER_REFERENCES);
        let builder = arguments
            .iter()
            .fold(builder, |builder, argument| builder.apiserver_arg(*argument));
        let control_plane = builder.start().await.unwrap();
        put(&control_plane.client().unwrap(), "", &fixtures::node(NODE)).await;
        Environment {
            accounts: accounts::deploy(&control_plane).await,
            control_plane,
        }
    })
    .await
}

/// The environment of tests that only inject faults into their own requests.
pub(crate) async fn shared() -> &'static Environment {
    start_once(&SHARED, &[]).await
}

/// The environment of tests that stop its components, with their turn.
pub(crate) async fn disrupted() -> (&'static Environment, MutexGuard<'static, ()>) {
    let turn = DISRUPTED_TURN.lock().await;
    // With a watch cache, the recorder could not continue after a restart.
    (start_once(&DISRUPTED, &["--watch-cache=false"]).await, turn)
}

/// The environment of tests that replace the data of etcd, with their turn.
pub(crate) async fn restored() -> (&'static Environment, MutexGuard<'static, ()>) {
    let turn = RESTORED_TURN.lock().await;
    (start_once(&RESTORED, &[]).await, turn)
}
