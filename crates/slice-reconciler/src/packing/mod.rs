//! Packing: distributes the endpoints of a group (one address type, one set of ports) over slices.

mod fill;
mod matching;
mod one_per_group;

use std::{num::NonZeroUsize, ops::AddAssign};

use slice_core::{CompactSlice, EndpointSource, limits::ENDPOINTS_PER_SLICE_MAX};

use crate::{Group, MetadataPolicy, lists::SliceChanges, validate::Validator};

/// How the endpoints of a group are distributed over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Fill slices up to a maximum, as for Services.
    Fill {
        /// Maximum endpoints per slice, at most 1000. Slices above it shrink when they are written anyway (R84).
        max: NonZeroUsize,
    },
    /// One slice per group with limited endpoints, as for mirrored Endpoints.
    OnePerGroup {
        /// Maximum endpoints of a group, at most 1000. Slices above it shrink at once, because the overflow is not published
        /// elsewhere.
        cap: NonZeroUsize,
    },
}

impl Default for Packing {
    /// Up to 100 endpoints per slice, the default of the built-in controller.
    fn default() -> Self {
        Self::Fill {
            max: NonZeroUsize::MIN.saturating_add(99),
        }
    }
}

/// Counters of endpoint changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounts {
    /// Desired and in no existing slice.
    pub added: usize,
    /// In an existing slice and not desired.
    pub removed: usize,
    /// In an existing slice with other attributes.
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
    /// Packs a group into its existing slices, which are sorted by name.
    pub(crate) fn pack<'a, E: EndpointSource>(
        self,
        existing: &[&'a CompactSlice],
        group: Group<E>,
        policy: &MetadataPolicy,
        validator: &mut Validator,
    ) -> SliceChanges<'a, E> {
        match self {
            Self::Fill { .. } => fill::pack(existing, group, self.max(), policy, validator),
            Self::OnePerGroup { .. } => one_per_group::pack(existing, group, self.max(), policy, validator),
        }
    }

    /// Maximum endpoints per slice. The API server accepts at most 1000 (I3).
    pub(crate) fn max(self) -> usize {
        let (Self::Fill { max } | Self::OnePerGroup { cap: max }) = self;
        max.get().min(ENDPOINTS_PER_SLICE_MAX)
    }
}
