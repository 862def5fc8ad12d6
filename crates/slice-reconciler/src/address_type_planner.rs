//! Plans the slices of one owner and address type.

use std::collections::BTreeMap;

use slice_core::{AddressType, CompactSlice, EndpointSource, PortMapKey};

use crate::{
    EndpointCounts, Group, MetadataPolicy, Owner, PlanOptions, PlanStats, Rejected,
    lists::{SliceChanges, SliceUpdate},
    placeholder::ensure_placeholder,
    reuse::reuse,
    validate::Validator,
};

/// The planner of one owner and address type.
pub(crate) struct AddressTypePlanner<'a, 'o> {
    pub(crate) owner: Owner<'a>,
    pub(crate) address_type: AddressType,
    pub(crate) policy: &'o MetadataPolicy,
    pub(crate) options: &'o PlanOptions,
}

/// Our slices by ports, and slices of other owners.
type ByPorts<'a> = (BTreeMap<PortMapKey, Vec<&'a CompactSlice>>, Vec<&'a CompactSlice>);

impl<'a> AddressTypePlanner<'a, '_> {
    /// Plans the slices of this address type. `existing` is sorted by name.
    ///
    /// 1. Split the existing slices into ours, by ports, and those of other owners.
    /// 2. Reject groups with invalid ports. Their published endpoints stay in the slices that hold them.
    /// 3. Pack each group into the existing slices with its ports.
    /// 4. Delete slices whose ports are not desired (G24), except those that hold endpoints of a rejected group.
    /// 5. Keep or create a placeholder if no slice would remain.
    /// 6. Adopt: update slices that lack only our owner reference.
    /// 7. Reuse: update slices that would be deleted in place of creating new ones.
    /// 8. Delete the slices of other owners.
    pub(crate) fn plan<E: EndpointSource>(
        &self,
        existing: &[&'a CompactSlice],
        desired: BTreeMap<PortMapKey, Group<E>>,
        rejected: &mut Vec<Rejected>,
    ) -> (SliceChanges<'a, E>, PlanStats) {
        let mut stats = PlanStats::new(self.address_type);
        let mut changes = SliceChanges::default();
        // 1. Split the existing slices.
        let (mut by_ports, foreign) = self.split_by_ports(existing);
        // 2. Reject groups with invalid ports.
        let (groups, invalid_groups) = self.split_invalid(desired, rejected);
        // 3. Pack.
        let packing = self.options.packing;
        for mut group in groups {
            let existing = by_ports.remove(&group.ports).unwrap_or_default();
            let desired = group.endpoints.len();
            keep_published(&mut group, &existing, &invalid_groups);
            let mut validator = Validator::new(self.address_type);
            changes.append(packing.pack(&existing, group, self.policy, &mut validator));
            stats.add_group(desired.saturating_sub(validator.rejected.len()), packing.max());
            rejected.append(&mut validator.rejected);
        }
        stats.changes = changes.counts;
        // 4. Delete slices whose ports are not desired.
        let undesired = by_ports.into_values().flatten();
        let (retained, delete): (Vec<_>, Vec<_>) = undesired.partition(|slice| contains_any(slice, &invalid_groups));
        changes.to_delete.extend(delete);
        // 5. Keep or create a placeholder.
        if self.options.placeholder {
            stats.min_slices = stats.min_slices.max(1);
            if changes.to_create.is_empty() && changes.to_delete.len() + foreign.len() == existing.len() {
                ensure_placeholder(self.policy, &mut changes);
            }
        }
        // 6. Adopt.
        self.adopt(&mut changes);
        // 7. Reuse.
        reuse(&mut changes, self.policy);
        // 8. Delete the slices of other owners.
        changes.to_delete.extend(foreign);
        stats.slices = changes.unchanged.len() + changes.to_update.len() + changes.to_create.len() + retained.len();
        (changes, stats)
    }

    /// Separates groups with invalid ports, and reports those that have endpoints.
    fn split_invalid<E: EndpointSource>(
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

    fn adopt<E: EndpointSource>(&self, changes: &mut SliceChanges<'a, E>) {
        let to_update = &mut changes.to_update;
        changes.unchanged.retain(|slice| {
            let adopt = self.options.ownership.needs_owner_reference(&self.owner, slice);
            if adopt {
                to_update.push(SliceUpdate::unchanged(slice));
            }
            !adopt
        });
    }

    fn split_by_ports(&self, existing: &[&'a CompactSlice]) -> ByPorts<'a> {
        let mut ours: BTreeMap<PortMapKey, Vec<&'a CompactSlice>> = BTreeMap::new();
        let mut foreign = Vec::new();
        for slice in existing {
            if self.options.ownership.accepts(&self.owner, slice) {
                ours.entry(slice.ports.clone()).or_default().push(slice);
            } else {
                foreign.push(*slice);
            }
        }
        (ours, foreign)
    }
}

/// Adds endpoints of rejected groups that the slices of this group publish. Otherwise they would disappear from all slices
/// although they are desired (I4), also if another group publishes them: each group of ports needs its endpoints separately.
fn keep_published<E: EndpointSource>(group: &mut Group<E>, existing: &[&CompactSlice], invalid_groups: &[Group<E>]) {
    if invalid_groups.is_empty() {
        return;
    }
    for endpoint in existing.iter().flat_map(|slice| &slice.endpoints) {
        if !group.endpoints.contains(&endpoint) {
            let desired = invalid_groups
                .iter()
                .find_map(|invalid| invalid.endpoints.get(&endpoint));
            group.endpoints.extend(desired);
        }
    }
}

/// Whether a slice contains endpoints of these groups.
fn contains_any(slice: &CompactSlice, groups: &[Group<impl EndpointSource>]) -> bool {
    let mut endpoints = slice.endpoints.iter();
    !groups.is_empty() && endpoints.any(|endpoint| groups.iter().any(|group| group.endpoints.contains(&endpoint)))
}

impl PlanStats {
    fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            changes: EndpointCounts::default(),
            desired_endpoints: 0,
            slices: 0,
            min_slices: 0,
        }
    }

    fn add_group(&mut self, endpoints: usize, max: usize) {
        self.desired_endpoints += endpoints;
        self.min_slices += endpoints.div_ceil(max);
    }
}
