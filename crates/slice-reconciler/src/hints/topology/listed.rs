//! Slices as far as their hints go, to be written or as they are stored.

use slice_core::{Draft, EndpointRef, EndpointSource, Hints, Slice};

/// A slice.
pub(super) enum Listed<'s, E: EndpointSource> {
    Written(&'s Draft<'s, E>),
    Stored(&'s Slice<E::Text>),
}

/// An endpoint of a slice.
pub(super) struct Hinted<'s> {
    pub(super) view: EndpointRef<'s>,
    pub(super) hints: Option<&'s Hints>,
}

impl<'s, E: EndpointSource> Listed<'s, E> {
    /// What sets it apart from others, and orders them.
    pub(super) fn key(&self) -> impl Ord + use<'s, E> {
        match self {
            Self::Written(draft) => (&draft.ports, &draft.metadata.name),
            Self::Stored(slice) => (&slice.ports, &slice.metadata.name),
        }
    }

    #[inline]
    pub(super) fn endpoints(&self) -> impl Iterator<Item = Hinted<'s>> + use<'s, E> {
        let (written, stored) = match self {
            Self::Written(draft) => (&draft.endpoints[..], &[][..]),
            Self::Stored(slice) => (&[][..], &slice.endpoints[..]),
        };
        let written = written.iter().map(|endpoint| Hinted {
            view: endpoint.view(),
            hints: endpoint.hints.as_deref(),
        });
        let stored = stored.iter().map(|endpoint| Hinted {
            view: endpoint.view(),
            hints: endpoint.hints.as_deref(),
        });
        written.chain(stored)
    }
}
