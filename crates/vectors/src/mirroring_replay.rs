//! Replays steps of the mirroring controller.

use std::{num::NonZeroUsize, time::Duration};

use anyhow::Context as _;
use jiff::Timestamp;
use mirroring::{
    MANAGED_BY,
    controller::{Config, Input, MirroringController},
};
use slice_controller::{Controller as _, EventContext, Key, SyncContext};
use slice_core::CompactSlice;

use super::{
    chain::{Event, Step},
    compare::ReconcileResult,
};

/// Our result of a step. A requeue is executed at once, at the requested time: slices of a Service that got a selector are
/// deleted with a delay.
pub(super) fn replay(step: &Step, max: NonZeroUsize) -> anyhow::Result<ReconcileResult> {
    let existing: Vec<CompactSlice> = step.existing_slices.iter().map(CompactSlice::from).collect();
    let key = key(step).context("the step has neither Service nor Endpoints nor slices")?;
    let mut controller = controller(step, max);
    let mut context = SyncContext {
        existing: &existing,
        reserved_names: &[],
        now: Timestamp::UNIX_EPOCH,
    };
    let mut sync = controller.sync(&key, &context)?;
    if let Some(delay) = sync.requeue_after {
        context.now += delay;
        sync = controller.sync(&key, &context)?;
    }
    let mut result = ReconcileResult::from_plan(sync.plan);
    let events = sync.events.into_iter().map(|event| Event {
        kind: event.event_type.as_str().to_owned(),
        reason: event.reason.into_owned(),
        message: event.message,
    });
    result.events = events.collect();
    Ok(result)
}

/// A controller with the objects of a step in its cache.
fn controller(step: &Step, max: NonZeroUsize) -> MirroringController {
    let config = Config {
        managed_by: MANAGED_BY.to_owned(),
        max_endpoints_per_subset: max,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    let mut controller = MirroringController::new(config);
    let service = step.service.clone().map(|service| Input::Service(Box::new(service)));
    let endpoints = step.endpoints.clone();
    let endpoints = endpoints.map(|endpoints| Input::Endpoints(Box::new(endpoints)));
    for input in service.into_iter().chain(endpoints) {
        controller.apply(input, &mut EventContext::default());
    }
    controller
}

/// Namespace and name of the Service, the Endpoints object and their slices.
fn key(step: &Step) -> Option<Key> {
    let endpoints = step.endpoints.as_ref().map(|endpoints| Key::from(&endpoints.metadata));
    let service = || step.service.as_ref().map(|service| Key::from(&service.metadata));
    let slices = || {
        step.existing_slices
            .iter()
            .find_map(|slice| Key::from_slice_labels(&slice.metadata))
    };
    endpoints.or_else(service).or_else(slices)
}
