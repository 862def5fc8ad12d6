//! How the endpoints of a group (one address type, one set of ports) come into slices.

mod fill;
mod keep;
mod one_per_group;

use std::{num::NonZeroUsize, ops::AddAssign};

use slice_core::{CompactSlice, EndpointSource, limits::ENDPOINTS_PER_SLICE_MAX};

use crate::{Group, MetadataPolicy, check::Sieve, lists::SliceChanges};

/// How the endpoints of a group are spread over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Fill slices up to a maximum, as for Services.
    Fill {
        /// Endpoints per slice; above 1000 it is 1000. Where it was more before, slices are brought down when they are
        /// written anyway (R84).
        max: NonZeroUsize,
    },
    /// One slice per group, and no more endpoints than fit, as for mirrored Endpoints.
    OnePerGroup {
        /// Endpoints of the group that are published; above 1000 it is 1000. Where it was more before, slices are brought
        /// down at once: what is beyond is not published elsewhere.
        cap: NonZeroUsize,
    },
}

impl Default for Packing {
    /// Slices of up to 100, as the built-in controller has it.
    fn default() -> Self {
        Self::Fill {
            max: NonZeroUsize::MIN.saturating_add(99),
        }
    }
}

/// How many endpoints come, go, and change where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounts {
    /// Wanted, and in no slice.
    pub added: usize,
    /// In a slice, and not wanted.
    pub removed: usize,
    /// In a slice, but with other facts.
    pub changed: usize,
}

impl AddAssign for EndpointCounts {
    fn add_assign(&mut self, more: Self) {
        self.added += more.added;
        self.removed += more.removed;
        self.changed += more.changed;
    }
}

impl Packing {
    /// Packs a group into its own slices, which come in the order of their names.
    pub(crate) fn pack<'a, E: EndpointSource>(
        self,
        existing: &[&'a CompactSlice],
        group: Group<E>,
        policy: &MetadataPolicy,
        sieve: &mut Sieve,
    ) -> SliceChanges<'a, E> {
        match self {
            Self::Fill { .. } => fill::pack(existing, group, self.max(), policy, sieve),
            Self::OnePerGroup { .. } => one_per_group::pack(existing, group, self.max(), policy, sieve),
        }
    }

    /// Endpoints per slice. The API server takes no more than a thousand, whoever asks (I3).
    pub(crate) fn max(self) -> usize {
        let (Self::Fill { max } | Self::OnePerGroup { cap: max }) = self;
        max.get().min(ENDPOINTS_PER_SLICE_MAX)
    }
}
