//! Looking at many endpoints at once that are about to be read and lie anywhere, without waiting for any of them: memory answers
//! many questions at once about as fast as a single one.
//!
//! Some hundreds at a time, so that they are still at hand when they are read.

use std::hint::black_box;

use crate::{EndpointRef, EndpointSource, Text as _};

/// Looks at endpoints, but not at their texts.
pub fn touch<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| endpoint.addresses.len() + name_length(endpoint));
}

/// Looks at endpoints whose names, and then what they say, are to be compared: first at where their texts are, and then at those
/// texts that differ most from endpoint to endpoint. Shared ones are hardly ever read then, and left alone.
pub(crate) fn touch_to_compare<E: EndpointSource>(endpoints: impl Iterator<Item = E> + Clone) {
    touch_part(endpoints.clone(), name_length);
    if !E::Text::SHARED {
        touch_part(endpoints, texts);
    }
}

/// Looks at endpoints that are to be copied. Whoever shares a text counts that beside it.
pub(crate) fn touch_to_copy<E: EndpointSource>(endpoints: impl Iterator<Item = E>) {
    touch_part(endpoints, |endpoint| endpoint.addresses.len() + texts(endpoint));
}

/// Looks at texts.
pub fn touch_texts<'a>(texts: impl Iterator<Item = &'a str>) {
    black_box(texts.map(first_byte).sum::<usize>());
}

#[inline]
fn touch_part<E: EndpointSource>(endpoints: impl Iterator<Item = E>, part: impl Fn(&EndpointRef<'_>) -> usize) {
    black_box(endpoints.map(|endpoint| part(&endpoint.view())).sum::<usize>());
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
fn name_length(endpoint: &EndpointRef<'_>) -> usize {
    endpoint.target.and_then(|target| target.name).map_or(0, str::len)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
fn texts(endpoint: &EndpointRef<'_>) -> usize {
    let first = |text: Option<&str>| text.map_or(0, first_byte);
    let of_target = endpoint.target.map_or(0, |target| {
        first(target.name) + first(target.namespace) + first(target.uid)
    });
    first(endpoint.node_name) + of_target
}

#[inline]
fn first_byte(text: &str) -> usize {
    text.bytes().next().map_or(0, usize::from)
}
