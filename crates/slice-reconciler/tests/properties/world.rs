//! From blueprints to what plans are made from.

use std::collections::{BTreeMap, BTreeSet};

use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSet, EndpointSource as _, PortMapKey, TargetView};
use slice_reconciler::{
    Group, MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, Partition, Plan, PlanOptions, PlanRequest,
    TriggerTime,
    hints::{HintMode, NodeInfo, TopologyCache},
    plan,
};

use crate::{
    blueprint::{Blueprint, Trigger, WantedGroup},
    objects::{OWNER, PARTITION, endpoint, policy, port_key, spoil, stored_slice},
    store::Store,
};

/// An owner, what is wanted for it, and the slices it has.
pub(crate) struct World {
    pub(crate) options: PlanOptions,
    pub(crate) owner: Owner<'static>,
    pub(crate) supported: BTreeSet<AddressType>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) metadata: MetadataPolicy,
    pub(crate) partition: Partition<'static>,
    pub(crate) trigger_time: TriggerTime,
    pub(crate) hints: Option<HintMode>,
    pub(crate) nodes: Option<Vec<(&'static str, u64)>>,
    pub(crate) existing: Vec<CompactSlice>,
}

#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) address_type: AddressType,
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// What a controller remembers from one plan to the next.
pub(crate) type Memory = TopologyCache<()>;

impl World {
    pub(crate) fn new(blueprint: &Blueprint) -> Self {
        let settings = &blueprint.settings;
        let supported: BTreeSet<AddressType> = settings.supported.iter().copied().collect();
        let mut world = Self {
            options: PlanOptions {
                packing: settings.packing,
                placeholder: settings.placeholder,
                ownership: settings.ownership,
                owner_reference: OwnerReferenceOptions::default(),
            },
            owner: OWNER,
            supported,
            wanted: vec![],
            metadata: policy(settings),
            partition: Partition(if settings.partitioned { &PARTITION } else { &[] }),
            trigger_time: TriggerTime::Unmanaged,
            hints: settings.hints,
            nodes: settings.nodes.clone(),
            existing: vec![],
        };
        if let Some(earlier) = &blueprint.earlier {
            let now = world.options;
            world.options.packing = earlier.packing;
            world.wanted = world.groups(&earlier.wanted);
            let mut store = Store::new(vec![]);
            store.apply(&world.plan());
            world.existing = store.into_slices();
            world.options = now;
        }
        let stored = blueprint.stored.iter().enumerate();
        world
            .existing
            .extend(stored.map(|(number, slice)| stored_slice(number, slice, settings.partitioned)));
        world.wanted = world.groups(&blueprint.wanted);
        if settings.unpublishable {
            let wanted = world.wanted.iter_mut().flat_map(|wanted| &mut wanted.endpoints);
            wanted.for_each(spoil);
        }
        world.owner.terminating = settings.terminating;
        world.trigger_time = match settings.trigger_time {
            Trigger::Set => TriggerTime::Set("2024-01-02T03:04:05Z".to_owned()),
            Trigger::Clear => TriggerTime::Clear,
            Trigger::Unmanaged => TriggerTime::Unmanaged,
        };
        world
    }

    /// What is wanted of the supported types. A pod that is in two groups of the same key looks the same in both: which of
    /// them comes later is no question then.
    fn groups(&self, blueprints: &[WantedGroup]) -> Vec<Wanted> {
        let mut looks = BTreeMap::new();
        let supported = blueprints
            .iter()
            .filter(|group| self.supported.contains(&group.address_type));
        supported
            .map(|group| Wanted {
                address_type: group.address_type,
                ports: port_key(group.ports),
                endpoints: group
                    .pods
                    .iter()
                    .map(|(pod, look)| {
                        let look = looks.entry((group.address_type, group.ports, *pod)).or_insert(*look);
                        endpoint(group.address_type, *pod, *look)
                    })
                    .collect(),
            })
            .collect()
    }

    /// Wants what these slices hold, as far as their types are supported.
    pub(crate) fn want(&mut self, slices: impl Iterator<Item = CompactSlice>) {
        let wanted = |slice: CompactSlice| {
            let (address_type, ports) = key(&slice).filter(|_| self.supports(&slice))?;
            Some(Wanted {
                address_type,
                ports,
                endpoints: slice.endpoints,
            })
        };
        let mut wanted: Vec<Wanted> = slices.filter_map(wanted).collect();
        self.wanted.append(&mut wanted);
    }

