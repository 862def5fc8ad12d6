//! Which endpoints of a stored slice are still wanted.

use slice_core::{CompactSlice, Endpoint, EndpointSet, EndpointSource, TargetView};

use crate::{check::Sieve, planned::PlannedEndpoint};

/// What is left of one stored slice. Made once and used for slice after slice, so that looking at a slice that stays as it
/// is allocates nothing.
#[derive(Debug)]
pub(super) struct Kept<'a, E: EndpointSource> {
    endpoints: Vec<KeptEndpoint<'a, E>>,
    /// Endpoints that are not wanted, or wanted only once and found before.
    pub(super) dropped: usize,
    /// Endpoints that say something else now.
    pub(super) changed: usize,
}

#[derive(Debug)]
struct KeptEndpoint<'a, E: EndpointSource> {
    stored: &'a Endpoint,
    wanted: E,
    equal: bool,
}

impl<E: EndpointSource> Default for Kept<'_, E> {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            dropped: 0,
            changed: 0,
        }
    }
}

impl<'a, E: EndpointSource> Kept<'a, E> {
    /// Looks at a slice, taking what is found there out of the wanted set (R80 step 1).
    pub(super) fn look_at(&mut self, slice: &'a CompactSlice, wanted: &mut EndpointSet<E>) {
        self.endpoints.clear();
        self.endpoints.reserve(slice.endpoints.len());
        for stored in &slice.endpoints {
            if let Some(wanted) = wanted.remove(stored) {
                let equal = wanted.equals_beyond_identity(stored);
                self.endpoints.push(KeptEndpoint { stored, wanted, equal });
            }
        }
        self.dropped = slice.endpoints.len() - self.endpoints.len();
        self.changed = self.endpoints.iter().filter(|kept| !kept.equal).count();
    }

    /// Drops what may not be written, which a slice that is written loses.
    pub(super) fn sift(&mut self, sieve: &mut Sieve) {
        let before = self.endpoints.len();
        // An equal one is checked where it exists, which was just read.
        self.endpoints.retain(|kept| {
            if kept.equal {
                sieve.passes(kept.stored)
            } else {
                sieve.passes(&kept.wanted)
            }
        });
        self.dropped += before - self.endpoints.len();
        self.changed = self.endpoints.iter().filter(|kept| !kept.equal).count();
    }

    pub(super) fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Whether the slice holds exactly what it should.
    pub(super) fn is_intact(&self) -> bool {
        self.dropped == 0 && self.changed == 0
    }

    /// The first endpoints, as they are to be written: without hints, which are given anew.
    pub(super) fn first(&self, max: usize) -> Vec<PlannedEndpoint<'a, E>> {
        let kept = self.endpoints.iter().take(max);
        // Others mostly take the place of what was dropped.
        let mut first = Vec::with_capacity(max.min(kept.len() + self.dropped));
        first.extend(kept.map(KeptEndpoint::write));
        first
    }

    /// What is beyond the first, and has to find a place elsewhere.
    pub(super) fn beyond(&self, max: usize) -> impl Iterator<Item = E> {
        self.endpoints.iter().skip(max).map(|kept| kept.wanted.clone())
    }
}

impl<'a, E: EndpointSource> KeptEndpoint<'a, E> {
    fn write(&self) -> PlannedEndpoint<'a, E> {
        if self.equal && self.has_same_version() {
            PlannedEndpoint::from_existing(self.stored)
        } else {
            PlannedEndpoint::from_desired(self.wanted.clone())
        }
    }

    /// The one field that may differ between equals.
    fn has_same_version(&self) -> bool {
        let (stored, wanted) = (self.stored.target(), self.wanted.target());
        stored.and_then(TargetView::resource_version) == wanted.and_then(TargetView::resource_version)
    }
}
