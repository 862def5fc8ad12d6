//! One address type of one owner: what becomes of its slices.

use std::collections::BTreeMap;

use slice_core::{AddressType, CompactSlice, EndpointSource, PortMapKey};

use crate::{
    EndpointCounts, Group, MetadataPolicy, Owner, PlanOptions, PlanStats, Rejected,
    check::Sieve,
    lists::{SliceChanges, Update},
    placeholder,
    reuse::reuse,
};

/// What is decided with.
pub(crate) struct Stage<'a, 'o> {
    pub(crate) owner: Owner<'a>,
    pub(crate) address_type: AddressType,
    pub(crate) policy: &'o MetadataPolicy,
    pub(crate) options: &'o PlanOptions,
}

/// Our slices by ports, and those of other owners.
type ByPorts<'a> = (BTreeMap<PortMapKey, Vec<&'a CompactSlice>>, Vec<&'a CompactSlice>);

impl<'a> Stage<'a, '_> {
    /// Decides. `existing` are the slices of this type, in the order of their names.
    pub(crate) fn run<E: EndpointSource>(
        &self,
        existing: &[&'a CompactSlice],
        groups: BTreeMap<PortMapKey, Group<E>>,
        rejected: &mut Vec<Rejected>,
    ) -> (SliceChanges<'a, E>, PlanStats) {
        let mut summary = PlanStats::new(self.address_type);
        let mut slices = SliceChanges::default();
        let (mut stored, foreign) = self.by_ports(existing);
        let (groups, barred) = self.bar(groups, rejected);
        for mut group in groups {
            let existing = stored.remove(&group.ports).unwrap_or_default();
            let wanted = group.endpoints.len();
            retain_barred(&mut group, &existing, &barred);
            let mut sieve = Sieve::new(self.address_type);
            slices.append(self.options.packing.pack(&existing, group, self.policy, &mut sieve));
            summary.want(wanted.saturating_sub(sieve.rejected.len()), self.options.packing.max());
            rejected.append(&mut sieve.rejected);
        }
        summary.changes = slices.changes;
        // Slices of ports that are not desired (G24).
        let unwanted = stored.into_values().flatten();
        let (spared, unwanted): (Vec<_>, Vec<_>) = unwanted.partition(|slice| holds_any(slice, &barred));
        slices.delete.extend(unwanted);
        if self.options.placeholder {
            summary.min_slices = summary.min_slices.max(1);
            if slices.create.is_empty() && slices.delete.len() + foreign.len() == existing.len() {
                placeholder::provide(self.policy, &mut slices);
            }
        }
        self.adopt(&mut slices);
        reuse(&mut slices, self.policy);
        slices.delete.extend(foreign);
        summary.slices = slices.unchanged.len() + slices.update.len() + slices.create.len() + spared.len();
        (slices, summary)
    }

    /// Sets those groups apart whose ports no slice may have. One that nobody is in is no news.
    fn bar<E: EndpointSource>(
        &self,
        groups: BTreeMap<PortMapKey, Group<E>>,
        rejected: &mut Vec<Rejected>,
    ) -> (Vec<Group<E>>, Vec<Group<E>>) {
        groups.into_values().partition(|group| {
            let Err(reason) = group.ports.validate() else {
                return true;
            };
            if !group.endpoints.is_empty() {
                rejected.push(Rejected::Group {
                    address_type: self.address_type,
                    ports: group.ports.clone(),
                    endpoints: group.endpoints.len(),
                    reason,
                });
            }
            false
        })
    }

    /// Writes those slices too that need nothing but our owner reference.
    fn adopt<E: EndpointSource>(&self, slices: &mut SliceChanges<'a, E>) {
        let SliceChanges { unchanged, update, .. } = slices;
        unchanged.retain(|slice| {
            let differs = self.options.ownership.differs(&self.owner, slice);
            if differs {
                update.push(Update::unchanged(slice));
            }
            !differs
        });
    }

    /// Our slices by ports, and those of other owners.
    fn by_ports(&self, existing: &[&'a CompactSlice]) -> ByPorts<'a> {
        let mut ours: BTreeMap<PortMapKey, Vec<&'a CompactSlice>> = BTreeMap::new();
        let mut foreign = Vec::new();
        for slice in existing {
            if self.options.ownership.takes(&self.owner, slice) {
                ours.entry(slice.ports.clone()).or_default().push(slice);
            } else {
                foreign.push(*slice);
            }
        }
        (ours, foreign)
    }
}

/// Lets slices of a group keep what a group wants that was left out for its ports: without it they would be gone from all
/// slices, although they are still wanted (I4). So they stay where they are until they can be published as they should: also
/// those that another group publishes, because with other ports that is other traffic.
fn retain_barred<E: EndpointSource>(group: &mut Group<E>, existing: &[&CompactSlice], barred: &[Group<E>]) {
    if barred.is_empty() {
        return;
    }
    for endpoint in existing.iter().flat_map(|slice| &slice.endpoints) {
        if !group.endpoints.contains(&endpoint) {
            let wanted = barred.iter().find_map(|barred| barred.endpoints.get(&endpoint));
            group.endpoints.extend(wanted);
        }
    }
}

/// Whether a slice of ports that nobody wants holds endpoints of a group that was left out for its ports: then it stays, for the
/// same reason.
fn holds_any(slice: &CompactSlice, barred: &[Group<impl EndpointSource>]) -> bool {
    let mut endpoints = slice.endpoints.iter();
    !barred.is_empty() && endpoints.any(|endpoint| barred.iter().any(|group| group.endpoints.contains(&endpoint)))
}

impl PlanStats {
    fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            changes: EndpointCounts::default(),
            endpoints: 0,
            slices: 0,
            min_slices: 0,
        }
    }

    fn want(&mut self, endpoints: usize, max: usize) {
        self.endpoints += endpoints;
        self.min_slices += endpoints.div_ceil(max);
    }
}
