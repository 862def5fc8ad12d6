//! Whole rows of the catalogue. What they share is here.

mod fixes;
mod flow;
mod traffic;

use std::{hash::Hash, mem, ptr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{Address, AddressType, CompactSlice, Conditions, Endpoint, EventType, Hints, PortMapKey};

use super::{HintEvent, HintMode, HintOutcome, NodeInfo, TopologyCache};
use crate::{
    lists::{self, Update},
    planned::PlannedSlice,
};

/// The lists, with whole slices: easy to make and to compare.
#[derive(Debug, Default)]
pub(super) struct Lists<'a> {
    pub(super) create: Vec<CompactSlice>,
    pub(super) update: Vec<CompactSlice>,
    pub(super) unchanged: Vec<&'a CompactSlice>,
}

impl Lists<'_> {
    /// Has something done to the lists as they really are.
    pub(super) fn with_drafts<R>(&mut self, work: impl FnOnce(&mut lists::Lists<'_, &Endpoint>) -> R) -> R {
        let (create, update) = (mem::take(&mut self.create), mem::take(&mut self.update));
        let mut lists = lists::Lists {
            create: create.iter().map(PlannedSlice::unchanged).collect(),
            update: update.iter().map(Update::unchanged).collect(),
            unchanged: self.unchanged.clone(),
        };
        let result = work(&mut lists);
        self.create = lists.create.into_iter().map(PlannedSlice::into_slice).collect();
        self.update = lists.update.into_iter().map(|update| update.to.into_slice()).collect();
        let is_left = |slice: &CompactSlice| lists.unchanged.iter().any(|left| ptr::eq(*left, slice));
        self.unchanged.retain(|slice| is_left(slice));
        result
    }
}

pub(super) fn apply<K: Eq + Hash + Clone>(
    mode: HintMode,
    owner: &K,
    address_type: AddressType,
    lists: &mut Lists<'_>,
    cache: Option<&mut TopologyCache<K>>,
) -> HintOutcome {
    lists.with_drafts(|lists| {
        super::apply(
            mode,
            address_type,
            lists,
            cache.map(|cache| cache.entry(owner)).as_mut(),
        )
    })
}

/// A ready endpoint on the node of its number.
pub(super) fn endpoint(number: usize, zone: &str) -> Endpoint {
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
pub(super) fn rehinted(mut endpoint: Endpoint, change: impl FnOnce(&mut Hints)) -> Endpoint {
    let mut hints = endpoint.hints.as_deref().cloned().unwrap_or_default();
    change(&mut hints);
    endpoint.hints = Some(hints.into());
    endpoint
}

pub(super) fn hinted(endpoint: Endpoint, zone: &str) -> Endpoint {
    Endpoint {
        hints: Some(Hints::zone(zone)),
        ..endpoint
    }
}

pub(super) fn unready(mut endpoint: Endpoint) -> Endpoint {
    endpoint.conditions.ready = Some(false);
    endpoint
}

pub(super) fn slice(endpoints: Vec<Endpoint>) -> CompactSlice {
    CompactSlice {
        metadata: ObjectMeta::default(),
        address_type: Ok(AddressType::IPv4),
        ports: PortMapKey::from_k8s(None),
        endpoints,
    }
}

/// A slice with one ready endpoint per zone, numbered from the first on.
pub(super) fn in_zones(first: usize, zones: &[&str]) -> CompactSlice {
    let numbered = (first..).zip(zones);
    slice(numbered.map(|(number, zone)| endpoint(number, zone)).collect())
}

pub(super) fn node(zone: &str, cpu_milli: u64) -> NodeInfo<'_> {
    NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(cpu_milli),
    }
}

/// A cache that knows these zones by their CPUs.
pub(super) fn cache(zones: &[(&str, u64)]) -> TopologyCache<&'static str> {
    let mut cache = TopologyCache::default();
    assert!(
        cache
            .set_nodes(zones.iter().map(|(zone, cpu)| node(zone, *cpu)))
            .is_empty()
    );
    cache
}

pub(super) const OWNER: &str = "ns/svc";

pub(super) fn auto(cache: &mut TopologyCache<&'static str>, lists: &mut Lists<'_>) -> HintOutcome {
    apply(HintMode::Auto, &OWNER, AddressType::IPv4, lists, Some(cache))
}

/// One more sync of slices that nobody else changes; what is stored afterwards, and how many were written.
pub(super) fn sync(
    mode: HintMode,
    stored: &[CompactSlice],
    cache: Option<&mut TopologyCache<&'static str>>,
) -> (Vec<CompactSlice>, usize, Option<HintEvent>) {
    let mut lists = Lists {
        unchanged: stored.iter().collect(),
        ..Lists::default()
    };
    let outcome = apply(mode, &OWNER, AddressType::IPv4, &mut lists, cache);
    let Lists { update, unchanged, .. } = lists;
    let written = update.len();
    let all = unchanged.into_iter().cloned().chain(update).collect();
    (all, written, outcome.event)
}

/// Endpoint for endpoint, the zones and nodes that it is meant for, as `a@node-1`.
pub(super) fn hints(slices: &[CompactSlice]) -> Vec<Vec<String>> {
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

/// How many endpoints are meant for each zone, and how many for another one than their own.
pub(super) fn tally(slices: &[CompactSlice]) -> (std::collections::BTreeMap<String, usize>, usize) {
    let (mut zones, mut crossing) = (std::collections::BTreeMap::new(), 0);
    for endpoint in slices.iter().flat_map(|slice| &slice.endpoints) {
        for zone in endpoint.hints.iter().flat_map(|hints| &hints.for_zones) {
            *zones.entry(zone.to_string()).or_default() += 1;
            crossing += usize::from(endpoint.zone.as_deref() != Some(&**zone));
        }
    }
    (zones, crossing)
}

pub(super) fn enabled() -> HintEvent {
    HintEvent {
        event_type: EventType::Normal,
        reason: "TopologyAwareHintsEnabled",
        message: "Topology Aware Hints has been enabled, addressType: IPv4".to_owned(),
    }
}

pub(super) fn warning(message: &str) -> HintEvent {
    HintEvent {
        event_type: EventType::Warning,
        reason: "TopologyAwareHintsDisabled",
        message: format!("{message}, addressType: IPv4"),
    }
}

pub(super) const UNKNOWN_NODES: &str =
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
