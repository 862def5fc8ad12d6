//! Builds plan requests from scenarios, and knows the expected content of slices.

use std::collections::{BTreeMap, BTreeSet};

use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSet, EndpointSource as _, PortMapKey, TargetView};
use slice_reconciler::{
    Group, MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, Partition, Plan, PlanOptions, PlanRequest,
    TriggerTime,
    hints::{HintMode, NodeInfo, TopologyCache},
    plan,
};

use crate::{
    fixtures::{OWNER, PARTITION, endpoint, existing_slice, invalidate, policy, port_key},
    scenario::{DesiredGroup, Scenario, Trigger},
    store::Store,
};

/// An owner, its desired endpoints and its existing slices.
pub(crate) struct Harness {
    pub(crate) options: PlanOptions,
    pub(crate) owner: Owner<'static>,
    pub(crate) address_types: BTreeSet<AddressType>,
    pub(crate) desired: Vec<DesiredEndpoints>,
    pub(crate) metadata: MetadataPolicy,
    pub(crate) partition: Partition<'static>,
    pub(crate) trigger_time: TriggerTime,
    pub(crate) hints: Option<HintMode>,
    pub(crate) nodes: Option<Vec<(&'static str, u64)>>,
    pub(crate) existing: Vec<CompactSlice>,
}

#[derive(Clone)]
pub(crate) struct DesiredEndpoints {
    pub(crate) address_type: AddressType,
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// The state of a controller between plans.
pub(crate) type Cache = TopologyCache<()>;

impl Harness {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let settings = &scenario.settings;
        let address_types: BTreeSet<AddressType> = settings.address_types.iter().copied().collect();
        let mut harness = Self {
            options: PlanOptions {
                packing: settings.packing,
                placeholder: settings.placeholder,
                ownership: settings.ownership,
                owner_reference: OwnerReferenceOptions::default(),
            },
            owner: OWNER,
            address_types,
            desired: vec![],
            metadata: policy(settings),
            partition: Partition(if settings.partitioned { &PARTITION } else { &[] }),
            trigger_time: TriggerTime::Unmanaged,
            hints: settings.hints,
            nodes: settings.nodes.clone(),
            existing: vec![],
        };
        if let Some(previous) = &scenario.previous {
            let now = harness.options;
            harness.options.packing = previous.packing;
            harness.desired = harness.groups(&previous.desired);
            let mut store = Store::new(vec![]);
            store.apply(&harness.plan());
            harness.existing = store.into_slices();
            harness.options = now;
        }
        let slices = scenario.slices.iter().enumerate();
        harness
            .existing
            .extend(slices.map(|(number, slice)| existing_slice(number, slice, settings.partitioned)));
        harness.desired = harness.groups(&scenario.desired);
        if settings.has_invalid_pod {
            let desired = harness.desired.iter_mut().flat_map(|desired| &mut desired.endpoints);
            desired.for_each(invalidate);
        }
        harness.owner.terminating = settings.terminating;
        harness.trigger_time = match settings.trigger_time {
            Trigger::Set => TriggerTime::Set("2024-01-02T03:04:05Z".to_owned()),
            Trigger::Clear => TriggerTime::Clear,
            Trigger::Unmanaged => TriggerTime::Unmanaged,
        };
        harness
    }

    /// The desired endpoints of supported types. A pod has equal attributes in all groups of one key, so that their order
    /// does not matter.
    fn groups(&self, groups: &[DesiredGroup]) -> Vec<DesiredEndpoints> {
        let mut attributes = BTreeMap::new();
        let address_types = groups
            .iter()
            .filter(|group| self.address_types.contains(&group.address_type));
        address_types
            .map(|group| DesiredEndpoints {
                address_type: group.address_type,
                ports: port_key(group.ports),
                endpoints: group
                    .pods
                    .iter()
                    .map(|(pod, random)| {
                        let attributes = attributes
                            .entry((group.address_type, group.ports, *pod))
                            .or_insert(*random);
                        endpoint(group.address_type, *pod, *attributes)
                    })
                    .collect(),
            })
            .collect()
    }

    /// Adds the endpoints of these slices to the desired ones, if their types are supported.
    pub(crate) fn add_desired(&mut self, slices: impl Iterator<Item = CompactSlice>) {
        let desired = |slice: CompactSlice| {
            let (address_type, ports) = key(&slice).filter(|_| self.supports(&slice))?;
            Some(DesiredEndpoints {
                address_type,
                ports,
                endpoints: slice.endpoints,
            })
        };
        let mut desired: Vec<DesiredEndpoints> = slices.filter_map(desired).collect();
        self.desired.append(&mut desired);
    }

    /// A cache that has the nodes and no owners.
    pub(crate) fn cache(&self) -> Cache {
        let mut cache = Cache::default();
        let nodes = self.nodes.iter().flatten().map(|(zone, cpu)| NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(*cpu),
        });
        assert!(cache.set_nodes(nodes).is_empty(), "no owner has hints yet");
        cache
    }

    /// The first plan after a start.
    pub(crate) fn plan(&self) -> Plan {
        self.plan_for(&self.existing, &mut self.cache())
    }

