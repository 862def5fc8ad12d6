//! What the mirroring controller answers to a step.

use std::{collections::BTreeSet, num::NonZeroUsize};

use mirroring::{Metadata, Subsets, mirrored};
use slice_core::{AddressType, Slice};
use slice_reconciler::{
    MetadataPolicy, Options, Owner, OwnerFlags, Ownership, Packing, Partition, Request, TriggerTime, plan,
    plan_deletion,
};

use super::{
    chain::{Event, Step},
    compare::Answer,
};

pub(super) fn answer(step: &Step, max: NonZeroUsize) -> anyhow::Result<Answer> {
    let existing: Vec<Slice> = step.existing_slices.iter().map(Slice::from).collect();
    let Some(endpoints) = step
        .endpoints
        .as_ref()
        .filter(|endpoints| mirrored(endpoints, step.service.as_ref()).is_ok())
    else {
        // Everything is cleaned up (M107).
        return Ok(Answer::of(plan_deletion(&existing, Partition::default())));
    };
    let subsets = Subsets::read(endpoints);
    let desired = subsets.desired(max);
    let policy = MetadataPolicy::from(Metadata::of(endpoints));
    let prefix = format!("{}-", endpoints.metadata.name.as_deref().unwrap_or_default());
    let request = Request {
        owner: Owner::of("v1", "Endpoints", &endpoints.metadata),
        partition: Partition::default(),
        supported: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        groups: desired.groups,
        existing: &existing,
        metadata: &policy,
        hints: None,
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: &prefix,
    };
    let options = Options {
        packing: Packing::OnePerGroup { cap: max },
        placeholder: false,
        ownership: Ownership::RebuildOnForeignUid,
        owner_flags: OwnerFlags::default(),
    };
    let mut answer = Answer::of(plan(request, &options)?);
    answer.events = desired
        .events
        .into_iter()
        .map(|event| Event {
            kind: "Warning".to_owned(),
            reason: event.reason.to_owned(),
            message: event.message,
        })
        .collect();
    Ok(answer)
}
