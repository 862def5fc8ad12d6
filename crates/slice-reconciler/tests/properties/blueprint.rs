//! Owners and slices in every state that one can meet, as small plans of them: these are drawn at random, printed when a
//! property fails, and made smaller until they no longer fail.

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

/// The zones that nodes can be in; endpoints can be in one more, where there is no node.
const ZONES: [&str; 4] = ["a", "b", "c", "d"];
const NOWHERE: &str = "zz";

/// So many pods are there to be published, so few that slices share them.
const PODS: u8 = 10;

/// An owner, what is wanted for it, and the slices it has.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    pub(crate) settings: Settings,
    /// What was wanted before, and is published as a plan had it; none, when the owner is new.
    pub(crate) earlier: Option<Earlier>,
    /// What others left behind besides.
    pub(crate) stored: Vec<StoredSlice>,
    pub(crate) wanted: Vec<WantedGroup>,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Settings {
    pub(crate) packing: Packing,
    pub(crate) placeholder: bool,
    pub(crate) ownership: Ownership,
    pub(crate) supported: Vec<AddressType>,
    pub(crate) hints: Option<HintMode>,
    /// What is known of zones: the CPUs of each node. Nothing, when there is no cache.
    pub(crate) nodes: Option<Vec<(&'static str, u64)>>,
    pub(crate) annotations: Annotated,
    pub(crate) keep_other_labels: bool,
    /// Whether the owner has several slice sets.
    pub(crate) partitioned: bool,
    /// Whether the last pod has addresses that no slice may hold.
    pub(crate) unpublishable: bool,
    pub(crate) trigger_time: Trigger,
    pub(crate) terminating: bool,
}

/// What is done with annotations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Annotated {
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
pub(crate) struct Earlier {
    pub(crate) packing: Packing,
    pub(crate) wanted: Vec<WantedGroup>,
}

#[derive(Clone, Debug)]
pub(crate) struct WantedGroup {
    pub(crate) address_type: AddressType,
    pub(crate) ports: Ports,
    pub(crate) pods: BTreeMap<u8, Look>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ports {
    None,
    Http,
    OtherHttp,
    HttpAndHttps,
    // No slice may have any of these.
    SameName,
    BadName,
    BadProtocol,
    BadAppProtocol,
    TooMany,
}

/// What an endpoint says besides who it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// Ready, and as all others of this pod.
    Usual,
    Odd {
        ready: Option<bool>,
        zone: Option<&'static str>,
        has_node: bool,
        /// Another pod of the same name and address.
        recreated: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct StoredSlice {
    /// `None` is a type that is no longer known.
    pub(crate) address_type: Option<AddressType>,
    pub(crate) ports: Ports,
    pub(crate) endpoints: Vec<(u8, Look, Hint)>,
    pub(crate) owner: Reference,
    pub(crate) labels: Labels,
    pub(crate) annotated: bool,
    pub(crate) terminating: bool,
    /// Whether it belongs to another slice set, if there are several.
    pub(crate) apart: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Hint {
    None,
    OwnZone,
    Zones(Vec<&'static str>),
    ZoneAndNode(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    Ours,
    OursAndAnother,
    /// An earlier owner of the same name.
    Another,
    /// One of another name.
    Stranger,
    Nobody,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Labels {
    Right,
    Changed,
    Missing,
    Extra,
    ReservedMissing,
}

pub(crate) fn blueprints() -> impl Strategy<Value = Blueprint> {
    let earlier = (packing(), wanted()).prop_map(|(packing, wanted)| Earlier { packing, wanted });
    (
        settings(),
        option::weighted(0.6, earlier),
        vec(stored_slice(), 0..6),
        wanted(),
        weighted(0.2),
    )
        .prop_map(|(settings, earlier, stored, mut wanted, as_before)| {
            // What was wanted before hardly ever is by chance.
            if as_before {
                let before = earlier.iter().flat_map(|earlier| &earlier.wanted);
                wanted.extend(before.cloned());
            }
            Blueprint {
                settings,
                earlier,
                stored,
                wanted,
            }
        })
}

fn settings() -> impl Strategy<Value = Settings> {
    let ownership = prop_oneof![
        3 => Just(Ownership::Enforce),
        1 => Just(Ownership::Ignore),
        1 => Just(Ownership::RebuildOnForeignUid),
    ];
    let supported = prop_oneof![
        3 => Just(vec![AddressType::IPv4]),
        2 => Just(vec![AddressType::IPv4, AddressType::IPv6]),
        2 => Just(vec![AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn]),
        1 => subsequence(vec![AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn], 0..=3),
    ];
    let trigger = prop_oneof![Just(Trigger::Unmanaged), Just(Trigger::Clear), Just(Trigger::Set)];
    let annotations =
        prop_oneof![3 => Just(Annotated::Preserve), 1 => Just(Annotated::Set), 2 => Just(Annotated::Replace)];
    let switches = (weighted(0.1), weighted(0.2), weighted(0.2), weighted(0.2));
    let node = (select(&ZONES[..]), prop_oneof![Just(1000), 1..4000_u64]);
    (
        packing(),
        any::<bool>(),
        ownership,
        supported,
        hint_mode(),
        option::weighted(0.9, vec(node, 0..6)),
        annotations,
        trigger,
        switches,
    )
        .prop_map(
            |(packing, placeholder, ownership, supported, hints, nodes, annotations, trigger_time, switches)| {
                let (terminating, keep_other_labels, partitioned, unpublishable) = switches;
                Settings {
                    packing,
                    placeholder,
                    ownership,
                    supported,
                    hints,
                    nodes,
                    annotations,
                    keep_other_labels,
                    partitioned,
                    unpublishable,
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
    let few = (1..6_usize).prop_filter_map("not zero", NonZeroUsize::new);
    (few, weighted(0.25)).prop_map(move |(few, one)| if one { one_per_group(few) } else { fill(few) })
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

/// Some ports are more usual than others, so that slices share them. Too many take long to compare.
fn ports() -> impl Strategy<Value = Ports> {
    let bad = [
        Ports::SameName,
        Ports::BadName,
        Ports::BadProtocol,
        Ports::BadAppProtocol,
    ];
    prop_oneof![
        40 => Just(Ports::Http),
        20 => Just(Ports::OtherHttp),
        10 => Just(Ports::HttpAndHttps),
        10 => Just(Ports::None),
        8 => select(bad.to_vec()),
        1 => Just(Ports::TooMany),
    ]
}

fn look() -> impl Strategy<Value = Look> {
    let ready = prop_oneof![3 => Just(Some(true)), 2 => Just(Some(false)), 1 => Just(None)];
    let zone = prop_oneof![6 => zone().prop_map(Some), 1 => Just(Some("")), 1 => Just(None)];
    let odd = (ready, zone, any::<bool>(), weighted(0.2)).prop_map(|(ready, zone, has_node, recreated)| Look::Odd {
        ready,
        zone,
        has_node,
        recreated,
    });
    prop_oneof![6 => Just(Look::Usual), 1 => odd]
}

fn zone() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => select(&ZONES[..]), 1 => Just(NOWHERE)]
}

fn wanted() -> impl Strategy<Value = Vec<WantedGroup>> {
    let group = (address_type(), ports(), btree_map(0..PODS, look(), 0..9));
    let group = group.prop_map(|(address_type, ports, pods)| WantedGroup {
        address_type,
        ports,
        pods,
    });
    vec(group, 0..4)
}

fn stored_slice() -> impl Strategy<Value = StoredSlice> {
    let address_type = prop_oneof![12 => address_type().prop_map(Some), 1 => Just(None)];
    let hint = prop_oneof![
        2 => Just(Hint::None),
        2 => Just(Hint::OwnZone),
        1 => vec(zone(), 0..3).prop_map(Hint::Zones),
        1 => zone().prop_map(Hint::ZoneAndNode),
    ];
    // Mostly all alike within a slice, or hardly any would be right.
    let hints = prop_oneof![1 => Just(Some(Hint::None)), 2 => Just(Some(Hint::OwnZone)), 2 => Just(None)];
    let endpoints = (vec((0..PODS, look(), hint), 0..7), hints).prop_map(|(mut endpoints, hints)| {
        if let Some(all) = hints {
            for (_, _, hint) in &mut endpoints {
                *hint = all.clone();
            }
        }
        endpoints
    });
    let owner = prop_oneof![
        8 => Just(Reference::Ours),
        1 => Just(Reference::OursAndAnother),
        1 => Just(Reference::Another),
        1 => Just(Reference::Stranger),
        1 => Just(Reference::Nobody),
    ];
    let labels = prop_oneof![
        8 => Just(Labels::Right),
        1 => Just(Labels::Changed),
        1 => Just(Labels::Missing),
        1 => Just(Labels::Extra),
        1 => Just(Labels::ReservedMissing),
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
            |(address_type, ports, endpoints, owner, labels, annotated, terminating, apart)| StoredSlice {
                address_type,
                ports,
                endpoints,
                owner,
                labels,
                annotated,
                terminating,
                apart,
            },
        )
}
