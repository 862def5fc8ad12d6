//! The control planes that tests share, each with the accounts of the controllers.

use std::sync::Arc;

use manifests::{Controller, LEASE_NAMESPACE};
use testenv::ControlPlane;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::{
    accounts::{self, Accounts},
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
    accounts: Accounts,
    /// Whether tests stop the API server.
    apiserver_restarts: bool,
}

impl Environment {
    /// The accounts of the controllers, for one test.
    pub(crate) fn accounts(&self) -> Accounts {
        let users = Arc::clone(&self.accounts.users);
        Accounts::new(&self.control_plane, users, self.apiserver_restarts)
    }

    /// Allows the controller for Services to have its Lease in another namespace.
    pub(crate) async fn allow_lease_in(&self, namespace: &str) {
        let account = &self.accounts.users[Tested::Services as usize];
        let client = self.control_plane.client().unwrap();
        let lease_permissions =
            accounts::permissions(false).filter(|object| object.metadata.namespace.as_deref() == Some(LEASE_NAMESPACE));
        for mut object in lease_permissions {
            object.metadata.namespace = Some(namespace.to_owned());
            accounts::apply(&client, object).await;
        }
        let lease = accounts::update_of(
            "coordination.k8s.io",
            "leases",
            namespace,
            Controller::EndpointSlice.name(),
        );
        accounts::wait_until_allowed(&self.control_plane, account, lease, true).await;
    }
}

/// A control plane with one node, started once.
async fn start_once(
    cell: &'static OnceCell<Environment>,
    apiserver_restarts: bool,
    arguments: &[&str],
) -> &'static Environment {
    cell.get_or_init(async || {
        let builder = accounts::control_plane(ControlPlane::builder());
        let builder = arguments
            .iter()
            .fold(builder, |builder, argument| builder.apiserver_arg(*argument));
        let control_plane = builder.start().await.unwrap();
        put(&control_plane.client().unwrap(), "", &fixtures::node(NODE)).await;
        Environment {
            accounts: Accounts::deploy(&control_plane).await,
            control_plane,
            apiserver_restarts,
        }
    })
    .await
}

/// The environment of tests that only inject faults into their own requests.
pub(crate) async fn shared() -> &'static Environment {
    start_once(&SHARED, false, &[]).await
}

/// The environment of tests that stop its components, with their turn.
pub(crate) async fn disrupted() -> (&'static Environment, MutexGuard<'static, ()>) {
    let turn = DISRUPTED_TURN.lock().await;
    // With a watch cache, the recorder could not continue after a restart.
    (start_once(&DISRUPTED, true, &["--watch-cache=false"]).await, turn)
}

/// The environment of tests that replace the data of etcd, with their turn.
pub(crate) async fn restored() -> (&'static Environment, MutexGuard<'static, ()>) {
    let turn = RESTORED_TURN.lock().await;
    (start_once(&RESTORED, true, &[]).await, turn)
}
