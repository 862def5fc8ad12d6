//! The writes of a plan, and the order among them.

use std::{fmt, sync::Arc};

use slice_core::{AddressType, Endpoint, EndpointSet, Slice, Text};

use crate::{
    Summary,
    builder::Builder,
    order::{self, Step},
};

/// One write, and what has to happen before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Write<T = Arc<str>> {
    /// What is to be done.
    pub operation: Operation<T>,
    /// Writes of the same plan, by their place in it, that put elsewhere what this one takes away. It may only be sent when all
    /// of them have succeeded.
    pub after: Vec<usize>,
}

/// What is done to one slice.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<T = Arc<str>> {
    /// Create it.
    Create(Slice<T>),
    /// Replace it; the metadata holds the version that it replaces.
    Update(Slice<T>),
    /// Delete it, if it is still the one that was seen.
    Delete(Deletion),
}

impl<T: Text> Operation<T> {
    /// Does to slices in memory what an API server does to those it stores: for simulations, and for tests of what comes next.
    pub fn apply_to(&self, slices: &mut Vec<Slice<T>>) {
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

impl<T> fmt::Display for Operation<T> {
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
pub struct Deletion {
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
pub(crate) struct Pending<'a, T> {
    pub(crate) create: Vec<Slice<T>>,
    pub(crate) update: Vec<(&'a Slice<T>, Slice<T>)>,
    pub(crate) delete: Vec<&'a Slice<T>>,
    /// Slices to delete because the owner no longer has their address type.
    pub(crate) unsupported: Vec<&'a Slice<T>>,
}

impl<T> Default for Pending<'_, T> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            update: Vec::new(),
            delete: Vec::new(),
            unsupported: Vec::new(),
        }
    }
}

impl<T: Text> Pending<'_, T> {
    /// Puts the writes in order: creates, updates, deletes, and each after those it waits for. Slices that only the order needs
    /// are added to the summaries.
    pub(crate) fn into_writes(
        mut self,
        one_per_group: bool,
        builder: &mut Builder<'_>,
        summaries: &mut [Summary],
    ) -> Vec<Write<T>> {
        if builder.owner.terminating {
            return self.into_writes_of_existing();
        }
        loop {
            let waits = order::dependencies(&self.steps());
            match order::sort(&waits) {
                Ok(sorted) => return self.write(&sorted, &waits),
                Err(stuck) => {
                    let more = self.untangle(stuck - self.create.len(), one_per_group, builder);
                    for summary in summaries
                        .iter_mut()
                        .filter(|summary| Some(summary.address_type) == more)
                    {
                        summary.slices += 1;
                    }
                }
            }
        }
    }

    /// The writes for an owner that is going away: it gets nothing new (R107). No slice of its own gives away then what would
    /// have to be in something new first (I4); slices that it should not have go all the same.
    fn into_writes_of_existing(self) -> Vec<Write<T>> {
        let creates = self.create.len();
        let deletes = creates + self.update.len();
        let mut waits = order::dependencies(&self.steps());
        for waits in &mut waits[deletes..] {
            waits.retain(|other| *other >= creates);
        }
        let sorted = order::sort_without_first(&waits, creates);
        self.write(&sorted, &waits)
    }

    fn steps(&self) -> Vec<Step<'_, T>> {
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
            .map(|(from, to)| step(&from.endpoints[..], &to.endpoints[..], false));
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
        let (from, to) = &mut self.update[stuck];
        let Ok(address_type) = to.address_type else {
            return None;
        };
        if one_per_group || from.ports != to.ports {
            let (from, to) = self.update.remove(stuck);
            self.create
                .push(builder.new_slice(address_type, to.ports, to.endpoints));
            self.delete.push(from);
            return None;
        }
        let mut held = EndpointSet::with_capacity(from.endpoints.len());
        held.extend(from.endpoints.iter().map(Endpoint::view));
        let (kept, taken) = std::mem::take(&mut to.endpoints)
            .into_iter()
            .partition(|e| held.contains(&e));
        let kept: Vec<Endpoint<T>> = kept;
        if kept.is_empty() {
            let (from, to) = self.update.remove(stuck);
            self.delete.push(from);
            self.create.push(builder.new_slice(address_type, to.ports, taken));
            return None;
        }
        to.endpoints = kept;
        let ports = to.ports.clone();
        self.create.push(builder.new_slice(address_type, ports, taken));
        Some(address_type)
    }

    fn write(self, sorted: &[usize], waits: &[Vec<usize>]) -> Vec<Write<T>> {
        let create = self.create.into_iter().map(Operation::Create);
        let update = self.update.into_iter().map(|(_, to)| Operation::Update(to));
        let delete = self
            .delete
            .into_iter()
            .chain(self.unsupported)
            .map(|slice| Operation::Delete(Deletion::of(slice)));
        let mut operations: Vec<Option<Operation<T>>> = create.chain(update).chain(delete).map(Some).collect();
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

impl Deletion {
    pub(crate) fn of<T>(slice: &Slice<T>) -> Self {
        Self {
            namespace: slice.metadata.namespace.clone().unwrap_or_default(),
            name: slice.metadata.name.clone().unwrap_or_default(),
            uid: slice.metadata.uid.clone(),
            resource_version: slice.metadata.resource_version.clone(),
        }
    }
}
