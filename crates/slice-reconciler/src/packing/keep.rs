//! Which endpoints of a stored slice are still wanted.

use slice_core::{DraftEndpoint, Endpoint, EndpointSet, EndpointSource, Slice};

use crate::check::Sieve;

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

#[derive(Clone, Copy, Debug)]
struct KeptEndpoint<'a, E: EndpointSource> {
    stored: &'a Endpoint<E::Text>,
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
    pub(super) fn look_at(&mut self, slice: &'a Slice<E::Text>, wanted: &mut EndpointSet<E>) {
        self.endpoints.clear();
        self.endpoints.reserve(slice.endpoints.len());
        for stored in &slice.endpoints {
            if let Some(wanted) = wanted.take(&stored) {
                let equal = wanted.equals_if_same(&stored);
                self.endpoints.push(KeptEndpoint { stored, wanted, equal });
            }
        }
        self.dropped = slice.endpoints.len() - self.endpoints.len();
        self.changed = self.endpoints.iter().filter(|kept| !kept.equal).count();
    }

    /// Drops what may not be written, which a slice that is written loses.
    pub(super) fn sift(&mut self, sieve: &mut Sieve) {
        let before = self.endpoints.len();
        // What is stored as it should be is at hand, while what is wanted can lie anywhere.
        self.endpoints.retain(|kept| {
            if kept.equal {
                sieve.passes(&kept.stored)
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
    pub(super) fn first(&self, max: usize) -> Vec<DraftEndpoint<'a, E>> {
        let kept = self.endpoints.iter().take(max);
        // Others mostly take the place of what was dropped.
        let mut first = Vec::with_capacity(max.min(kept.len() + self.dropped));
        first.extend(kept.map(KeptEndpoint::write));
        first
    }

    /// What is beyond the first, and has to find a place elsewhere.
    pub(super) fn beyond(&self, max: usize) -> impl Iterator<Item = E> {
        self.endpoints.iter().skip(max).map(|kept| kept.wanted)
    }
}

impl<'a, E: EndpointSource> KeptEndpoint<'a, E> {
    #[inline]
    fn write(&self) -> DraftEndpoint<'a, E> {
        if self.equal && self.has_same_version() {
            DraftEndpoint::kept(self.stored)
        } else {
            DraftEndpoint::wanted(self.wanted)
        }
    }

    /// The one field that may differ between equals.
    #[inline]
    fn has_same_version(&self) -> bool {
        let (stored, wanted) = (self.stored.view().target, self.wanted.view().target);
        stored.and_then(|target| target.resource_version) == wanted.and_then(|target| target.resource_version)
    }
}
