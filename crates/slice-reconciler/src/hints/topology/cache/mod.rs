//! Topology state of all owners between syncs.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::Hash,
    mem::discriminant,
};

use slice_core::AddressType;

use super::{
    super::HintEvent,
    HintsUnavailable, NodeInfo,
    allocation::{allocate, is_overloaded},
    assign::HintCounts,
    nodes::ZoneRatios,
};

/// Options of topology hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopologyOptions {
    /// Ignore nodes without a zone or CPUs. By default one such node disables all hints (HD11).
    pub ignore_incomplete_nodes: bool,
    /// Warn on every sync of an owner whose hints are unavailable, as Kubernetes does. By default only a change of the reason
    /// causes a warning (HD10).
    pub repeat_warnings: bool,
}

/// The zone ratios of the cluster, and the hint state of each owner. `K` identifies an owner, or one slice set of an owner
/// with several.
///
/// Concurrent syncs share one cache behind a mutex.
#[derive(Debug)]
pub struct TopologyCache<K> {
    options: TopologyOptions,
    /// None if nodes are incomplete. Empty until the first [`set_nodes`](Self::set_nodes) (H17).
    ratios: Option<ZoneRatios>,
    owners: HashMap<K, OwnerState>,
    /// The sequence number of the next owner.
    next_sequence: u64,
}

/// The state of an owner in mode [`Auto`](crate::hints::HintMode::Auto).
#[derive(Debug)]
struct OwnerState {
    /// Orders owners by their first sync.
    sequence: u64,
    by_type: BTreeMap<AddressType, State>,
}

#[derive(Debug)]
enum State {
    Hinted(HintCounts),
    Unavailable { reason: HintsUnavailable, ready: usize },
}

impl<K> Default for TopologyCache<K> {
    fn default() -> Self {
        Self::new(TopologyOptions::default())
    }
}

impl<K> TopologyCache<K> {
    /// An empty cache. Hints are unavailable until [`set_nodes`](Self::set_nodes).
    #[must_use]
    pub fn new(options: TopologyOptions) -> Self {
        Self {
            options,
            ratios: Some(ZoneRatios::default()),
            owners: HashMap::new(),
            next_sequence: 0,
        }
    }
}

impl<K: Eq + Hash + Clone> TopologyCache<K> {
    /// Replaces the nodes of the cluster (H22, R95). Returns the owners to enqueue, in the order of their first sync: those
    /// with an overloaded zone (H46, R103), and those whose hints are unavailable and would get another result (HD3).
    #[must_use = "these owners need a sync"]
    pub fn set_nodes<'n>(&mut self, nodes: impl IntoIterator<Item = NodeInfo<'n>>) -> Vec<K> {
        let ratios = ZoneRatios::from_nodes(nodes, self.options.ignore_incomplete_nodes);
        self.set_ratios(ratios)
    }

    /// Replaces all zones and their weights, from a source without nodes, such as the clusters of a mesh (G89). Zones with
    /// weight 0 or an invalid name (R146) are ignored; hints need two others. Returns the owners to enqueue, like
    /// [`set_nodes`](Self::set_nodes).
    #[must_use = "these owners need a sync"]
    pub fn set_zones<'n>(&mut self, zones: impl IntoIterator<Item = (&'n str, u64)>) -> Vec<K> {
        let nodes = zones.into_iter().map(|(zone, weight)| NodeInfo::for_zone(zone, weight));
        let ratios = ZoneRatios::from_nodes(nodes, true);
        self.set_ratios(ratios)
    }

    fn set_ratios(&mut self, ratios: Option<ZoneRatios>) -> Vec<K> {
        let changed = ratios != self.ratios;
        self.ratios = ratios;
        let ratios = self.ratios.as_ref();
        let mut outdated: Vec<_> = self
            .owners
            .iter()
            .filter(|(_, owner)| owner.by_type.values().any(|state| state.is_outdated(ratios, changed)))
            .map(|(key, owner)| (owner.sequence, key.clone()))
            .collect();
        outdated.sort_unstable_by_key(|(sequence, _)| *sequence);
        outdated.into_iter().map(|(_, key)| key).collect()
    }

    /// The entry of an owner, for one plan.
    pub fn entry<'a>(&'a mut self, owner: &'a K) -> TopologyEntry<'a> {
        TopologyEntry(Box::new((self, owner)))
    }

    /// Removes an owner that is deleted or no longer managed (HD2).
    pub fn forget(&mut self, owner: &K) {
        self.owners.remove(owner);
    }

    /// Removes an address type that an owner no longer has (H13).
    pub fn forget_type(&mut self, owner: &K, address_type: AddressType) {
        self.remove(owner, address_type);
    }

    /// The hint status of each owner and address type in mode `Auto` (H67).
    pub fn status(&self) -> impl Iterator<Item = (&K, AddressType, Result<(), HintsUnavailable>)> {
        self.owners.iter().flat_map(|(key, owner)| {
            let states = owner.by_type.iter();
            states.map(move |(address_type, state)| match state {
                State::Hinted(_) => (key, *address_type, Ok(())),
                State::Unavailable { reason, .. } => (key, *address_type, Err(*reason)),
            })
        })
    }

    fn remove(&mut self, owner: &K, address_type: AddressType) -> Option<State> {
        let entry = self.owners.get_mut(owner)?;
        let state = entry.by_type.remove(&address_type);
        if entry.by_type.is_empty() {
            self.owners.remove(owner);
        }
        state
    }
}

