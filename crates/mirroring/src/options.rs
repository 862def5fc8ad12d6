//! Plan options of mirrored slices.

use std::num::NonZeroUsize;

use slice_reconciler::{Ownership, Packing, PlanOptions};

/// Plan options of mirrored slices: one slice per set of ports (M78), and new slices for a recreated Endpoints object (I7).
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