    /// A controller that knows the nodes and has not planned yet.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        let nodes = self.nodes.iter().flatten().map(|(zone, cpu)| NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(*cpu),
        });
        assert!(memory.set_nodes(nodes).is_empty(), "nobody has asked for hints yet");
        memory
    }

    /// What a controller that has just started plans.
    pub(crate) fn plan(&self) -> Plan {
        self.plan_for(&self.existing, &mut self.memory())
    }

    /// What is planned for these slices instead of those that there are.
    pub(crate) fn plan_for(&self, existing: &[CompactSlice], memory: &mut Memory) -> Plan {
        let request = PlanRequest {
            owner: self.owner,
            partition: self.partition,
            address_types: self.supported.clone(),
            desired: self.wanted.iter().map(Wanted::group).collect(),
            existing,
            metadata: &self.metadata,
            hints: self.hints,
            trigger_time: self.trigger_time.clone(),
            name_prefix: "web-",
            reserved_names: &[],
            topology: self.nodes.as_ref().map(|_| memory.entry(&())),
        };
        plan(request, &self.options).expect("only supported types are wanted")
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(self.existing.clone())
    }

    /// Endpoints per slice.
    pub(crate) fn max(&self) -> usize {
        match self.options.packing {
            Packing::Fill { max } => max.get(),
            Packing::OnePerGroup { cap } => cap.get(),
        }
    }

    pub(crate) fn fills(&self) -> bool {
        matches!(self.options.packing, Packing::Fill { .. })
    }

    /// Whether a slice counts at all: it is here to stay, and of the slice set that is meant.
    pub(crate) fn concerns(&self, slice: &CompactSlice) -> bool {
        slice.metadata.deletion_timestamp.is_none() && self.partition.contains(slice)
    }

    /// Whether a slice counts for this owner: besides, it is ours or may become ours.
    pub(crate) fn is_ours(&self, slice: &CompactSlice) -> bool {
        let mut references = slice.metadata.owner_references.iter().flatten();
        let ours = match self.options.ownership {
            Ownership::Enforce => self.owner.owns(slice),
            Ownership::Ignore => true,
            Ownership::RebuildOnForeignUid => {
                self.owner.owns(slice) || references.all(|reference| reference.name != self.owner.name)
            }
        };
        ours && self.concerns(slice)
    }

    pub(crate) fn supports(&self, slice: &CompactSlice) -> bool {
        let known = slice.address_type.as_ref();
        known.is_ok_and(|known| self.supported.contains(known))
    }

    /// What is wanted, by address type and ports; of what groups with bad ports want, what is in slices of other groups already
    /// stays wanted there (I4).
    pub(crate) fn by_key(&self) -> BTreeMap<Key, Vec<&Endpoint>> {
        let mut by_key = self.as_asked();
        by_key.retain(|(_, ports), _| ports.validate().is_ok());
        let ours = || self.existing.iter().filter(|slice| self.is_ours(slice));
        for (group, endpoints) in &mut by_key {
            let barred = self.barred(group.0);
            let held = ours().filter(|slice| key(slice).as_ref() == Some(group));
            for held in held.flat_map(|slice| &slice.endpoints) {
                let same = |other: &&&Endpoint| is_same(other, held);
                if !endpoints.iter().any(|other| same(&other)) {
                    endpoints.extend(barred.iter().find(same));
                }
            }
        }
        by_key
    }

    /// Groups with bad ports that somebody is in, and how many.
    pub(crate) fn bad_groups(&self) -> BTreeMap<Key, usize> {
        let asked = self.as_asked().into_iter();
        let counted = asked.map(|(key, endpoints)| (key, endpoints.len()));
        counted
            .filter(|((_, ports), endpoints)| ports.validate().is_err() && *endpoints > 0)
            .collect()
    }

    /// What groups of this type with bad ports want, in the order of these.
    pub(crate) fn barred(&self, address_type: AddressType) -> Vec<&Endpoint> {
        let mut asked = self.as_asked();
        asked.retain(|(known, ports), _| *known == address_type && ports.validate().is_err());
        asked.into_values().flatten().collect()
    }

    /// Whether a slice of ours holds what a group with bad ports wants, and no group has its own: it stays as it is (I4).
    pub(crate) fn is_spared(&self, slice: &CompactSlice) -> bool {
        let Some(group) = key(slice).filter(|_| self.is_ours(slice) && self.supports(slice)) else {
            return false;
        };
        let barred = self.barred(group.0);
        let mut endpoints = slice.endpoints.iter();
        !self.by_key().contains_key(&group) && endpoints.any(|held| barred.iter().any(|barred| is_same(barred, held)))
    }

    /// What was asked for, by address type and ports, whatever these are.
    fn as_asked(&self) -> BTreeMap<Key, Vec<&Endpoint>> {
        let mut by_key: BTreeMap<Key, Vec<&Endpoint>> = BTreeMap::new();
        for wanted in &self.wanted {
            let endpoints = by_key.entry((wanted.address_type, wanted.ports.clone())).or_default();
            for endpoint in &wanted.endpoints {
                if !endpoints.iter().any(|other| is_same(other, endpoint)) {
                    endpoints.push(endpoint);
                }
            }
        }
        by_key
    }
}

/// What the endpoints of one slice share.
pub(crate) type Key = (AddressType, PortMapKey);

pub(crate) fn key(slice: &CompactSlice) -> Option<Key> {
    let address_type = slice.address_type.as_ref().ok()?;
    Some((*address_type, slice.ports.clone()))
}

/// Whether two endpoints are the same one (R76).
pub(crate) fn is_same(a: &Endpoint, b: &Endpoint) -> bool {
    identity(a) == identity(b)
}

/// Addresses, hostname, and the namespace and name of what is behind an endpoint.
pub(crate) type Identity = (Vec<String>, String, String, String);

/// What makes an endpoint the same one, spelled out once more.
pub(crate) fn identity(endpoint: &Endpoint) -> Identity {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let target = endpoint.target();
    let mut addresses: Vec<String> = endpoint.addresses.iter().map(ToString::to_string).collect();
    addresses.sort_unstable();
    (
        addresses,
        text(endpoint.hostname.as_deref()),
        text(target.and_then(TargetView::namespace)),
        text(target.and_then(TargetView::name)),
    )
}

impl Wanted {
    fn group(&self) -> Group<&Endpoint> {
        let mut endpoints = EndpointSet::default();
        endpoints.extend(&self.endpoints);
        Group {
            address_type: self.address_type,
            ports: self.ports.clone(),
            endpoints,
        }
    }
}
