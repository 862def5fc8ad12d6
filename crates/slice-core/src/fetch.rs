//! Asking memory for what is about to be read and lies anywhere. It answers while other things are done, and many questions at
//! once about as fast as a single one.
//!
//! All of this is a hint: nothing is read, and so any place will do.

use branches::prefetch_read_data;

use crate::EndpointRef;

/// Asks memory for a value that is about to be read and may lie anywhere, so that it is at hand by then. A hint: nothing is read,
/// and so any place will do.
///
/// Asks for the first and the last line of cache of it, as it may lie over the edge of one.
#[inline]
pub fn fetch<T>(place: *const T) {
    let first = place.cast::<u8>();
    fetch_line(first);
    fetch_line(first.wrapping_add(size_of::<T>().saturating_sub(1)));
}

/// Asks memory for a text, as [`fetch()`] does for a value. Only a long one, such as a uid, is likely to lie over the edge of a line.
#[inline]
pub fn fetch_text(text: &str) {
    const LONG: usize = 32;
    fetch_line(text.as_ptr());
    if text.len() > LONG {
        fetch_line(text.as_ptr().wrapping_add(text.len() - 1));
    }
}

/// Asks for those texts that differ most from endpoint to endpoint.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is asked for is read")]
pub(crate) fn fetch_texts(endpoint: &EndpointRef<'_>) {
    let of_target = endpoint
        .target
        .map(|target| [target.name, target.namespace, target.uid]);
    let texts = of_target.into_iter().flatten().chain([endpoint.node_name]);
    texts.flatten().for_each(fetch_text);
}

/// Into the second cache, which can wait for far more at a time than the first one, and is near enough.
#[inline]
fn fetch_line(place: *const u8) {
    const SECOND: i32 = 1;
    prefetch_read_data::<_, SECOND>(place);
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn any_place_will_do() {
        fetch(ptr::null::<u64>());
        fetch(ptr::null::<()>());
        fetch_text("");
        fetch_text(&"over the edge".repeat(100));
    }
}
