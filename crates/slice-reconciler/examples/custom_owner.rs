//! Slices for an owner of your own kind, from a list of addresses: what a controller for secondary networks or for several
//! clusters does whenever something changes. Here a map takes the place of the API server.
//!
//! `cargo run -p slice-reconciler --example custom_owner -- 10.0.0.1 10.0.0.2 fd00::1`

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    io::{self, Write},
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::{Address, AddressType, Endpoint, EndpointSet, Port, PortMapKey, Slice, names};
use slice_reconciler::{Group, MetadataPolicy, Operation, Options, Owner, Request, plan};

/// A controller has it from the API: `Owner::of("example.com/v1", "Pool", &pool.metadata)`.
const OWNER: Owner<'_> = Owner {
    api_version: "example.com/v1",
    kind: "Pool",
    namespace: "shop",
    name: "db",
    uid: "0b9d1c52-6d5f-4d5c-9a53-6f2b0c2f1e11",
    terminating: false,
};

/// Slices by name.
type Store = BTreeMap<String, EndpointSlice>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut addresses: Vec<String> = env::args().skip(1).collect();
    if addresses.is_empty() {
        addresses = ["10.0.0.1", "10.0.0.2", "fd00::1"].map(Into::into).into();
    }
    run(&addresses, &mut io::stdout())
}

pub(crate) fn run(addresses: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut store = Store::new();
    let mut endpoints = Vec::new();
    for text in addresses {
        match endpoint(text) {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(why) => writeln!(out, "{text} is left out: {why}")?,
        }
    }
    writeln!(out, "The pool is new.")?;
    sync(&mut store, &endpoints, out)?;
    writeln!(out, "Nothing has changed.")?;
    sync(&mut store, &endpoints, out)?;
    if let Some(first) = endpoints.first_mut() {
        writeln!(out, "{} is no longer ready.", first.addresses[0])?;
        first.conditions.ready = Some(false);
    }
    sync(&mut store, &endpoints, out)
}

fn endpoint(text: &str) -> Result<Endpoint, Box<dyn Error>> {
    let address = Address::parse_ip(text).ok_or("it is not an IP address")?;
    address.publishable()?;
    let mut endpoint = Endpoint {
        addresses: [address].into_iter().collect(),
        ..Endpoint::default()
    };
    endpoint.conditions.ready = Some(true);
    Ok(endpoint)
}

/// Plans, shows the plan and what it leaves out, and carries it out.
fn sync(store: &mut Store, endpoints: &[Endpoint], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let existing: Vec<Slice> = store.values().map(Slice::from).collect();
    let metadata = metadata();
    let families = BTreeSet::from([AddressType::IPv4, AddressType::IPv6]);
    let request = Request {
        groups: families.iter().map(|family| group(*family, endpoints)).collect(),
        supported: families,
        ..Request::new(OWNER, &existing, &metadata, "db-")
    };
    let plan = plan(request, &Options::default())?;

    // What the API server would refuse is not among the writes. The owner's author should hear of it: a controller records an
    // event.
    for left_out in &plan.left_out {
        writeln!(out, "{left_out}")?;
    }
    if plan.writes.is_empty() {
        writeln!(out, "=> nothing to do\n")?;
    }
    // A write that takes an endpoint out of a slice waits for the one that puts it elsewhere. What waits for one that failed
    // is not sent: the next sync plans anew.
    let mut done = Vec::new();
    for write in plan.writes {
        writeln!(out, "=> {}\n", show(&write.operation)?)?;
        let may_be_sent = write.after.iter().all(|other| done[*other]);
        done.push(may_be_sent && send(write.operation, store));
    }
    Ok(())
}

/// The labels by which the slices are found again. With [`names::SERVICE_NAME_LABEL`] they would serve a Service.
fn metadata() -> MetadataPolicy {
    let label = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
    MetadataPolicy {
        reserved: [
            label(names::MANAGED_BY_LABEL, "pool-controller.example.com"),
            label("example.com/pool", OWNER.name),
        ]
        .into(),
        ..MetadataPolicy::default()
    }
}

/// The endpoints of one family. They have the same ports, so they share slices.
fn group(family: AddressType, endpoints: &[Endpoint]) -> Group<&Endpoint> {
    let port = Port {
        name: "postgres".into(),
        protocol: "TCP".into(),
        port: Some(5432),
        app_protocol: None,
    };
    let is_of_family = |endpoint: &&Endpoint| endpoint.addresses[0].address_type() == family;
    let mut set = EndpointSet::default();
    set.extend(endpoints.iter().filter(is_of_family));
    Group {
        address_type: family,
        ports: PortMapKey::new([port]),
        endpoints: set,
    }
}

fn show(operation: &Operation) -> serde_json::Result<String> {
    let json = |slice: &Slice| serde_json::to_string_pretty(&slice.to_api());
    Ok(match operation {
        Operation::Create(slice) => format!("create {}", json(slice)?),
        Operation::Update(slice) => format!("update {}", json(slice)?),
        Operation::Delete(deletion) => format!("delete {}", deletion.name),
    })
}

/// Whether the write was accepted.
fn send(operation: Operation, store: &mut Store) -> bool {
    match operation {
        Operation::Create(slice) | Operation::Update(slice) => {
            let slice = slice.to_api();
            store.insert(slice.metadata.name.clone().unwrap_or_default(), slice);
            true
        }
        Operation::Delete(deletion) => store.remove(&deletion.name).is_some(),
    }
}
