//! Looking at many endpoints at once that are about to be read and lie anywhere: what leads to the next place has to be looked at,
//! the rest is asked for.
//!
//! Some hundreds at a time, so that they are still at hand when they are read.

use std::hint::black_box;

use crate::{EndpointSource, Text as _, fetch::fetch_texts};

/// Looks at endpoints, but not at their texts.
pub fn touch<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| {
        endpoint.fetch();
        endpoint.view().addresses.len()
    });
}

/// Looks at endpoints that are to be copied, in strings like theirs. Whoever shares names counts that beside them; what is
/// borrowed is copied without a look at it.
pub(crate) fn touch_to_copy<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| endpoint.view().addresses.len() + names(endpoint));
}

/// Looks at endpoints whose texts are to be written, and asks for these.
pub(crate) fn touch_to_write<E: EndpointSource>(endpoints: impl Iterator<Item = E> + Clone) {
    if E::Text::SHARED {
        touch_part(endpoints.clone(), names);
    }
    touch_part(endpoints, |endpoint| {
        fetch_texts(&endpoint.view());
        endpoint.view().addresses.len()
    });
}

#[inline]
fn touch_part<E: EndpointSource>(endpoints: impl Iterator<Item = E>, part: impl Fn(&E) -> usize) {
    black_box(endpoints.map(|endpoint| part(&endpoint)).fold(0, usize::wrapping_add));
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
fn names(endpoint: &impl EndpointSource) -> usize {
    endpoint
        .view()
        .target
        .map_or(0, |target| usize::from(target.uid.is_some()))
}
