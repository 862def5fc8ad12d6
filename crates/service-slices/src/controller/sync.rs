//! Sync of one Service: desired + existing → plan, events and metrics.

use std::collections::HashMap;

use slice_controller::{
    Event, Examples, Key, SyncContext, SyncError, SyncFailure, SyncOutcome, SyncResult, describe_failures,
};
use slice_core::{AddressType, CompactSlice, PendingTriggerTime, format_trigger_time, well_known};
use slice_reconciler::{
    MetadataPolicy, Operation, Partition, Plan, PlanRequest, TriggerTime,
    hints::{HintMode, HintResult, TrafficDistribution},
    plan,
};

use super::ServiceController;
use crate::{Desired, Service, SkipReason, SkippedPod, desired, reconcile_options};

/// State between a sync and its result.
#[derive(Debug)]
pub(super) struct PendingSync {
    trigger_time: PendingTriggerTime<Key>,
    /// Metric labels and number of slices to write, per address type.
    changes: Vec<((&'static str, &'static str), usize)>,
}

impl ServiceController {
    /// Plans the writes of one Service.
    pub(super) fn sync_service(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let index = self.namespaces.get(&key.namespace);
        let Some((index, entry)) = index.and_then(|index| Some((index, index.service(&key.name)?))) else {
            self.forget(key);
            return Ok(SyncResult::default());
        };
        if entry.selector.is_none() {
            // Not managed: its slices stay as they are (R50 steps 3 and 4), and node changes no longer enqueue it (HD2).
            self.topology.forget(key);
            return Ok(SyncResult::default());
        }
        let service = &entry.service;
        let mut pods = Vec::with_capacity(index.count_pods_of(entry));
        pods.extend(index.pods_of(entry).map(|entry| &entry.pod));
        let ready_times = index
            .pods_of(entry)
            .filter_map(|pod| Some((pod.pod.name(), pod.ready_transition_time?)));
        let trigger_time = self.trigger_times.compute(key, entry.created, ready_times);
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
        let changes = slice_changes(&plan, context.existing);
        self.pending_syncs
            .insert(key.clone(), PendingSync { trigger_time, changes });
        Ok(SyncResult {
            plan,
            events,
            requeue_after: None,
        })
    }

    /// Drops all state of a deleted Service (R50 step 2).
    fn forget(&mut self, key: &Key) {
        self.trigger_times.forget(key);
        self.topology.forget(key);
        self.metrics.forget(key);
    }

    /// Records the outcome of a sync: metrics, and the trigger time if it succeeded.
    pub(super) fn record_result(&mut self, key: &Key, outcome: &SyncOutcome) {
        self.metrics.record_sync(outcome.is_success(), outcome.writes);
        let Some(PendingSync { trigger_time, changes }) = self.pending_syncs.remove(key) else {
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

    /// The event for a Service whose sync fails repeatedly, with upstream's message; none if it fails by conflicts only.
    pub(super) fn failure_event_for(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        let service = &self.namespaces.get(&key.namespace)?.service(&key.name)?.service;
        let failures = describe_failures("Service", key, failures)?;
        Some(Event::warning(
            &service.owner(),
            well_known::FAILED_TO_UPDATE_SLICES,
            format!("Error updating Endpoint Slices for Service {key}: {failures}"),
        ))
    }
}

/// Desired metadata of the slices, with the configured managed-by label.
fn metadata_policy(service: &Service, managed_by: &str) -> MetadataPolicy {
    let mut policy = service.metadata_policy();
    policy
        .managed_labels
        .insert(well_known::MANAGED_BY_LABEL.to_owned(), Some(managed_by.to_owned()));
    policy
}

/// Events of a sync: each hint change, and one event for all invalid pod addresses and for all that is rejected. A pod without a
/// known node is no event, because that is usually transient.
fn events(plan: &Plan, skipped: &[SkippedPod<'_>], service: &Service) -> Vec<Event> {
    let owner = service.owner();
    let hints = plan.hints.iter().filter_map(|outcome| outcome.event.as_ref());
    let hints = hints.map(|event| Event::new(&owner, event.event_type, event.reason, event.message.clone()));
    let invalid_addresses: Examples = skipped
        .iter()
        .filter(|skipped| matches!(skipped.reason, SkipReason::Address { .. }))
        .collect();
    let rejected: Examples = plan.rejected.iter().collect();
    let warnings = [
        (
            well_known::INVALID_IP_ADDRESS,
            invalid_addresses.message("addresses of pods are skipped"),
        ),
        (
            well_known::FAILED_TO_UPDATE_SLICES,
            rejected.message("endpoints, groups of endpoints or labels are rejected"),
        ),
    ];
    let warnings = warnings
        .into_iter()
        .filter_map(|(reason, message)| Some(Event::warning(&owner, reason, message?)));
    hints.chain(warnings).collect()
}

fn traffic_distribution(hints: HintMode) -> Option<TrafficDistribution> {
    match hints {
        HintMode::TrafficDistribution(distribution) => Some(distribution),
        HintMode::Auto | HintMode::None => None,
    }
}

/// Metric labels and number of slices to write, per address type of the Service.
fn slice_changes(plan: &Plan, existing: &[CompactSlice]) -> Vec<((&'static str, &'static str), usize)> {
    let mut written: HashMap<AddressType, usize> = HashMap::new();
    for write in &plan.writes {
        let slice = match &write.operation {
            Operation::Create(slice) | Operation::Update(slice) => Some(slice),
            Operation::Delete(delete) => {
                let has_name = |slice: &&CompactSlice| slice.metadata.name.as_ref() == Some(&delete.name);
                existing.iter().find(has_name)
            }
        };
        if let Some(Ok(address_type)) = slice.map(|slice| &slice.address_type) {
            *written.entry(*address_type).or_default() += 1;
        }
    }
    let address_types = plan.stats.iter().map(|stats| stats.address_type);
    let hint_results = plan
        .hints
        .iter()
        .map(|outcome| outcome.result)
        .chain(std::iter::repeat(HintResult::Off));
    address_types
        .zip(hint_results)
        .map(|(address_type, hint_result)| {
            (
                hint_result.labels(),
                written.get(&address_type).copied().unwrap_or_default(),
            )
        })
        .collect()
}
