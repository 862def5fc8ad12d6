//! Random scenarios: owners and slices in any state, as small descriptions that proptest prints and shrinks.

use std::{collections::BTreeMap, num::NonZeroUsize};

use proptest::{
    bool::weighted,
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::{select, subsequence},
};
use slice_core::AddressType;
use slice_reconciler::{
    Ownership, Packing,
    hints::{HintMode, TrafficDistribution},
};

/// The zones of nodes. Endpoints can also be in a zone without nodes.
const ZONES: [&str; 4] = ["a", "b", "c", "d"];
const ZONE_WITHOUT_NODES: &str = "zz";

/// The number of different pods, small so that slices share them.
const PODS: u8 = 10;

/// An owner, its desired endpoints and its existing slices.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) settings: Settings,
    /// Previously desired endpoints, published by a plan. None for a new owner.
    pub(crate) previous: Option<Previous>,
    /// Existing slices that no plan created.
    pub(crate) slices: Vec<ExistingSlice>,
    pub(crate) desired: Vec<DesiredGroup>,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub(crate) struct Settings {
    pub(crate) packing: Packing,
    pub(crate) placeholder: bool,
    pub(crate) ownership: Ownership,
    pub(crate) address_types: Vec<AddressType>,
    pub(crate) hints: Option<HintMode>,
    /// The zone and CPUs of each node. None without a topology cache.
    pub(crate) nodes: Option<Vec<(&'static str, u64)>>,
    pub(crate) annotations: AnnotationMode,
    pub(crate) keep_other_labels: bool,
    /// Whether the owner has several slice sets.
    pub(crate) partitioned: bool,
    /// Whether the last pod has an invalid node name.
    pub(crate) has_invalid_pod: bool,
    pub(crate) trigger_time: Trigger,
    pub(crate) terminating: bool,
}

/// Handling of annotations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnnotationMode {
    Preserve,
    Set,
    Replace,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Trigger {
    Set,
    Clear,
    Unmanaged,
}

#[derive(Clone, Debug)]
pub(crate) struct Previous {
    pub(crate) packing: Packing,
    pub(crate) desired: Vec<DesiredGroup>,
}

#[derive(Clone, Debug)]
pub(crate) struct DesiredGroup {
    pub(crate) address_type: AddressType,
    pub(crate) ports: Ports,
    pub(crate) pods: BTreeMap<u8, Attributes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ports {
    None,
    Http,
    OtherHttp,
    HttpAndHttps,
    // The ports from here on are invalid.
    SameName,
    InvalidName,
    InvalidProtocol,
    InvalidAppProtocol,
    TooMany,
}

/// The fields of an endpoint besides its identity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attributes {
    /// Ready, equal for all endpoints of this pod.
    Common,
    Custom {
        ready: Option<bool>,
        zone: Option<&'static str>,
        has_node: bool,
        /// Whether the pod was recreated with the same name and address.
        recreated: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct ExistingSlice {
    /// `None` is an unknown address type.
    pub(crate) address_type: Option<AddressType>,
    pub(crate) ports: Ports,
    pub(crate) endpoints: Vec<(u8, Attributes, Hint)>,
    pub(crate) owner: OwnerRef,
    pub(crate) labels: Labels,
    pub(crate) annotated: bool,
    pub(crate) terminating: bool,
    /// Whether it belongs to another partition, if there are several.
    pub(crate) other_partition: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Hint {
    None,
    OwnZone,
    Zones(Vec<&'static str>),
    ZoneAndNode(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnerRef {
    Ours,
    OursAndEarlier,
    /// An earlier owner of the same name.
    Earlier,
    /// An owner of another name.
    OtherName,
    None,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Labels {
    Desired,
    Changed,
    Missing,
    Extra,
    ManagedMissing,
}

pub(crate) fn scenarios() -> impl Strategy<Value = Scenario> {
    let previous = (packing(), desired()).prop_map(|(packing, desired)| Previous { packing, desired });
    (
        settings(),
        option::weighted(0.6, previous),
        vec(existing_slice(), 0..6),
        desired(),
        weighted(0.2),
    )
        .prop_map(|(settings, previous, slices, mut desired, as_before)| {
            // Random groups rarely equal the previous ones.
            if as_before {
                let before = previous.iter().flat_map(|previous| &previous.desired);
                desired.extend(before.cloned());
            }
            Scenario {
                settings,
                previous,
                slices,
                desired,
            }
        })
}

fn settings() -> impl Strategy<Value = Settings> {
    let ownership = prop_oneof![
        3 => Just(Ownership::Enforce),
        1 => Just(Ownership::Ignore),
        1 => Just(Ownership::RebuildOnForeignUid),
    ];
    let address_types = prop_oneof![
        3 => Just(vec![AddressType::IPv4]),
        2 => Just(vec![AddressType::IPv4, AddressType::IPv6]),
        2 => Just(vec![AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn]),
        1 => subsequence(vec![AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn], 0..=3),
    ];
    let trigger = prop_oneof![Just(Trigger::Unmanaged), Just(Trigger::Clear), Just(Trigger::Set)];
    let annotations = prop_oneof![
        3 => Just(AnnotationMode::Preserve),
        1 => Just(AnnotationMode::Set),
        2 => Just(AnnotationMode::Replace),
    ];
    let flags = (weighted(0.1), weighted(0.2), weighted(0.2), weighted(0.2));
    let node = (select(&ZONES[..]), prop_oneof![Just(1000), 1..4000_u64]);
    (
        packing(),
        any::<bool>(),
        ownership,
        address_types,
        hint_mode(),
        option::weighted(0.9, vec(node, 0..6)),
        annotations,
        trigger,
        flags,
    )
        .prop_map(
            |(packing, placeholder, ownership, address_types, hints, nodes, annotations, trigger_time, flags)| {
                let (terminating, keep_other_labels, partitioned, has_invalid_pod) = flags;
                Settings {
                    packing,
                    placeholder,
                    ownership,
                    address_types,
                    hints,
                    nodes,
                    annotations,
                    keep_other_labels,
                    partitioned,
                    has_invalid_pod,
                    trigger_time,
                    terminating,
                }
            },
        )
}

/// Small, so that a few endpoints fill several slices.
fn packing() -> impl Strategy<Value = Packing> {
    let fill = |max| Packing::Fill { max };
    let one_per_group = |cap| Packing::OnePerGroup { cap };
    let max = (1..6_usize).prop_filter_map("not zero", NonZeroUsize::new);
    (max, weighted(0.25)).prop_map(move |(max, one)| if one { one_per_group(max) } else { fill(max) })
}

fn hint_mode() -> impl Strategy<Value = Option<HintMode>> {
    let traffic = select(vec![
        TrafficDistribution::PreferClose,
        TrafficDistribution::PreferSameZone,
        TrafficDistribution::PreferSameNode,
    ]);
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(HintMode::None)),
        1 => traffic.prop_map(|traffic| Some(HintMode::TrafficDistribution(traffic))),
        3 => Just(Some(HintMode::Auto)),
    ]
}

fn address_type() -> impl Strategy<Value = AddressType> {
    prop_oneof![5 => Just(AddressType::IPv4), 2 => Just(AddressType::IPv6), 1 => Just(AddressType::Fqdn)]
}

/// Common ports have more weight, so that slices share them. `TooMany` is rare, because it is slow to compare.
fn ports() -> impl Strategy<Value = Ports> {
    let invalid = [
        Ports::SameName,
        Ports::InvalidName,
        Ports::InvalidProtocol,
        Ports::InvalidAppProtocol,
    ];
    prop_oneof![
        40 => Just(Ports::Http),
        20 => Just(Ports::OtherHttp),
        10 => Just(Ports::HttpAndHttps),
        10 => Just(Ports::None),
        8 => select(invalid.to_vec()),
        1 => Just(Ports::TooMany),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let ready = prop_oneof![3 => Just(Some(true)), 2 => Just(Some(false)), 1 => Just(None)];
    let zone = prop_oneof![6 => zone().prop_map(Some), 1 => Just(Some("")), 1 => Just(None)];
    let custom =
        (ready, zone, any::<bool>(), weighted(0.2)).prop_map(|(ready, zone, has_node, recreated)| Attributes::Custom {
            ready,
            zone,
            has_node,
            recreated,
        });
    prop_oneof![6 => Just(Attributes::Common), 1 => custom]
}

fn zone() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => select(&ZONES[..]), 1 => Just(ZONE_WITHOUT_NODES)]
}

fn desired() -> impl Strategy<Value = Vec<DesiredGroup>> {
    let group = (address_type(), ports(), btree_map(0..PODS, attributes(), 0..9));
    let group = group.prop_map(|(address_type, ports, pods)| DesiredGroup {
        address_type,
        ports,
        pods,
    });
    vec(group, 0..4)
}

fn existing_slice() -> impl Strategy<Value = ExistingSlice> {
    let address_type = prop_oneof![12 => address_type().prop_map(Some), 1 => Just(None)];
    let hint = prop_oneof![
        2 => Just(Hint::None),
        2 => Just(Hint::OwnZone),
        1 => vec(zone(), 0..3).prop_map(Hint::Zones),
        1 => zone().prop_map(Hint::ZoneAndNode),
    ];
    // Mostly equal within a slice; otherwise few slices would have the desired hints.
    let hints = prop_oneof![1 => Just(Some(Hint::None)), 2 => Just(Some(Hint::OwnZone)), 2 => Just(None)];
    let endpoints = (vec((0..PODS, attributes(), hint), 0..7), hints).prop_map(|(mut endpoints, hints)| {
        if let Some(all) = hints {
            for (_, _, hint) in &mut endpoints {
                *hint = all.clone();
            }
        }
        endpoints
    });
    let owner = prop_oneof![
        8 => Just(OwnerRef::Ours),
        1 => Just(OwnerRef::OursAndEarlier),
        1 => Just(OwnerRef::Earlier),
        1 => Just(OwnerRef::OtherName),
        1 => Just(OwnerRef::None),
    ];
    let labels = prop_oneof![
        8 => Just(Labels::Desired),
        1 => Just(Labels::Changed),
        1 => Just(Labels::Missing),
        1 => Just(Labels::Extra),
        1 => Just(Labels::ManagedMissing),
    ];
    (
        address_type,
        ports(),
        endpoints,
        owner,
        labels,
        weighted(0.2),
        weighted(0.1),
        weighted(0.2),
    )
        .prop_map(
            |(address_type, ports, endpoints, owner, labels, annotated, terminating, other_partition)| ExistingSlice {
                address_type,
                ports,
                endpoints,
                owner,
                labels,
                annotated,
                terminating,
                other_partition,
            },
        )
}
