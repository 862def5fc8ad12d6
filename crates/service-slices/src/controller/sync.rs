//! One Service: what is to be written for it, and what is told about it.

use std::collections::HashMap;

use slice_controller::{Event, Key, SyncContext, SyncError, SyncFailure, SyncOutcome, SyncResult, describe_failures};
use slice_core::{AddressType, CompactSlice, EventType, PendingTriggerTime, format_trigger_time, well_known};
use slice_reconciler::{
    MetadataPolicy, Operation, Partition, Plan, PlanRequest, TriggerTime,
    hints::{HintMode, HintResult, TrafficDistribution},
    plan,
};

use super::ServiceController;
use crate::{Desired, Service, SkipReason, SkippedPod, desired, reconcile_options};

/// What has to be remembered of a sync until its writes are done.
#[derive(Debug)]
pub(super) struct InProgress {
    trigger_time: PendingTriggerTime<Key>,
    /// The labels under which it is counted, and slices to be written, for each address type.
    changes: Vec<((&'static str, &'static str), usize)>,
}

impl ServiceController {
    pub(super) fn sync_service(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let namespace = self.namespaces.get(&key.namespace);
        let Some((objects, entry)) = namespace.and_then(|objects| Some((objects, objects.service(&key.name)?))) else {
            self.forget(key);
            return Ok(SyncResult::default());
        };
        if entry.selector.is_none() {
            // Its slices stay as they are (R50 steps 3 and 4), but it has no hints any more to be kept up (HD2).
            self.topology.forget(key);
            return Ok(SyncResult::default());
        }
        let service = &entry.service;
        let mut pods = Vec::with_capacity(objects.count_pods_of(entry));
        pods.extend(objects.pods_of(entry).map(|entry| &entry.pod));
        let times = objects
            .pods_of(entry)
            .filter_map(|pod| Some((pod.pod.name(), pod.ready_since?)));
        let trigger_time = self.trigger_times.compute(key, entry.created, times);
        let Desired {
            address_types,
            groups,
            skipped,
        } = desired(service, pods, &self.nodes);
        let metadata = metadata_policy(service, &self.config.managed_by);
        let request = PlanRequest {
            owner: service.owner(),
            partition: Partition::default(),
            address_types: address_types.iter().copied().collect(),
            desired: groups,
            existing: context.existing,
            metadata: &metadata,
            hints: Some(service.hints),
            topology: Some(self.topology.entry(key)),
            trigger_time: trigger_time
                .time()
                .map_or(TriggerTime::Clear, |time| TriggerTime::Set(format_trigger_time(time))),
            name_prefix: &format!("{}-", key.name),
            reserved_names: context.reserved_names,
        };
        let options = reconcile_options(self.config.max_endpoints_per_slice);
        let plan = plan(request, &options)?;
        let events = events(&plan, &skipped, service);
        self.metrics
            .record_plan(key, &plan, traffic_distribution(service.hints));
        let changes = changes(&plan, context.existing);
        self.in_progress
            .insert(key.clone(), InProgress { trigger_time, changes });
        Ok(SyncResult {
            plan,
            events,
            requeue_after: None,
        })
    }

    /// R50 step 2.
    fn forget(&mut self, key: &Key) {
        self.trigger_times.forget(key);
        self.topology.forget(key);
        self.metrics.forget(key);
    }

    pub(super) fn sync_finished(&mut self, key: &Key, outcome: &SyncOutcome) {
        self.metrics.record_sync(outcome.is_success(), outcome.writes);
        let Some(InProgress { trigger_time, changes }) = self.in_progress.remove(key) else {
            return;
        };
        if outcome.is_success() {
            self.trigger_times.commit(trigger_time);
            if !outcome.namespace_terminating {
                for (labels, slices) in changes {
                    self.metrics.record_changes(labels, slices);
                }
            }
        }
    }

    pub(super) fn describe(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        let service = &self.namespaces.get(&key.namespace)?.service(&key.name)?.service;
        let failures = describe_failures("Service", key, failures);
        Some(Event::warning(
            &service.owner(),
            well_known::FAILED_TO_UPDATE_SLICES,
            format!("Error updating Endpoint Slices for Service {key}: {failures}"),
        ))
    }
}

/// What a Service asks of its slices' metadata, with our own name in it.
fn metadata_policy(service: &Service, managed_by: &str) -> MetadataPolicy {
    let mut policy = service.metadata_policy();
    policy
        .reserved
        .insert(well_known::MANAGED_BY_LABEL.to_owned(), Some(managed_by.to_owned()));
    policy
}

/// What became of hints, and what cannot be published: a mistake that somebody should hear of, unlike a pod that waits for its
/// node.
fn events(plan: &Plan, skipped: &[SkippedPod<'_>], service: &Service) -> Vec<Event> {
    let hints = plan.hints.iter().filter_map(|outcome| outcome.event.as_ref());
    let hints = hints.map(|event| (event.event_type, event.reason, event.message.clone()));
    let mistakes = skipped
        .iter()
        .filter(|skipped| matches!(skipped.reason, SkipReason::Address { .. }));
    let mistakes = mistakes.map(|mistake| (EventType::Warning, well_known::INVALID_IP_ADDRESS, mistake.to_string()));
    let refused = plan.rejected.iter();
    let refused = refused.map(|refused| {
        (
            EventType::Warning,
            well_known::FAILED_TO_UPDATE_SLICES,
            refused.to_string(),
        )
    });
    hints
        .chain(mistakes)
        .chain(refused)
        .map(|(event_type, reason, message)| Event::new(&service.owner(), event_type, reason, message))
        .collect()
}

fn traffic_distribution(hints: HintMode) -> Option<TrafficDistribution> {
    match hints {
        HintMode::TrafficDistribution(distribution) => Some(distribution),
        HintMode::Auto | HintMode::None => None,
    }
}

/// How many slices are written for each address type that the Service has.
fn changes(plan: &Plan, existing: &[CompactSlice]) -> Vec<((&'static str, &'static str), usize)> {
    let mut written: HashMap<AddressType, usize> = HashMap::new();
    for write in &plan.writes {
        let slice = match &write.operation {
            Operation::Create(slice) | Operation::Update(slice) => Some(slice),
            Operation::Delete(deletion) => {
                let named = |slice: &&CompactSlice| slice.metadata.name.as_ref() == Some(&deletion.name);
                existing.iter().find(named)
            }
        };
        if let Some(Ok(address_type)) = slice.map(|slice| &slice.address_type) {
            *written.entry(*address_type).or_default() += 1;
        }
    }
    let types = plan.stats.iter().map(|summary| summary.address_type);
    let verdicts = plan
        .hints
        .iter()
        .map(|outcome| outcome.verdict)
        .chain(std::iter::repeat(HintResult::Off));
    types
        .zip(verdicts)
        .map(|(address_type, verdict)| {
            (
                verdict.labels(),
                written.get(&address_type).copied().unwrap_or_default(),
            )
        })
        .collect()
}
