//! Reconciler options for slices of Services.

use std::num::NonZeroUsize;

use slice_reconciler::{Packing, PlanOptions};

/// Reconciler options for slices of Services: slices are filled up to a maximum, and a Service without endpoints has a
/// placeholder slice (R80, R88).
#[must_use]
pub fn reconcile_options(max_endpoints_per_slice: NonZeroUsize) -> PlanOptions {
    PlanOptions {
        packing: Packing::Fill {
            max: max_endpoints_per_slice,
        },
        placeholder: true,
        ..PlanOptions::default()
    }
}
