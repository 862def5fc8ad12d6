//! What is remembered between syncs, for all owners.

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
    allocation::{allocate, overloaded},
    assign::Counts,
    nodes::Ratios,
};

/// How topology hints deviate from the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopologyOptions {
    /// Leave out nodes without a zone or CPUs, instead of giving no hints at all while there is one (HD11).
    pub ignore_incomplete_nodes: bool,
    /// Warn on every sync of an owner that cannot have hints, as Kubernetes does, and not only when the kind of reason
    /// changes (HD10).
    pub repeat_warnings: bool,
}

/// The zones of the cluster, and which owners have hints for them or were refused some. `K` is what identifies an owner,
/// or one set of slices where an owner has several.
///
/// Many syncs share one cache: put a mutex around it.
#[derive(Debug)]
pub struct TopologyCache<K> {
    options: TopologyOptions,
    /// Nothing when the nodes do not say enough. Before nodes are looked at: known, and empty (H17).
    ratios: Option<Ratios>,
    owners: HashMap<K, Owner>,
    /// How many owners there have been.
    seen: u64,
}

/// An owner that asked for hints.
#[derive(Debug)]
struct Owner {
    /// Its place in the order of first asking.
    place: u64,
    by_type: BTreeMap<AddressType, State>,
}

#[derive(Debug)]
enum State {
    Hinted(Counts),
    Refused {
        refusal: HintsUnavailable,
        /// How many endpoints were ready.
        ready: usize,
    },
}

impl<K> Default for TopologyCache<K> {
    fn default() -> Self {
        Self::new(TopologyOptions::default())
    }
}

impl<K> TopologyCache<K> {
    /// An empty cache. No hints are given before [`set_nodes`](Self::set_nodes).
    #[must_use]
    pub fn new(options: TopologyOptions) -> Self {
        Self {
            options,
            ratios: Some(Ratios::default()),
            owners: HashMap::new(),
            seen: 0,
        }
    }
}

