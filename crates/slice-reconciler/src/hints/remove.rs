//! Removal of hints, and updates of slices only for their hints.

use slice_core::{CompactSlice, EndpointSource};

use crate::lists::{SliceLists, SliceUpdate};

/// Removes all hints, also from endpoints that are not ready (H53a, R100).
pub(super) fn remove_hints<E: EndpointSource>(lists: &mut SliceLists<'_, E>) {
    mark_for_update(lists, |slice| {
        slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
    });
    for endpoint in lists.changed_mut().flat_map(|slice| &mut slice.endpoints) {
        endpoint.hints = None;
    }
}

/// Moves unchanged slices with wrong hints to the end of the update list.
pub(super) fn mark_for_update<E: EndpointSource>(lists: &mut SliceLists<'_, E>, wrong: impl Fn(&CompactSlice) -> bool) {
    let to_update = &mut lists.to_update;
    lists.unchanged.retain(|slice| {
        let wrong = wrong(slice);
        if wrong {
            to_update.push(SliceUpdate::unchanged(slice));
        }
        !wrong
    });
}
