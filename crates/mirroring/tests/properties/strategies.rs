//! Strategies for random Endpoints objects, valid and invalid.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference};
use proptest::{collection::vec, option, prelude::*, sample::select};

const ADDRESSES: [&str; 12] = [
    "10.0.0.1",
    "010.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
    "fd00::1",
    "FD00::1",
    "::ffff:10.0.0.1",
    "127.0.0.1",
    "::",
    "fe80::1%x",
    "1.2.3",
    "",
];

fn text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        4 => Just(None),
        4 => select(vec!["", "a", "b"]).prop_map(|text| Some(text.to_owned())),
        1 => any::<String>().prop_map(Some),
    ]
}

/// Hostname, node name and target are functions of the identity. Otherwise the first of two equal addresses would win, and the
/// order would matter (M50).
fn address() -> impl Strategy<Value = EndpointAddress> {
    let ip = prop_oneof![12 => select(&ADDRESSES[..]).prop_map(str::to_owned), 1 => any::<String>()];
    let uid = prop_oneof![3 => Just(None), 2 => select(vec!["", "u", "v"]).prop_map(|uid| Some(uid.to_owned()))];
    (ip, uid).prop_map(|(ip, uid)| {
        let known = uid.as_deref().filter(|uid| !uid.is_empty()).map(str::to_owned);
        EndpointAddress {
            hostname: (ip.len() == 7).then(|| ip.clone()),
            node_name: (ip.len() == 8).then(|| ip.clone()),
            target_ref: known.map(|uid| ObjectReference {
                name: Some(format!("pod-{uid}")),
                uid: Some(uid),
                ..ObjectReference::default()
            }),
            ip,
        }
    })
}

fn port() -> impl Strategy<Value = EndpointPort> {
    let number = prop_oneof![6 => 80..83, 1 => any::<i32>(), 1 => Just(0)];
    let protocol = select(vec![None, Some("TCP"), Some("UDP"), Some("")]);
    let app_protocol = prop_oneof![4 => Just(None), 1 => text()];
    (text(), number, protocol, app_protocol).prop_map(|(name, port, protocol, app_protocol)| EndpointPort {
        name,
        port,
        protocol: protocol.map(str::to_owned),
        app_protocol,
    })
}

pub(crate) fn endpoints() -> impl Strategy<Value = Endpoints> {
    let addresses = || option::weighted(0.9, vec(address(), 0..5));
    let subset = (addresses(), addresses(), option::weighted(0.9, vec(port(), 0..4)));
    let subset = subset.prop_map(|(addresses, not_ready_addresses, ports)| EndpointSubset {
        addresses,
        not_ready_addresses,
        ports,
    });
    option::weighted(0.95, vec(subset, 0..4)).prop_map(|subsets| Endpoints {
        subsets,
        ..Endpoints::default()
    })
}
