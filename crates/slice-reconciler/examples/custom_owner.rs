//! Plans and applies slices for a custom kind of owner, from a list of addresses, as a controller does on every sync. A map
//! stands in for the API server.
//!
//! `cargo run -p slice-reconciler --example custom_owner -- 10.0.0.1 10.0.0.2 fd00::1`

use std::{cell::RefCell, collections::BTreeMap, future::ready};

use futures_executor::block_on;
use k8s_openapi::{api::discovery::v1::EndpointSlice, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_reconciler::{EndpointSpec, Operation, Owner, Plan, PlanError, Port, Reconciler};

type Store = RefCell<BTreeMap<String, EndpointSlice>>;

fn main() -> Result<(), PlanError> {
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    let store = Store::default();
    for is_ready in [true, true, false] {
        println!("{addresses:?} are desired, ready: {is_ready}");
        let plan = plan(&addresses, is_ready, &store)?;
        plan.rejected.iter().for_each(|rejected| println!("{rejected}"));
        let applied = block_on(plan.apply(|operation| ready(send(&store, operation))));
        println!("{} slices written, {} failed", applied.succeeded, applied.failed.len());
    }
    Ok(())
}

/// Plans slices with these addresses.
pub(crate) fn plan(addresses: &[String], ready: bool, store: &Store) -> Result<Plan, PlanError> {
    let reconciler = Reconciler::builder("pool-controller.example.com").owner_label("example.com/pool");
    let text = |text: &str| Some(text.to_owned());
    let pool = ObjectMeta {
        namespace: text("shop"),
        name: text("db"),
        uid: text("0b9d1c52-6d5f-4d5c-9a53-6f2b0c2f1e11"),
        ..ObjectMeta::default()
    };
    let owner = Owner::from_meta("example.com/v1", "Pool", &pool);
    let endpoints = addresses.iter().map(|ip| EndpointSpec::new(ip).ready(ready));
    let existing: Vec<EndpointSlice> = store.borrow().values().cloned().collect();
    let desired = [([Port::tcp("postgres", 5432)], endpoints)];
    reconciler.build().plan(owner, desired, &existing)
}

/// Sends one write; with kube it is `create`, `replace` or `delete` of an `Api<EndpointSlice>`.
pub(crate) fn send(store: &Store, operation: Operation) -> Result<(), String> {
    match operation {
        Operation::Create(slice) | Operation::Update(slice) => {
            let name = slice.metadata.name.clone().ok_or("a slice has no name")?;
            store.borrow_mut().insert(name, slice.to_k8s());
        }
        Operation::Delete(deletion) => drop(store.borrow_mut().remove(&deletion.name)),
    }
    Ok(())
}
