//! Views of planned and existing slices for hint assignment.

use slice_core::{CompactSlice, Endpoint, EndpointSource, Hints};

use super::super::is_ready;
use crate::planned::{PlannedEndpoint, PlannedSlice};

/// A planned or an existing slice.
pub(super) enum SliceView<'s, E> {
    Planned(&'s PlannedSlice<'s, E>),
    Existing(&'s CompactSlice),
}

/// The fields of an endpoint that matter for hints.
pub(super) struct HintView<'s> {
    pub(super) is_ready: bool,
    pub(super) zone: Option<&'s str>,
    pub(super) hints: Option<&'s Hints>,
}

impl<'s> HintView<'s> {
    fn new(endpoint: &'s impl EndpointSource, hints: Option<&'s Hints>) -> Self {
        Self {
            is_ready: is_ready(endpoint),
            zone: endpoint.zone(),
            hints,
        }
    }
}

impl<'s, E: EndpointSource> SliceView<'s, E> {
    /// The sort key: ports and name.
    pub(super) fn key(&self) -> impl Ord + use<'s, E> {
        match self {
            Self::Planned(slice) => (&slice.ports, &slice.metadata.name),
            Self::Existing(slice) => (&slice.ports, &slice.metadata.name),
        }
    }

    pub(super) fn endpoints(&self) -> impl Iterator<Item = HintView<'s>> + use<'s, E> {
        let (planned, existing) = match self {
            Self::Planned(slice) => (&slice.endpoints[..], &[][..]),
            Self::Existing(slice) => (&[][..], &slice.endpoints[..]),
        };
        let view = |endpoint: &'s PlannedEndpoint<'_, E>| HintView::new(endpoint, endpoint.hints.as_deref());
        let planned = planned.iter().map(view);
        let view = |endpoint: &'s Endpoint| HintView::new(endpoint, endpoint.hints.as_deref());
        planned.chain(existing.iter().map(view))
    }
}
