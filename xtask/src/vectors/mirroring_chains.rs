//! What the mirroring controller answers to a step.

use std::{num::NonZeroUsize, time::Duration};

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use mirroring::{
    MANAGED_BY,
    controller::{Config, Input, MirroringController},
};
use slice_controller::{Change, Controller as _, Key, SyncContext, Wakes};
use slice_core::Slice;

use super::{
    chain::{Event, Step},
    compare::Answer,
};

/// The answer when nothing is left to wait for: slices of a Service that has got a selector stay for a while.
pub(super) fn answer(step: &Step, max: NonZeroUsize) -> anyhow::Result<Answer> {
    let existing: Vec<Slice> = step.existing_slices.iter().map(Slice::from).collect();
    let key = key(step).context("a step has neither Service nor Endpoints nor slices")?;
    let mut controller = controller(step, max);
    let mut context = SyncContext {
        existing: &existing,
        taken: &[],
        now: Timestamp::UNIX_EPOCH,
    };
    let mut sync = controller.sync(&key, &context).map_err(anyhow::Error::msg)?;
    if let Some(again) = sync.again {
        context.now += again;
        sync = controller.sync(&key, &context).map_err(anyhow::Error::msg)?;
    }
    let mut answer = Answer::of(sync.plan);
    let events = sync.events.into_iter().map(|event| Event {
        kind: event.event_type.as_str().to_owned(),
        reason: event.reason.into_owned(),
        message: event.message,
    });
    answer.events = events.collect();
    Ok(answer)
}

/// A controller that has seen the objects of a step.
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
        controller.observe(Change::Applied(input), &mut Wakes::default());
    }
    controller
}

/// The name that a Service, its Endpoints object and their slices share.
fn key(step: &Step) -> Option<Key> {
    let of = |metadata: &ObjectMeta| {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Key::new(namespace, metadata.name.as_deref().unwrap_or_default())
    };
    let endpoints = step.endpoints.as_ref().map(|endpoints| of(&endpoints.metadata));
    let service = || step.service.as_ref().map(|service| of(&service.metadata));
    let slices = || {
        step.existing_slices
            .iter()
            .find_map(|slice| Key::of_slice(&slice.metadata))
    };
    endpoints.or_else(service).or_else(slices)
}
