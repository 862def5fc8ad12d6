//! The writes of a plan and their dependencies.

use std::fmt;

use slice_core::{AddressType, CompactSlice, EndpointSet, EndpointSource};

use crate::{
    PlanStats,
    builder::SliceBuilder,
    lists::SliceUpdate,
    order::{self, Step},
    planned::PlannedSlice,
};

/// One write and its dependencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The API request.
    pub operation: Operation,
    /// Indices of the writes it depends on: they add endpoints elsewhere that this write removes. Send it only after all of
    /// them succeeded.
    pub depends_on: Vec<usize>,
}

/// A create, update or delete of one slice.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Create the slice.
    Create(CompactSlice),
    /// Replace the slice. The resourceVersion in its metadata is the precondition.
    Update(CompactSlice),
    /// Delete the slice, with preconditions.
    Delete(DeleteSlice),
}

impl Operation {
    /// Applies the operation to slices in memory, as an API server would: for simulations and tests.
    pub fn apply_to(&self, slices: &mut Vec<CompactSlice>) {
        match self {
            Self::Create(new) => slices.push(new.clone()),
            Self::Update(new) => {
                let mut existing = slices.iter_mut();
                if let Some(old) = existing.find(|slice| slice.metadata.name == new.metadata.name) {
                    old.clone_from(new);
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

/// A slice to delete, with uid and resourceVersion as preconditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeleteSlice {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Precondition: its uid.
    pub uid: Option<String>,
    /// Precondition: its resourceVersion in the cache.
    pub resource_version: Option<String>,
}

/// Planned writes before they are ordered.
#[derive(Debug)]
pub(crate) struct UnorderedWrites<'a, E: EndpointSource> {
    pub(crate) to_create: Vec<PlannedSlice<'a, E>>,
    pub(crate) to_update: Vec<SliceUpdate<'a, E>>,
    pub(crate) to_delete: Vec<&'a CompactSlice>,
    /// Slices to delete because the owner no longer has their address type.
    pub(crate) unsupported: Vec<&'a CompactSlice>,
}

impl<E: EndpointSource> UnorderedWrites<'_, E> {
    /// Orders the writes: creates, updates, deletes, and each after its dependencies. Slices that are created only to break a
    /// cycle are added to the stats.
    pub(crate) fn into_ordered(
        mut self,
        one_per_group: bool,
        builder: &mut SliceBuilder<'_>,
        stats: &mut [PlanStats],
    ) -> Vec<Write> {
        if builder.owner.terminating {
            return self.into_writes_for_terminating_owner();
        }
        loop {
            let dependencies = order::dependencies(&self.steps());
            match order::topological_sort(&dependencies) {
                Ok(sorted) => return self.into_writes(&sorted, &dependencies),
                Err(cyclic) => {
                    let created = self.break_cycle(cyclic - self.to_create.len(), one_per_group, builder);
                    for stats in stats.iter_mut().filter(|stats| Some(stats.address_type) == created) {
                        stats.slices += 1;
                    }
                }
            }
        }
    }

    /// The writes for a terminating owner: no creates (R107). Updates that would have to wait for a create are omitted, so
    /// that no published endpoint is missing (I4); deletes do not wait for creates.
    fn into_writes_for_terminating_owner(self) -> Vec<Write> {
        let creates = self.to_create.len();
        let first_delete = creates + self.to_update.len();
        let mut dependencies = order::dependencies(&self.steps());
        for dependencies in &mut dependencies[first_delete..] {
            dependencies.retain(|other| *other >= creates);
        }
        let sorted = order::topological_sort_without_first(&dependencies, creates);
        self.into_writes(&sorted, &dependencies)
    }

    fn steps(&self) -> Vec<Step<'_, E>> {
        let step = |before, after, removes_address_type| Step {
            before,
            after,
            removes_address_type,
        };
        let creates = self.to_create.iter();
        let creates = creates.map(|slice| step(&[][..], &slice.endpoints[..], false));
        let updates = self.to_update.iter();
        let updates = updates.map(|update| step(&update.existing.endpoints[..], &update.planned.endpoints[..], false));
        let deletes = self.to_delete.iter();
        let deletes = deletes.map(|slice| step(&slice.endpoints[..], &[][..], false));
        let unsupported = self.unsupported.iter();
        let unsupported = unsupported.map(|slice| step(&slice.endpoints[..], &[][..], true));
        creates.chain(updates).chain(deletes).chain(unsupported).collect()
    }

    /// Breaks a cycle of updates that move endpoints among each other: the endpoints that one of them adds go into a new
    /// slice, which has no dependencies. Returns the address type if the number of slices grows.
    fn break_cycle(
        &mut self,
        index: usize,
        one_per_group: bool,
        builder: &mut SliceBuilder<'_>,
    ) -> Option<AddressType> {
        let SliceUpdate { existing, planned } = &mut self.to_update[index];
        let Ok(address_type) = planned.address_type else {
            return None;
        };
        if one_per_group || existing.ports != planned.ports {
            let SliceUpdate { existing, planned } = self.to_update.remove(index);
            self.to_create
                .push(builder.new_slice(address_type, planned.ports, planned.endpoints));
            self.to_delete.push(existing);
            return None;
        }
        let mut published = EndpointSet::with_capacity(existing.endpoints.len());
        published.extend(&existing.endpoints);
        let (unmoved, added): (Vec<_>, Vec<_>) = std::mem::take(&mut planned.endpoints)
            .into_iter()
            .partition(|endpoint| published.contains(endpoint));
        if unmoved.is_empty() {
            let SliceUpdate { existing, planned } = self.to_update.remove(index);
            self.to_delete.push(existing);
            self.to_create
                .push(builder.new_slice(address_type, planned.ports, added));
            return None;
        }
        planned.endpoints = unmoved;
        let ports = planned.ports.clone();
        self.to_create.push(builder.new_slice(address_type, ports, added));
        Some(address_type)
    }

    fn into_writes(self, sorted: &[usize], dependencies: &[Vec<usize>]) -> Vec<Write> {
        let creates = self.to_create.into_iter();
        let creates = creates.map(|planned| Operation::Create(planned.into_slice()));
        let updates = self.to_update.into_iter();
        let updates = updates.map(|update| Operation::Update(update.planned.into_slice()));
        let deletes = self.to_delete.into_iter().chain(self.unsupported);
        let deletes = deletes.map(|slice| Operation::Delete(DeleteSlice::from_slice(slice)));
        let mut operations: Vec<Option<Operation>> = creates.chain(updates).chain(deletes).map(Some).collect();
        let mut position = vec![0; operations.len()];
        for (now, before) in sorted.iter().enumerate() {
            position[*before] = now;
        }
        let write = |index: &usize| {
            let depends_on = dependencies[*index].iter().map(|other| position[*other]).collect();
            operations[*index]
                .take()
                .map(|operation| Write { operation, depends_on })
        };
        sorted.iter().filter_map(write).collect()
    }
}

impl DeleteSlice {
    pub(crate) fn from_slice(slice: &CompactSlice) -> Self {
        Self {
            namespace: slice.metadata.namespace.clone().unwrap_or_default(),
            name: slice.metadata.name.clone().unwrap_or_default(),
            uid: slice.metadata.uid.clone(),
            resource_version: slice.metadata.resource_version.clone(),
        }
    }
}
