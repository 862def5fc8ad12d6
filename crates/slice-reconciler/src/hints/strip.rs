//! No hints, and slices that are written after all.

use slice_core::{Slice, Text};

use crate::lists::Lists;

/// Takes all hints away, from endpoints that are not ready too (H53a, R100).
pub(super) fn apply<T: Text>(lists: &mut Lists<'_, T>) {
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
