//! Owners, ports, endpoints and slices of scenarios.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
};
use slice_core::{
    Address, AddressType, CompactSlice, Conditions, Endpoint, EndpointSource as _, Hints, Port, PortMapKey, Target,
    UnknownAddressType, limits::PORTS_PER_SLICE_MAX, well_known,
};
use slice_reconciler::{Annotations, MetadataPolicy, Owner};

use crate::scenario::{AnnotationMode, Attributes, ExistingSlice, Hint, Labels, OwnerRef, Ports, Settings};

pub(crate) const OWNER: Owner<'static> = Owner {
    api_version: "v1",
    kind: "Service",
    namespace: "ns",
    name: "web",
    uid: "uid-1",
    terminating: false,
};

/// The labels of the planned partition, and of another one.
pub(crate) const PARTITION: [(&str, &str); 1] = [("cluster", "east")];
const ANOTHER_PARTITION: (&str, &str) = ("cluster", "west");

pub(crate) fn policy(settings: &Settings) -> MetadataPolicy {
    let annotations = map(&[("from", "the owner")]);
    MetadataPolicy {
        copied_labels: map(&[("app", "web")]),
        keep_other_labels: settings.keep_other_labels,
        managed_labels: [
            (well_known::SERVICE_NAME_LABEL.to_owned(), Some("web".to_owned())),
            (well_known::MANAGED_BY_LABEL.to_owned(), Some("us".to_owned())),
            (well_known::HEADLESS_LABEL.to_owned(), None),
        ]
        .into(),
        annotations: match settings.annotations {
            AnnotationMode::Preserve => Annotations::Preserve,
            AnnotationMode::Set => Annotations::Set(annotations),
            AnnotationMode::Replace => Annotations::Replace(annotations),
        },
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let text = |text: &&str| (*text).to_owned();
    pairs.iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// More ports than the limit, built once.
static TOO_MANY_PORTS: LazyLock<PortMapKey> =
    LazyLock::new(|| PortMapKey::new((0..=PORTS_PER_SLICE_MAX).map(|number| port(&format!("p{number}"), 80))));

fn port(name: &str, port: i32) -> Port {
    Port {
        name: name.into(),
        protocol: "TCP".into(),
        port: Some(port),
        app_protocol: None,
    }
}

pub(crate) fn port_key(ports: Ports) -> PortMapKey {
    PortMapKey::new(match ports {
        Ports::None => vec![],
        Ports::Http => vec![port("http", 80)],
        Ports::OtherHttp => vec![port("http", 81)],
        Ports::HttpAndHttps => vec![port("http", 80), port("https", 443)],
        Ports::SameName => vec![port("http", 80), port("http", 81)],
        Ports::InvalidName => vec![port("Not a name", 80)],
        Ports::InvalidProtocol => vec![Port {
            protocol: "QUIC".into(),
            ..port("http", 80)
        }],
        Ports::InvalidAppProtocol => vec![Port {
            app_protocol: Some("".into()),
            ..port("http", 80)
        }],
        Ports::TooMany => return TOO_MANY_PORTS.clone(),
    })
}

/// Pods from this number on have the addresses of earlier pods.
const SHARED_FROM: u8 = 8;

/// An invalid node name.
const INVALID_NODE_NAME: &str = "Not a name";

/// Makes the endpoint of the last pod invalid.
pub(crate) fn invalidate(endpoint: &mut Endpoint) {
    if endpoint.target().is_some_and(|target| target.name() == Some("pod-9")) {
        endpoint.node_name = Some(INVALID_NODE_NAME.into());
    }
}

pub(crate) fn is_invalid(endpoint: &Endpoint) -> bool {
    endpoint.node_name.as_deref() == Some(INVALID_NODE_NAME)
}

/// The endpoint of a pod. Some pods share an address, one has two, and one has a hostname.
pub(crate) fn endpoint(address_type: AddressType, pod: u8, attributes: Attributes) -> Endpoint {
    let number = pod % SHARED_FROM;
    let address = |number: u8| {
        Address::from_canonical(&match address_type {
            AddressType::IPv4 => format!("10.0.0.{}", number + 1),
            AddressType::IPv6 => format!("fd00::{}", number + 1),
            AddressType::Fqdn => format!("pod-{number}.example.com"),
        })
    };
    let default_zone = ["a", "b", "c"][usize::from(pod % 3)];
    let (ready, zone, has_node, recreated) = match attributes {
        Attributes::Common => (Some(true), Some(default_zone), true, false),
        Attributes::Custom {
            ready,
            zone,
            has_node,
            recreated,
        } => (ready, zone, has_node, recreated),
    };
    let mut addresses = vec![address(number)];
    addresses.extend((pod == 7).then(|| address(number + 50)));
    Endpoint {
        addresses: addresses.into_iter().collect(),
        conditions: Conditions {
            ready,
            ..Conditions::default()
        },
        hostname: (pod == 6).then(|| "six".into()),
        node_name: has_node.then(|| format!("node-{pod}").into()),
        zone: zone.map(Into::into),
        target: Some(Target::from(&ObjectReference {
            kind: Some("Pod".into()),
            namespace: Some("ns".into()),
            name: Some(format!("pod-{pod}")),
            uid: Some(format!("{}-{pod}", if recreated { "recreated" } else { "uid" })),
            ..ObjectReference::default()
        })),
        ..Endpoint::default()
    }
}

fn hinted(endpoint: Endpoint, hint: &Hint) -> Endpoint {
    let zones = |zones: &[&str]| -> Vec<Arc<str>> { zones.iter().map(|zone| (*zone).into()).collect() };
    let (for_zones, for_nodes) = match hint {
        Hint::None => return endpoint,
        Hint::OwnZone => (endpoint.zone.iter().cloned().collect(), vec![]),
        Hint::Zones(names) => (zones(names), vec![]),
        Hint::ZoneAndNode(name) => (zones(&[name]), vec!["node-1".into()]),
    };
    Endpoint {
        hints: Some(Hints { for_zones, for_nodes }.into()),
        ..endpoint
    }
}

pub(crate) fn existing_slice(number: usize, slice: &ExistingSlice, partitioned: bool) -> CompactSlice {
    let address_type = slice.address_type;
    let endpoint = |(pod, attributes, hint): &(u8, Attributes, Hint)| {
        let mut endpoint = endpoint(address_type.unwrap_or(AddressType::IPv4), *pod, *attributes);
        // The order of addresses does not change the identity.
        endpoint.addresses.reverse();
        hinted(endpoint, hint)
    };
    CompactSlice {
        metadata: ObjectMeta {
            name: Some(format!("existing-{number}")),
            namespace: Some("ns".to_owned()),
            uid: Some(format!("uid-of-existing-{number}")),
            resource_version: Some(format!("{}", 100 + number)),
            labels: Some(labels(slice, partitioned)),
            annotations: slice
                .annotated
                .then(|| map(&[("foreign", "yes"), (well_known::TRIGGER_TIME_ANNOTATION, "long ago")])),
            finalizers: slice.terminating.then(|| vec!["example.com/finalizer".to_owned()]),
            deletion_timestamp: slice.terminating.then(|| Time("2024-01-01T00:00:00Z".parse().unwrap())),
            owner_references: Some(references(slice.owner)),
            ..ObjectMeta::default()
        },
        address_type: address_type.ok_or_else(|| UnknownAddressType("IP".to_owned())),
        ports: port_key(slice.ports),
        endpoints: slice.endpoints.iter().map(endpoint).collect(),
    }
}

fn labels(slice: &ExistingSlice, partitioned: bool) -> BTreeMap<String, String> {
    let managed = [
        (well_known::SERVICE_NAME_LABEL, "web"),
        (well_known::MANAGED_BY_LABEL, "us"),
    ];
    let with = |more: &[(&str, &str)]| map(&[&managed[..], more].concat());
    let mut labels = match slice.labels {
        Labels::Desired => with(&[("app", "web")]),
        Labels::Changed => with(&[("app", "db")]),
        Labels::Missing => with(&[]),
        Labels::Extra => with(&[("app", "web"), ("more", "yes")]),
        Labels::ManagedMissing => map(&[("app", "web")]),
    };
    if partitioned {
        let partition = if slice.other_partition {
            ANOTHER_PARTITION
        } else {
            PARTITION[0]
        };
        labels.extend(map(&[partition]));
    }
    labels
}

fn references(owner: OwnerRef) -> Vec<OwnerReference> {
    let reference = |name: &str, uid: &str| OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Service".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    match owner {
        OwnerRef::Ours => vec![reference("web", "uid-1")],
        OwnerRef::OursAndEarlier => vec![reference("web", "uid-0"), reference("web", "uid-1")],
        OwnerRef::Earlier => vec![reference("web", "uid-0")],
        OwnerRef::OtherName => vec![reference("db", "uid-2")],
        OwnerRef::None => vec![],
    }
}
