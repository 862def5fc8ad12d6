//! No hints, and slices that are written after all.

use slice_core::{Slice, Text};

use crate::lists::Lists;

/// Takes all hints away, from endpoints that are not ready too (H53a, R100).
pub(super) fn apply<T: Text>(lists: &mut Lists<'_, T>) {
    reopen(lists, |slice| {
        slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
    });
    let written = lists.create.iter_mut().chain(&mut lists.update);
    for endpoint in written.flat_map(|slice| &mut slice.endpoints) {
        // Hardly any has some, and what is not written to need not go back to memory.
        if endpoint.hints.is_some() {
            endpoint.hints = None;
        }
    }
}

/// Copies those unchanged slices that are `wrong` to the end of the update list.
pub(super) fn reopen<T: Text>(lists: &mut Lists<'_, T>, wrong: impl Fn(&Slice<T>) -> bool) {
    let Lists { update, unchanged, .. } = lists;
    unchanged.retain(|slice| {
        let wrong = wrong(slice);
        if wrong {
            update.push((*slice).clone());
        }
        !wrong
    });
}