/// The entry of one owner in a [`TopologyCache`], for one plan.
pub struct TopologyEntry<'a>(pub(crate) Box<dyn Entry + 'a>);

/// Access of a plan to the cache, independent of its key type.
pub(crate) trait Entry {
    fn ratios(&self) -> Option<&ZoneRatios>;
    /// Removes the state of an owner that is no longer in mode `Auto` (H11.3). Returns an event if it had hints.
    fn disable(&mut self, address_type: AddressType) -> Option<HintEvent>;
    /// Records the result of hint assignment. Returns an event if hints become available, once per address type (HD9), or
    /// if the kind of reason why they are unavailable changes (HD10).
    fn record(
        &mut self,
        address_type: AddressType,
        ready: usize,
        result: Result<HintCounts, HintsUnavailable>,
    ) -> Option<HintEvent>;
    fn forget_type(&mut self, address_type: AddressType);
}

impl<K: Eq + Hash + Clone> Entry for (&mut TopologyCache<K>, &K) {
    fn ratios(&self) -> Option<&ZoneRatios> {
        self.0.ratios.as_ref()
    }

    fn disable(&mut self, address_type: AddressType) -> Option<HintEvent> {
        match self.0.remove(self.1, address_type)? {
            State::Hinted(_) => Some(HintEvent::disabled(address_type)),
            State::Unavailable { .. } => None,
        }
    }

    fn record(
        &mut self,
        address_type: AddressType,
        ready: usize,
        result: Result<HintCounts, HintsUnavailable>,
    ) -> Option<HintEvent> {
        let (cache, owner) = self;
        let state = match result {
            Ok(counts) => State::Hinted(counts),
            Err(reason) => State::Unavailable { reason, ready },
        };
        let sequence = cache.next_sequence;
        let entry = cache.owners.entry(owner.clone()).or_insert_with(|| {
            cache.next_sequence += 1;
            let by_type = BTreeMap::new();
            OwnerState { sequence, by_type }
        });
        let before = entry.by_type.get(&address_type);
        let event = match (&state, before) {
            (State::Hinted(_), Some(State::Hinted(_))) => None,
            (State::Hinted(_), _) => Some(HintEvent::enabled(address_type)),
            (State::Unavailable { reason, .. }, Some(State::Unavailable { reason: before, .. }))
                if discriminant(reason) == discriminant(before) && !cache.options.repeat_warnings =>
            {
                None
            }
            (State::Unavailable { reason, .. }, _) => Some(HintEvent::warning(reason, address_type)),
        };
        entry.by_type.insert(address_type, state);
        event
    }

    fn forget_type(&mut self, address_type: AddressType) {
        self.0.forget_type(self.1, address_type);
    }
}

impl fmt::Debug for TopologyEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyEntry").finish_non_exhaustive()
    }
}

impl State {
    /// Whether a sync with these ratios would have another result. A reason of the same kind is the same result, so that
    /// owners with too few endpoints are not enqueued for every node change.
    fn is_outdated(&self, ratios: Option<&ZoneRatios>, changed: bool) -> bool {
        match self {
            Self::Hinted(counts) => is_overloaded(counts, ratios),
            Self::Unavailable { reason, ready } => {
                let now = || allocate(ratios, *ready).err();
                changed && reason.depends_on_nodes() && now().as_ref().map(discriminant) != Some(discriminant(reason))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
