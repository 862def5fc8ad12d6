//! How slices of Services are written.

use std::num::NonZeroUsize;

use slice_reconciler::{Packing, PlanOptions};

/// How slices of Services are written, whatever their endpoints: filled up to a maximum, and a Service without endpoints has an
/// empty one (R80, R88).
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
