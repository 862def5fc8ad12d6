//! One address type of one owner: what becomes of its slices.

use std::collections::BTreeMap;

use slice_core::{AddressType, PortMapKey, Slice};

use crate::{
    Changes, Group, MetadataPolicy, Options, Owner, Ownership, Summary, TriggerTime, packing::NewSlice, placeholder,
    reuse::reuse,
};

/// What is decided with.
pub(crate) struct Stage<'a, 'o> {
    pub(crate) owner: Owner<'a>,
    pub(crate) address_type: AddressType,
    pub(crate) policy: &'a MetadataPolicy,
    pub(crate) trigger_time: &'o TriggerTime,
    pub(crate) options: &'o Options,
}

/// What becomes of the slices.
#[derive(Debug, Default)]
pub(crate) struct Outcome<'a> {
    pub(crate) unchanged: Vec<&'a Slice>,
    pub(crate) create: Vec<NewSlice<'a>>,
    pub(crate) update: Vec<Slice>,
    pub(crate) delete: Vec<&'a Slice>,
}

impl<'a> Stage<'a, '_> {
    /// Decides. `existing` are the slices of this type, in the order of their names.
    pub(crate) fn run(
        &self,
        existing: &[&'a Slice],
        groups: BTreeMap<PortMapKey, Group<'a>>,
    ) -> (Outcome<'a>, Summary) {
        let mut summary = Summary::new(self.address_type);
        let mut outcome = Outcome::default();
        let (mut stored, foreign) = self.by_ports(existing);
        let mut doomed = Vec::new();
        for (ports, group) in groups {
            summary.want(group.endpoints.len(), self.options.packing.max());
            let existing = stored.remove(&ports).unwrap_or_default();
            let packed = self
                .options
                .packing
                .pack(&existing, group, self.policy, self.trigger_time);
            summary.changes += packed.changes;
            outcome.unchanged.extend(packed.unchanged);
            outcome.update.extend(packed.update);
            outcome.create.extend(packed.create);
            doomed.extend(packed.delete);
        }
        // Slices of ports that nobody wants (G24).
        doomed.extend(stored.into_values().flatten());
        if self.options.placeholder && outcome.create.is_empty() && doomed.len() + foreign.len() == existing.len() {
            placeholder::provide(self.policy, &mut doomed, &mut outcome);
            summary.slices_needed = 1;
        }
        let reused = reuse(std::mem::take(&mut outcome.create), &doomed, self.policy);
        outcome.create = reused.create;
        outcome.update.extend(reused.update);
        outcome.delete = reused.delete;
        outcome.delete.extend(foreign);
        summary.slices = outcome.unchanged.len() + outcome.update.len() + outcome.create.len();
        (outcome, summary)
    }

    /// Our slices by ports, and those of other owners.
    fn by_ports(&self, existing: &[&'a Slice]) -> (BTreeMap<PortMapKey, Vec<&'a Slice>>, Vec<&'a Slice>) {
        let mut ours: BTreeMap<PortMapKey, Vec<&'a Slice>> = BTreeMap::new();
        let mut foreign = Vec::new();
        for slice in existing {
            if self.options.ownership == Ownership::Ignore || self.owner.owns(slice) {
                ours.entry(slice.ports.clone()).or_default().push(slice);
            } else {
                foreign.push(*slice);
            }
        }
        (ours, foreign)
    }
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

impl std::ops::AddAssign for Changes {
    fn add_assign(&mut self, more: Self) {
        self.added += more.added;
        self.removed += more.removed;
        self.changed += more.changed;
    }
}
