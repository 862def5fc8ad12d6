//! Matching of existing slices with the desired endpoints of their group.

use slice_core::{CompactSlice, Endpoint, EndpointSet, EndpointSource, TargetView};

use crate::{planned::PlannedEndpoint, validate::Validator};

/// The endpoints of one existing slice that are still desired. Reused for all slices of a group, so that matching an
/// unchanged slice does not allocate.
#[derive(Debug)]
pub(super) struct SliceMatch<'a, E: EndpointSource> {
    endpoints: Vec<EndpointMatch<'a, E>>,
    /// Endpoints that are not desired, duplicates included.
    pub(super) removed: usize,
    /// Endpoints with other attributes.
    pub(super) changed: usize,
}

#[derive(Debug)]
struct EndpointMatch<'a, E: EndpointSource> {
    existing: &'a Endpoint,
    desired: E,
    equal: bool,
}

impl<E: EndpointSource> Default for SliceMatch<'_, E> {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            removed: 0,
            changed: 0,
        }
    }
}

impl<'a, E: EndpointSource> SliceMatch<'a, E> {
    /// Matches a slice, and removes its endpoints from the desired set (R80 step 1).
    pub(super) fn match_slice(&mut self, slice: &'a CompactSlice, desired: &mut EndpointSet<E>) {
        self.endpoints.clear();
        self.endpoints.reserve(slice.endpoints.len());
        for existing in &slice.endpoints {
            if let Some(desired) = desired.remove(existing) {
                let equal = desired.equals_beyond_identity(existing);
                self.endpoints.push(EndpointMatch {
                    existing,
                    desired,
                    equal,
                });
            }
        }
        self.removed = slice.endpoints.len() - self.endpoints.len();
        self.changed = self.endpoints.iter().filter(|matched| !matched.equal).count();
    }

    /// Drops invalid endpoints, before the slice is written.
    pub(super) fn drop_invalid(&mut self, validator: &mut Validator) {
        let before = self.endpoints.len();
        // Equal endpoints are validated in their existing form, which is in the CPU cache.
        self.endpoints.retain(|matched| {
            if matched.equal {
                validator.accept(matched.existing)
            } else {
                validator.accept(&matched.desired)
            }
        });
        self.removed += before - self.endpoints.len();
        self.changed = self.endpoints.iter().filter(|matched| !matched.equal).count();
    }

    pub(super) fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Whether the slice has exactly the desired endpoints.
    pub(super) fn is_unchanged(&self) -> bool {
        self.removed == 0 && self.changed == 0
    }

    /// The first `max` endpoints to write. Hints are assigned later.
    pub(super) fn take(&self, max: usize) -> Vec<PlannedEndpoint<'a, E>> {
        let matched = self.endpoints.iter().take(max);
        // Capacity for endpoints that usually replace the removed ones.
        let mut planned = Vec::with_capacity(max.min(matched.len() + self.removed));
        planned.extend(matched.map(EndpointMatch::to_planned));
        planned
    }

    /// The endpoints beyond `max`, which move to other slices.
    pub(super) fn overflow(&self, max: usize) -> impl Iterator<Item = E> {
        self.endpoints.iter().skip(max).map(|matched| matched.desired.clone())
    }
}

impl<'a, E: EndpointSource> EndpointMatch<'a, E> {
    fn to_planned(&self) -> PlannedEndpoint<'a, E> {
        if self.equal && self.same_target_version() {
            PlannedEndpoint::from_existing(self.existing)
        } else {
            PlannedEndpoint::from_desired(self.desired.clone())
        }
    }

    /// Compares the resourceVersion of the target, which equal endpoints may differ in.
    fn same_target_version(&self) -> bool {
        let (existing, desired) = (self.existing.target(), self.desired.target());
        existing.and_then(TargetView::resource_version) == desired.and_then(TargetView::resource_version)
    }
}