impl<K: Eq + Hash + Clone> TopologyCache<K> {
    /// Takes in all nodes of the cluster (H22, R95). Answers the owners to sync again, in the order in which they first
    /// asked for hints: those of whose endpoints a zone has too few now (H46, R103), and those that were refused and would
    /// get another answer (HD3).
    #[must_use = "these owners need a sync"]
    pub fn set_nodes<'n>(&mut self, nodes: impl IntoIterator<Item = NodeInfo<'n>>) -> Vec<K> {
        let ratios = Ratios::of(nodes, self.options.ignore_incomplete_nodes);
        self.set_ratios(ratios)
    }

    /// Takes in all zones and what each can take compared with the others, from a source that has no nodes: the clusters of a
    /// mesh, say (G89). Zones that can take nothing, or that hints cannot name (R146), get nothing; with fewer than two others
    /// there are no hints. Answers as [`set_nodes`](Self::set_nodes) does.
    #[must_use = "these owners need a sync"]
    pub fn set_zones<'n>(&mut self, zones: impl IntoIterator<Item = (&'n str, u64)>) -> Vec<K> {
        let nodes = zones
            .into_iter()
            .map(|(zone, weight)| NodeInfo::standing_for(zone, weight));
        let ratios = Ratios::of(nodes, true);
        self.set_ratios(ratios)
    }

    fn set_ratios(&mut self, ratios: Option<Ratios>) -> Vec<K> {
        let changed = ratios != self.ratios;
        self.ratios = ratios;
        let ratios = self.ratios.as_ref();
        let mut again: Vec<_> = self
            .owners
            .iter()
            .filter(|(_, owner)| owner.by_type.values().any(|state| state.is_outdated(ratios, changed)))
            .map(|(key, owner)| (owner.place, key.clone()))
            .collect();
        again.sort_unstable_by_key(|(place, _)| *place);
        again.into_iter().map(|(_, key)| key).collect()
    }

    /// The entry of an owner, for one plan.
    pub fn entry<'a>(&'a mut self, owner: &'a K) -> TopologyEntry<'a> {
        TopologyEntry(Box::new((self, owner)))
    }

    /// Forgets an owner that is gone or out of scope (HD2).
    pub fn forget(&mut self, owner: &K) {
        self.owners.remove(owner);
    }

    /// Forgets an owner's address type that it no longer has (H13).
    pub fn forget_type(&mut self, owner: &K, address_type: AddressType) {
        self.take(owner, address_type);
    }

    /// Who asked for hints and has them, or does not and why (H67).
    pub fn answers(&self) -> impl Iterator<Item = (&K, AddressType, Result<(), HintsUnavailable>)> {
        self.owners.iter().flat_map(|(key, owner)| {
            let answers = owner.by_type.iter();
            answers.map(move |(address_type, state)| match state {
                State::Hinted(_) => (key, *address_type, Ok(())),
                State::Refused { refusal, .. } => (key, *address_type, Err(*refusal)),
            })
        })
    }

    fn take(&mut self, owner: &K, address_type: AddressType) -> Option<State> {
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

/// What a plan needs of the cache, whatever identifies owners there.
pub(crate) trait Entry {
    fn ratios(&self) -> Option<&Ratios>;
    /// The owner does not ask for hints (H11.3); the event if it had some.
    fn switch_off(&mut self, address_type: AddressType) -> Option<HintEvent>;
    /// The result of a request for hints; an event when hints begin, once per address type (HD9), or when the kind of reason
    /// that there are none changes (HD10).
    fn record(
        &mut self,
        address_type: AddressType,
        ready: usize,
        answer: Result<Counts, HintsUnavailable>,
    ) -> Option<HintEvent>;
    fn forget_type(&mut self, address_type: AddressType);
}

impl<K: Eq + Hash + Clone> Entry for (&mut TopologyCache<K>, &K) {
    fn ratios(&self) -> Option<&Ratios> {
        self.0.ratios.as_ref()
    }

    fn switch_off(&mut self, address_type: AddressType) -> Option<HintEvent> {
        match self.0.take(self.1, address_type)? {
            State::Hinted(_) => Some(HintEvent::disabled(address_type)),
            State::Refused { .. } => None,
        }
    }

    fn record(
        &mut self,
        address_type: AddressType,
        ready: usize,
        answer: Result<Counts, HintsUnavailable>,
    ) -> Option<HintEvent> {
        let (cache, owner) = self;
        let state = match answer {
            Ok(counts) => State::Hinted(counts),
            Err(refusal) => State::Refused { refusal, ready },
        };
        let place = cache.seen;
        let entry = cache.owners.entry(owner.clone()).or_insert_with(|| {
            cache.seen += 1;
            let by_type = BTreeMap::new();
            Owner { place, by_type }
        });
        let before = entry.by_type.get(&address_type);
        let event = match (&state, before) {
            (State::Hinted(_), Some(State::Hinted(_))) => None,
            (State::Hinted(_), _) => Some(HintEvent::enabled(address_type)),
            (State::Refused { refusal, .. }, Some(State::Refused { refusal: before, .. }))
                if discriminant(refusal) == discriminant(before) && !cache.options.repeat_warnings =>
            {
                None
            }
            (State::Refused { refusal, .. }, _) => Some(HintEvent::warning(refusal, address_type)),
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
    /// Whether a sync would end differently with these ratios. A refusal stands for as long as the new nodes lead to one
    /// of the same kind, so that owners with too few endpoints are not synced for every node that comes or goes.
    fn is_outdated(&self, ratios: Option<&Ratios>, changed: bool) -> bool {
        match self {
            Self::Hinted(counts) => overloaded(counts, ratios),
            Self::Refused { refusal, ready } => {
                changed
                    && refusal.depends_on_nodes()
                    && allocate(ratios, *ready).err().map(|now| discriminant(&now)) != Some(discriminant(refusal))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
