//! Slices as far as their hints go, to be written or as they are stored.

use slice_core::{Draft, EndpointRef, EndpointSource, Hints, HintsRef, Slice};

use super::super::is_ready;

/// A slice.
pub(super) enum Listed<'s, E: EndpointSource> {
    Written(&'s Draft<'s, E>),
    Stored(&'s Slice<E::Text>),
}

/// What matters of an endpoint of a slice.
pub(super) struct Hinted<'s> {
    pub(super) is_ready: bool,
    pub(super) zone: Option<&'s str>,
    pub(super) hints: Option<HintsRef<'s>>,
}

impl<'s> Hinted<'s> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn new(endpoint: &EndpointRef<'s>, hints: Option<HintsRef<'s>>) -> Self {
        Self {
            is_ready: is_ready(*endpoint),
            zone: endpoint.zone,
            hints,
        }
    }
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
        let written = written
            .iter()
            .map(|endpoint| Hinted::new(&endpoint.view(), endpoint.hints()));
        let stored = stored
            .iter()
            .map(|endpoint| Hinted::new(&endpoint.view(), endpoint.hints.as_ref().map(Hints::view)));
        written.chain(stored)
    }
}
