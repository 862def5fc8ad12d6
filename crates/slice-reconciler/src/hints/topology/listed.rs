//! Slices as far as their hints go, to be written or existing.

use slice_core::{CompactSlice, Endpoint, EndpointSource, Hints};

use super::super::is_ready;
use crate::planned::{PlannedEndpoint, PlannedSlice};

/// A slice.
pub(super) enum Listed<'s, E> {
    Written(&'s PlannedSlice<'s, E>),
    Stored(&'s CompactSlice),
}

/// What matters of an endpoint of a slice.
pub(super) struct Hinted<'s> {
    pub(super) is_ready: bool,
    pub(super) zone: Option<&'s str>,
    pub(super) hints: Option<&'s Hints>,
}

impl<'s> Hinted<'s> {
    fn new(endpoint: &'s impl EndpointSource, hints: Option<&'s Hints>) -> Self {
        Self {
            is_ready: is_ready(endpoint),
            zone: endpoint.zone(),
            hints,
        }
    }
}

impl<'s, E: EndpointSource> Listed<'s, E> {
    /// Ports and name, which order slices.
    pub(super) fn key(&self) -> impl Ord + use<'s, E> {
        match self {
            Self::Written(planned) => (&planned.ports, &planned.metadata.name),
            Self::Stored(slice) => (&slice.ports, &slice.metadata.name),
        }
    }

    pub(super) fn endpoints(&self) -> impl Iterator<Item = Hinted<'s>> + use<'s, E> {
        let (written, stored) = match self {
            Self::Written(planned) => (&planned.endpoints[..], &[][..]),
            Self::Stored(slice) => (&[][..], &slice.endpoints[..]),
        };
        let written = written.iter();
        let written = written.map(|planned: &PlannedEndpoint<'_, E>| Hinted::new(planned, planned.hints.as_deref()));
        let stored = stored.iter();
        let stored = stored.map(|endpoint: &Endpoint| Hinted::new(endpoint, endpoint.hints.as_deref()));
        written.chain(stored)
    }
}
