//! How the endpoints of a group (one address type, one set of ports) come into slices.

mod fill;
mod keep;
mod one_per_group;

use std::num::NonZeroUsize;

use slice_core::{EndpointRef, PortMapKey, Slice};

use crate::{Group, MetadataPolicy, TriggerTime};

/// How the endpoints of a group are spread over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Fill slices up to a maximum, as for Services.
    Fill {
        /// Endpoints per slice.
        max: NonZeroUsize,
    },
    /// One slice per group, and no more endpoints than fit, as for mirrored Endpoints.
    OnePerGroup {
        /// Endpoints of the group that are published.
        cap: NonZeroUsize,
    },
}

/// What packing decides about one group.
#[derive(Debug, Default)]
pub(crate) struct Packed<'a> {
    /// Stored slices that stay as they are.
    pub(crate) unchanged: Vec<&'a Slice>,
    /// Changed copies of stored slices.
    pub(crate) update: Vec<Slice>,
    pub(crate) delete: Vec<&'a Slice>,
    pub(crate) create: Vec<NewSlice<'a>>,
    pub(crate) changes: Changes,
}

/// A slice that does not exist yet.
#[derive(Debug)]
pub(crate) struct NewSlice<'a> {
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<EndpointRef<'a>>,
}

/// How many endpoints come, go, and change where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Wanted, and in no slice.
    pub added: usize,
    /// In a slice, and not wanted.
    pub removed: usize,
    /// In a slice, but with other facts.
    pub changed: usize,
}

impl Packing {
    /// Packs a group into its own slices, which come in the order of their names.
    pub(crate) fn pack<'a>(
        self,
        existing: &[&'a Slice],
        group: Group<'a>,
        policy: &MetadataPolicy,
        trigger_time: &TriggerTime,
    ) -> Packed<'a> {
        match self {
            Self::Fill { max } => fill::pack(existing, group, max.get(), policy, trigger_time),
            Self::OnePerGroup { cap } => one_per_group::pack(existing, group, cap.get(), policy, trigger_time),
        }
    }

    /// Endpoints per slice.
    pub(crate) fn max(self) -> usize {
        match self {
            Self::Fill { max } => max.get(),
            Self::OnePerGroup { cap } => cap.get(),
        }
    }
}
