//! No hints, and slices that are written after all.

use slice_core::{CompactSlice, EndpointSource};

use crate::lists::{Lists, Update};

/// Takes all hints away, from endpoints that are not ready too (H53a, R100).
pub(super) fn apply<E: EndpointSource>(lists: &mut Lists<'_, E>) {
    reopen(lists, |slice| {
        slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
    });
    for endpoint in lists.written_mut().flat_map(|slice| &mut slice.endpoints) {
        endpoint.hints = None;
    }
}

/// Copies those unchanged slices that are `wrong` to the end of the update list.
pub(super) fn reopen<E: EndpointSource>(lists: &mut Lists<'_, E>, wrong: impl Fn(&CompactSlice) -> bool) {
    let Lists { update, unchanged, .. } = lists;
    unchanged.retain(|slice| {
        let wrong = wrong(slice);
        if wrong {
            update.push(Update::unchanged(slice));
        }
        !wrong
    });
}
