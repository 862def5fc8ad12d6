//! No hints, and slices that are written after all.

use slice_core::Slice;

use crate::lists::Lists;

/// Takes all hints away, from endpoints that are not ready too (H53a, R100).
pub(super) fn apply(lists: &mut Lists<'_>) {
    reopen(lists, |slice| {
        slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
    });
    for slice in lists.create.iter_mut().chain(&mut lists.update) {
        for endpoint in &mut slice.endpoints {
            endpoint.hints = None;
        }
    }
}

/// Copies those unchanged slices that are `wrong` to the end of the update list.
pub(super) fn reopen(lists: &mut Lists<'_>, wrong: impl Fn(&Slice) -> bool) {
    let Lists { update, unchanged, .. } = lists;
    unchanged.retain(|slice| {
        let wrong = wrong(slice);
        if wrong {
            update.push((*slice).clone());
        }
        !wrong
    });
}
