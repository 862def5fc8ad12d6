//! Looking at many endpoints at once that are about to be read and lie anywhere, without waiting for any of them: memory answers
//! many questions at once about as fast as a single one.
//!
//! Some hundreds at a time, so that they are still at hand when they are read.

use std::hint::black_box;

use crate::{EndpointSource, Text as _, fetch::fetch_texts};

/// Looks at endpoints, but not at their texts.
pub fn touch<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| {
        endpoint.view().addresses.len() + where_names_are(endpoint)
    });
}

/// Looks at endpoints that are to be copied, in strings like theirs. Whoever shares names counts that beside them; what is
/// borrowed is copied without a look at it.
pub(crate) fn touch_to_copy<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| endpoint.view().addresses.len() + names(endpoint));
}

/// Looks at endpoints whose texts are to be written.
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
fn where_names_are<E: EndpointSource>(endpoint: &E) -> usize {
    if E::Text::SHARED {
        endpoint.object_at().map_or(0, <*const ()>::addr)
    } else {
        let name = endpoint.view().target.and_then(|target| target.name);
        name.map_or(0, str::len)
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
fn names(endpoint: &impl EndpointSource) -> usize {
    endpoint
        .view()
        .target
        .map_or(0, |target| usize::from(target.uid.is_some()))
}
