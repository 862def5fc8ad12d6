//! The writes of a plan, and the order among them.

use std::fmt;

use slice_core::{AddressType, CompactSlice, EndpointSet, EndpointSource};

use crate::{
    PlanStats,
    builder::Builder,
    lists::Update,
    order::{self, Step},
    planned::PlannedSlice,
};

/// One write, and what has to happen before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What is to be done.
    pub operation: Operation,
    /// Writes of the same plan, by their place in it, that put elsewhere what this one takes away. It may only be sent when all
    /// of them have succeeded.
    pub after: Vec<usize>,
}

/// What is done to one slice.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Create it.
    Create(CompactSlice),
    /// Replace it; the metadata holds the version that it replaces.
    Update(CompactSlice),
    /// Delete it, if it is still the one that was seen.
    Delete(DeleteSlice),
}

impl Operation {
    /// Does to slices in memory what an API server does to those it stores: for simulations, and for tests of what comes next.
    pub fn apply_to(&self, slices: &mut Vec<CompactSlice>) {
        match self {
            Self::Create(new) => slices.push(new.clone()),
            Self::Update(to) => {
                let mut stored = slices.iter_mut();
                if let Some(from) = stored.find(|slice| slice.metadata.name == to.metadata.name) {
                    from.clone_from(to);
                }
            }
            Self::Delete(deletion) => slices.retain(|slice| slice.metadata.name.as_ref() != Some(&deletion.name)),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, slice) = match self {
            Self::Create(slice) => ("create", slice),
            Self::Update(slice) => ("update", slice),
            Self::Delete(deletion) => return write!(f, "delete {}", deletion.name),
        };
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        write!(f, "{verb} {name} with {} endpoints", slice.endpoints.len())
    }
}

/// Which slice is deleted, at which version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeleteSlice {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, if it was stored.
    pub uid: Option<String>,
    /// The version that was seen.
    pub resource_version: Option<String>,
}

/// Writes that are not in order yet.
#[derive(Debug)]
pub(crate) struct Pending<'a, E: EndpointSource> {
    pub(crate) create: Vec<PlannedSlice<'a, E>>,
    pub(crate) update: Vec<Update<'a, E>>,
    pub(crate) delete: Vec<&'a CompactSlice>,
    /// Slices to delete because the owner no longer has their address type.
    pub(crate) unsupported: Vec<&'a CompactSlice>,
}

impl<E: EndpointSource> Default for Pending<'_, E> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            update: Vec::new(),
            delete: Vec::new(),
            unsupported: Vec::new(),
        }
    }
}

impl<E: EndpointSource> Pending<'_, E> {
    /// Puts the writes in order: creates, updates, deletes, and each after those it waits for. Slices that only the order needs
    /// are added to the stats.
    pub(crate) fn into_writes(
        mut self,
        one_per_group: bool,
        builder: &mut Builder<'_>,
        stats: &mut [PlanStats],
    ) -> Vec<Write> {
        if builder.owner.terminating {
            return self.into_writes_of_existing();
        }
        loop {
            let waits = order::dependencies(&self.steps());
            match order::sort(&waits) {
                Ok(sorted) => return self.write(&sorted, &waits),
                Err(stuck) => {
                    let more = self.untangle(stuck - self.create.len(), one_per_group, builder);
                    for summary in stats.iter_mut().filter(|summary| Some(summary.address_type) == more) {
                        summary.slices += 1;
                    }
                }
            }
        }
    }

    /// The writes for an owner that is going away: it gets nothing new (R107). No slice of its own gives away then what would
    /// have to be in something new first (I4); slices that it should not have go all the same.
    fn into_writes_of_existing(self) -> Vec<Write> {
        let creates = self.create.len();
        let deletes = creates + self.update.len();
        let mut waits = order::dependencies(&self.steps());
        for waits in &mut waits[deletes..] {
            waits.retain(|other| *other >= creates);
        }
        let sorted = order::sort_without_first(&waits, creates);
        self.write(&sorted, &waits)
    }

    fn steps(&self) -> Vec<Step<'_, E>> {
        let step = |before, after, leaves_type| Step {
            before,
            after,
            leaves_type,
        };
        let create = self
            .create
            .iter()
            .map(|slice| step(&[][..], &slice.endpoints[..], false));
        let update = self
            .update
            .iter()
            .map(|update| step(&update.from.endpoints[..], &update.to.endpoints[..], false));
        let delete = self
            .delete
            .iter()
            .map(|slice| step(&slice.endpoints[..], &[][..], false));
        let unsupported = self
            .unsupported
            .iter()
            .map(|slice| step(&slice.endpoints[..], &[][..], true));
        create.chain(update).chain(delete).chain(unsupported).collect()
    }

    /// Slices that take endpoints from each other cannot both be written first. What one of them was to take goes into a new
    /// slice, which waits for nobody. Answers the type of that slice if there is one more then.
    fn untangle(&mut self, stuck: usize, one_per_group: bool, builder: &mut Builder<'_>) -> Option<AddressType> {
        let Update { from, to } = &mut self.update[stuck];
        let Ok(address_type) = to.address_type else {
            return None;
        };
        if one_per_group || from.ports != to.ports {
            let Update { from, to } = self.update.remove(stuck);
            self.create
                .push(builder.new_slice(address_type, to.ports, to.endpoints));
            self.delete.push(from);
            return None;
        }
        let mut held = EndpointSet::with_capacity(from.endpoints.len());
        held.extend(&from.endpoints);
        let (kept, taken): (Vec<_>, Vec<_>) = std::mem::take(&mut to.endpoints)
            .into_iter()
            .partition(|endpoint| held.contains(endpoint));
        if kept.is_empty() {
            let Update { from, to } = self.update.remove(stuck);
            self.delete.push(from);
            self.create.push(builder.new_slice(address_type, to.ports, taken));
            return None;
        }
        to.endpoints = kept;
        let ports = to.ports.clone();
        self.create.push(builder.new_slice(address_type, ports, taken));
        Some(address_type)
    }

    fn write(self, sorted: &[usize], waits: &[Vec<usize>]) -> Vec<Write> {
        let create = self.create.into_iter();
        let create = create.map(|planned| Operation::Create(planned.into_slice()));
        let update = self.update.into_iter();
        let update = update.map(|update| Operation::Update(update.to.into_slice()));
        let delete = self
            .delete
            .into_iter()
            .chain(self.unsupported)
            .map(|slice| Operation::Delete(DeleteSlice::of(slice)));
        let mut operations: Vec<Option<Operation>> = create.chain(update).chain(delete).map(Some).collect();
        let mut place = vec![0; operations.len()];
        for (now, before) in sorted.iter().enumerate() {
            place[*before] = now;
        }
        let write = |index: &usize| {
            let after = waits[*index].iter().map(|other| place[*other]).collect();
            operations[*index].take().map(|operation| Write { operation, after })
        };
        sorted.iter().filter_map(write).collect()
    }
}

impl DeleteSlice {
    pub(crate) fn of(slice: &CompactSlice) -> Self {
        Self {
            namespace: slice.metadata.namespace.clone().unwrap_or_default(),
            name: slice.metadata.name.clone().unwrap_or_default(),
            uid: slice.metadata.uid.clone(),
            resource_version: slice.metadata.resource_version.clone(),
        }
    }
}
