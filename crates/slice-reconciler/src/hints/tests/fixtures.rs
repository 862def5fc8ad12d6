//! Endpoints, slices and caches for tests of hints.

use std::{collections::BTreeMap, hash::Hash, mem, ptr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{Address, AddressType, CompactSlice, Conditions, Endpoint, EventType, Hints, PortMapKey};

use super::super::{self as hints_module, HintEvent, HintMode, HintOutcome, NodeInfo, TopologyCache};
use crate::{
    lists::{SliceLists, SliceUpdate},
    planned::PlannedSlice,
};

/// [`SliceLists`] with owned slices, which are easy to build and to compare.
#[derive(Debug, Default)]
pub(in crate::hints) struct OwnedLists<'a> {
    pub(in crate::hints) to_create: Vec<CompactSlice>,
    pub(in crate::hints) to_update: Vec<CompactSlice>,
    pub(in crate::hints) unchanged: Vec<&'a CompactSlice>,
}

impl OwnedLists<'_> {
    /// Runs a function on the borrowed form of the lists.
    pub(in crate::hints) fn with_slice_lists<R>(&mut self, run: impl FnOnce(&mut SliceLists<'_, &Endpoint>) -> R) -> R {
        let (create, update) = (mem::take(&mut self.to_create), mem::take(&mut self.to_update));
        let mut lists = SliceLists {
            to_create: create.iter().map(PlannedSlice::unchanged).collect(),
            to_update: update.iter().map(SliceUpdate::unchanged).collect(),
            unchanged: self.unchanged.clone(),
        };
        let result = run(&mut lists);
        self.to_create = lists.to_create.into_iter().map(PlannedSlice::into_slice).collect();
        let updates = lists.to_update.into_iter();
        self.to_update = updates.map(|update| update.planned.into_slice()).collect();
        let is_unchanged = |slice: &CompactSlice| lists.unchanged.iter().any(|unchanged| ptr::eq(*unchanged, slice));
        self.unchanged.retain(|slice| is_unchanged(slice));
        result
    }
}

pub(in crate::hints) fn apply<K: Eq + Hash + Clone>(
    mode: HintMode,
    owner: &K,
    address_type: AddressType,
    lists: &mut OwnedLists<'_>,
    cache: Option<&mut TopologyCache<K>>,
) -> HintOutcome {
    lists.with_slice_lists(|lists| {
        hints_module::apply(
            mode,
            address_type,
            lists,
            cache.map(|cache| cache.entry(owner)).as_mut(),
        )
    })
}

/// A ready endpoint on the node with its number.
pub(in crate::hints) fn endpoint(number: usize, zone: &str) -> Endpoint {
    Endpoint {
        addresses: [Address::from_canonical(&format!("10.1.2.{number}"))]
            .into_iter()
            .collect(),
        conditions: Conditions {
            ready: Some(true),
            ..Conditions::default()
        },
        node_name: Some(format!("node-{number}").into()),
        zone: Some(zone.into()),
        ..Endpoint::default()
    }
}

/// The same endpoint with its hints changed.
pub(in crate::hints) fn rehinted(mut endpoint: Endpoint, change: impl FnOnce(&mut Hints)) -> Endpoint {
    let mut hints = endpoint.hints.as_deref().cloned().unwrap_or_default();
    change(&mut hints);
    endpoint.hints = Some(hints.into());
    endpoint
}

pub(in crate::hints) fn hinted(endpoint: Endpoint, zone: &str) -> Endpoint {
    Endpoint {
        hints: Some(Hints::zone(zone)),
        ..endpoint
    }
}

pub(in crate::hints) fn unready(mut endpoint: Endpoint) -> Endpoint {
    endpoint.conditions.ready = Some(false);
    endpoint
}

