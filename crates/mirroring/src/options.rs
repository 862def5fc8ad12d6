//! How mirrored slices are written.

use std::num::NonZeroUsize;

use slice_reconciler::{Ownership, Packing, PlanOptions};

/// How mirrored slices are written, whatever their endpoints: one for each set of ports (M78), and anew for an object that was
/// made anew (I7).
#[must_use]
pub fn reconcile_options(max_endpoints_per_subset: NonZeroUsize) -> PlanOptions {
    PlanOptions {
        packing: Packing::OnePerGroup {
            cap: max_endpoints_per_subset,
        },
        ownership: Ownership::RebuildOnForeignUid,
        ..PlanOptions::default()
    }
}
