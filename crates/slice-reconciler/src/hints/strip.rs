//! No hints, and slices that are written after all.

use slice_core::{EndpointSource, Slice};

use crate::lists::{Lists, Update};

/// Takes all hints away, from endpoints that are not ready too (H53a, R100).
pub(super) fn apply<E: EndpointSource>(lists: &mut Lists<'_, E>) {
    reopen(lists, |slice| {
        slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
    });
    for endpoint in lists.written_mut().flat_map(|slice| &mut slice.endpoints) {
        // Hardly any has some, and what is not written to need not go back to memory.
        if endpoint.hints().is_some() {
            endpoint.mean_for_nobody();
        }
    }
}

/// Copies those unchanged slices that are `wrong` to the end of the update list.
pub(super) fn reopen<E: EndpointSource>(lists: &mut Lists<'_, E>, wrong: impl Fn(&Slice<E::Text>) -> bool) {
    let Lists { update, unchanged, .. } = lists;
    unchanged.retain(|slice| {
        let wrong = wrong(slice);
        if wrong {
            update.push(Update::copy(slice));
        }
        !wrong
    });
}