pub(in crate::hints) fn slice(endpoints: Vec<Endpoint>) -> CompactSlice {
    CompactSlice {
        metadata: ObjectMeta::default(),
        address_type: Ok(AddressType::IPv4),
        ports: PortMapKey::from_k8s(None),
        endpoints,
    }
}

/// A slice with one ready endpoint per zone, numbered from the first on.
pub(in crate::hints) fn in_zones(first: usize, zones: &[&str]) -> CompactSlice {
    let numbered = (first..).zip(zones);
    slice(numbered.map(|(number, zone)| endpoint(number, zone)).collect())
}

pub(in crate::hints) fn node(zone: &str, cpu_milli: u64) -> NodeInfo<'_> {
    NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(cpu_milli),
    }
}

/// A cache that knows these zones by their CPUs.
pub(in crate::hints) fn cache(zones: &[(&str, u64)]) -> TopologyCache<&'static str> {
    let mut cache = TopologyCache::default();
    assert!(
        cache
            .set_nodes(zones.iter().map(|(zone, cpu)| node(zone, *cpu)))
            .is_empty()
    );
    cache
}

pub(in crate::hints) const OWNER: &str = "ns/svc";

pub(in crate::hints) fn auto(cache: &mut TopologyCache<&'static str>, lists: &mut OwnedLists<'_>) -> HintOutcome {
    apply(HintMode::Auto, &OWNER, AddressType::IPv4, lists, Some(cache))
}

/// Syncs unchanged slices. Returns the slices afterwards, the number of updates, and the event.
pub(in crate::hints) fn sync(
    mode: HintMode,
    existing: &[CompactSlice],
    cache: Option<&mut TopologyCache<&'static str>>,
) -> (Vec<CompactSlice>, usize, Option<HintEvent>) {
    let mut lists = OwnedLists {
        unchanged: existing.iter().collect(),
        ..OwnedLists::default()
    };
    let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache);
    let OwnedLists {
        to_update, unchanged, ..
    } = lists;
    let written = to_update.len();
    let all = unchanged.into_iter().cloned().chain(to_update).collect();
    (all, written, outcome.event)
}

/// The hinted zones and nodes of each endpoint, as `a@node-1`.
pub(in crate::hints) fn hints(slices: &[CompactSlice]) -> Vec<Vec<String>> {
    let text = |endpoint: &Endpoint| {
        endpoint.hints.as_ref().map_or_else(String::new, |hints| {
            let nodes = hints.for_nodes.iter().map(|node| format!("@{node}"));
            let zones = hints.for_zones.iter().map(ToString::to_string);
            zones.chain(nodes).collect::<String>()
        })
    };
    slices
        .iter()
        .map(|slice| slice.endpoints.iter().map(text).collect())
        .collect()
}

/// The number of endpoints hinted to each zone, and of those hinted to another zone than their own.
pub(in crate::hints) fn tally(slices: &[CompactSlice]) -> (BTreeMap<String, usize>, usize) {
    let (mut zones, mut cross_zone) = (BTreeMap::new(), 0);
    for endpoint in slices.iter().flat_map(|slice| &slice.endpoints) {
        for zone in endpoint.hints.iter().flat_map(|hints| &hints.for_zones) {
            *zones.entry(zone.to_string()).or_default() += 1;
            cross_zone += usize::from(endpoint.zone.as_deref() != Some(&**zone));
        }
    }
    (zones, cross_zone)
}

pub(in crate::hints) fn enabled() -> HintEvent {
    HintEvent {
        event_type: EventType::Normal,
        reason: "TopologyAwareHintsEnabled",
        message: "Topology Aware Hints has been enabled, addressType: IPv4".to_owned(),
    }
}

pub(in crate::hints) fn warning(message: &str) -> HintEvent {
    HintEvent {
        event_type: EventType::Warning,
        reason: "TopologyAwareHintsDisabled",
        message: format!("{message}, addressType: IPv4"),
    }
}

pub(in crate::hints) const UNKNOWN_NODES: &str =
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
