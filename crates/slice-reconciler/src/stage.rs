//! One address type of one owner: what becomes of its slices.

use std::collections::BTreeMap;

use slice_core::{AddressType, EndpointSource, PortMapKey, Slice};

use crate::{
    Changes, Group, LeftOut, MetadataPolicy, Options, Owner, Summary,
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
    pub(crate) options: &'o Options,
}

/// Our slices by ports, and those of other owners.
type ByPorts<'a> = (BTreeMap<PortMapKey, Vec<&'a Slice>>, Vec<&'a Slice>);

impl<'a> Stage<'a, '_> {
    /// Decides. `existing` are the slices of this type, in the order of their names.
    pub(crate) fn run<E: EndpointSource>(
        &self,
        existing: &[&'a Slice],
        groups: BTreeMap<PortMapKey, Group<E>>,
        left_out: &mut Vec<LeftOut>,
    ) -> (SliceChanges<'a, E>, Summary) {
        let mut summary = Summary::new(self.address_type);
        let mut slices = SliceChanges::default();
        let (mut stored, foreign) = self.by_ports(existing);
        let (groups, barred) = self.bar(groups, left_out);
        for mut group in groups {
            let existing = stored.remove(&group.ports).unwrap_or_default();
            let wanted = group.endpoints.len();
            retain_barred(&mut group, &existing, &barred);
            let mut sieve = Sieve::new(self.address_type);
            slices.append(self.options.packing.pack(&existing, group, self.policy, &mut sieve));
            summary.want(wanted.saturating_sub(sieve.left_out.len()), self.options.packing.max());
            left_out.append(&mut sieve.left_out);
        }
        summary.changes = slices.changes;
        // Slices of ports that are not desired (G24).
        let unwanted = stored.into_values().flatten();
        let (spared, unwanted): (Vec<_>, Vec<_>) = unwanted.partition(|slice| holds_any(slice, &barred));
        slices.delete.extend(unwanted);
        if self.options.placeholder {
            summary.slices_needed = summary.slices_needed.max(1);
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
        left_out: &mut Vec<LeftOut>,
    ) -> (Vec<Group<E>>, Vec<Group<E>>) {
        groups.into_values().partition(|group| {
            let Err(why) = group.ports.publishable() else {
                return true;
            };
            if !group.endpoints.is_empty() {
                left_out.push(LeftOut::Group {
                    address_type: self.address_type,
                    ports: group.ports.clone(),
                    endpoints: group.endpoints.len(),
                    why,
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
    fn by_ports(&self, existing: &[&'a Slice]) -> ByPorts<'a> {
        let mut ours: BTreeMap<PortMapKey, Vec<&'a Slice>> = BTreeMap::new();
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
fn retain_barred<E: EndpointSource>(group: &mut Group<E>, existing: &[&Slice], barred: &[Group<E>]) {
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
fn holds_any(slice: &Slice, barred: &[Group<impl EndpointSource>]) -> bool {
    let mut endpoints = slice.endpoints.iter();
    !barred.is_empty() && endpoints.any(|endpoint| barred.iter().any(|group| group.endpoints.contains(&endpoint)))
}

impl Summary {
    fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            changes: Changes::default(),
            endpoints: 0,
            slices: 0,
            slices_needed: 0,
        }
    }

    fn want(&mut self, endpoints: usize, max: usize) {
        self.endpoints += endpoints;
        self.slices_needed += endpoints.div_ceil(max);
    }
}