    /// The plan for these existing slices.
    pub(crate) fn plan_for(&self, existing: &[CompactSlice], cache: &mut Cache) -> Plan {
        let request = PlanRequest {
            owner: self.owner,
            partition: self.partition,
            address_types: self.address_types.clone(),
            desired: self.desired.iter().map(DesiredEndpoints::group).collect(),
            existing,
            metadata: &self.metadata,
            hints: self.hints,
            trigger_time: self.trigger_time.clone(),
            name_prefix: "web-",
            reserved_names: &[],
            topology: self.nodes.as_ref().map(|_| cache.entry(&())),
        };
        plan(request, &self.options).expect("only address_types types are desired")
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

    /// Whether a slice is in the partition and not terminating.
    pub(crate) fn is_in_set(&self, slice: &CompactSlice) -> bool {
        slice.metadata.deletion_timestamp.is_none() && self.partition.contains(slice)
    }

    /// Whether a slice is in the set and ours, or may be adopted.
    pub(crate) fn is_ours(&self, slice: &CompactSlice) -> bool {
        let mut references = slice.metadata.owner_references.iter().flatten();
        let ours = match self.options.ownership {
            Ownership::Enforce => self.owner.owns(slice),
            Ownership::Ignore => true,
            Ownership::RebuildOnForeignUid => {
                self.owner.owns(slice) || references.all(|reference| reference.name != self.owner.name)
            }
        };
        ours && self.is_in_set(slice)
    }

    pub(crate) fn supports(&self, slice: &CompactSlice) -> bool {
        let known = slice.address_type.as_ref();
        known.is_ok_and(|known| self.address_types.contains(known))
    }

    /// Desired endpoints of groups with valid ports. Endpoints of rejected groups that slices of another group hold stay
    /// desired there (I4).
    pub(crate) fn publishable_by_key(&self) -> BTreeMap<Key, Vec<&Endpoint>> {
        let mut publishable_by_key = self.desired_by_key();
        publishable_by_key.retain(|(_, ports), _| ports.validate().is_ok());
        let ours = || self.existing.iter().filter(|slice| self.is_ours(slice));
        for (group, endpoints) in &mut publishable_by_key {
            let rejected_endpoints = self.rejected_endpoints(group.0);
            let published = ours().filter(|slice| key(slice).as_ref() == Some(group));
            for published in published.flat_map(|slice| &slice.endpoints) {
                let same = |other: &&&Endpoint| is_same(other, published);
                if !endpoints.iter().any(|other| same(&other)) {
                    endpoints.extend(rejected_endpoints.iter().find(same));
                }
            }
        }
        publishable_by_key
    }

    /// Groups with invalid ports that have endpoints, and how many.
    pub(crate) fn rejected_groups(&self) -> BTreeMap<Key, usize> {
        let desired = self.desired_by_key().into_iter();
        let counted = desired.map(|(key, endpoints)| (key, endpoints.len()));
        counted
            .filter(|((_, ports), endpoints)| ports.validate().is_err() && *endpoints > 0)
            .collect()
    }

    /// The endpoints of groups with invalid ports of this type, in the order of the groups.
    pub(crate) fn rejected_endpoints(&self, address_type: AddressType) -> Vec<&Endpoint> {
        let mut desired = self.desired_by_key();
        desired.retain(|(known, ports), _| *known == address_type && ports.validate().is_err());
        desired.into_values().flatten().collect()
    }

    /// Whether a slice of ours holds endpoints of a rejected group, and its own ports are not desired: it does not change
    /// (I4).
    pub(crate) fn is_retained(&self, slice: &CompactSlice) -> bool {
        let Some(group) = key(slice).filter(|_| self.is_ours(slice) && self.supports(slice)) else {
            return false;
        };
        let rejected_endpoints = self.rejected_endpoints(group.0);
        let mut endpoints = slice.endpoints.iter();
        !self.publishable_by_key().contains_key(&group)
            && endpoints.any(|published| rejected_endpoints.iter().any(|rejected| is_same(rejected, published)))
    }

    /// All desired endpoints by address type and ports, valid or not.
    fn desired_by_key(&self) -> BTreeMap<Key, Vec<&Endpoint>> {
        let mut publishable_by_key: BTreeMap<Key, Vec<&Endpoint>> = BTreeMap::new();
        for desired in &self.desired {
            let endpoints = publishable_by_key
                .entry((desired.address_type, desired.ports.clone()))
                .or_default();
            for endpoint in &desired.endpoints {
                if !endpoints.iter().any(|other| is_same(other, endpoint)) {
                    endpoints.push(endpoint);
                }
            }
        }
        publishable_by_key
    }
}

/// The key of a group: address type and ports.
pub(crate) type Key = (AddressType, PortMapKey);

pub(crate) fn key(slice: &CompactSlice) -> Option<Key> {
    let address_type = slice.address_type.as_ref().ok()?;
    Some((*address_type, slice.ports.clone()))
}

/// Whether two endpoints have the same identity (R76).
pub(crate) fn is_same(a: &Endpoint, b: &Endpoint) -> bool {
    identity(a) == identity(b)
}

/// Sorted addresses, hostname, and namespace and name of the target.
pub(crate) type Identity = (Vec<String>, String, String, String);

/// The identity of an endpoint, independent of the product code.
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

impl DesiredEndpoints {
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
