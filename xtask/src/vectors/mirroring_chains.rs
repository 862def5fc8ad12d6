//! What the mirroring controller answers to a step.

use std::{collections::BTreeSet, num::NonZeroUsize};

use k8s_openapi::api::core::v1::Endpoints;
use mirroring::{Metadata, Subsets, mirrored};
use slice_core::{AddressType, Slice, names};
use slice_reconciler::{
    Annotations, MetadataPolicy, Options, Owner, OwnerFlags, Ownership, Packing, Partition, Request, TriggerTime, plan,
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
    let policy = policy(endpoints);
    let prefix = format!("{}-", endpoints.metadata.name.as_deref().unwrap_or_default());
    let request = Request {
        owner: owner(endpoints),
        partition: Partition::default(),
        supported: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        groups: desired.groups,
        existing: &existing,
        metadata: &policy,
        hints: None,
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: &prefix,
        names_taken: &[],
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

fn owner(endpoints: &Endpoints) -> Owner<'_> {
    let metadata = &endpoints.metadata;
    Owner {
        api_version: "v1",
        kind: "Endpoints",
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
        uid: metadata.uid.as_deref().unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

fn policy(endpoints: &Endpoints) -> MetadataPolicy {
    let Metadata {
        mut labels,
        annotations,
    } = Metadata::of(endpoints);
    let reserved = [names::SERVICE_NAME_LABEL, names::MANAGED_BY_LABEL];
    MetadataPolicy {
        reserved: reserved.map(|key| (key.to_owned(), labels.remove(key))).into(),
        labels,
        keep_other_labels: false,
        annotations: Annotations::Replace(annotations),
    }
}
