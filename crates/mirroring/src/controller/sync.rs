//! One Endpoints object: what is to be written for it, and what is told about it.

use std::collections::BTreeSet;

use slice_controller::{Event, Key, SyncContext, SyncError, SyncFailure, SyncResult, describe_failures};
use slice_core::{AddressType, well_known};
use slice_reconciler::{Partition, Plan, PlanRequest, TriggerTime, plan, plan_deletion};

use super::{Config, Endpoints, MirroringController, metrics::Metrics, verdict::Verdict};
use crate::{Desired, SkippedEntry, reconcile_options};

impl MirroringController {
    pub(super) fn sync_endpoints(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let Self {
            config, index, metrics, ..
        } = self;
        let all_in_scope = config.service_selector.is_empty();
        let verdict = match index.get_mut(key) {
            Some(entry) => entry.verdict(context, all_in_scope),
            None => Verdict::without_service(all_in_scope),
        };
        match verdict {
            Verdict::Mirror { endpoints, told } => {
                let (plan, events) = mirror(endpoints, key, context, config, metrics)?;
                let news = news(told, events);
                let news = news.into_iter().map(|event| warning(endpoints, key, event));
                Ok(SyncResult {
                    plan,
                    events: news.collect(),
                    requeue_after: None,
                })
            }
            Verdict::CleanUp => {
                metrics.forget(key);
                Ok(plan_deletion(context.existing, Partition::default()).into())
            }
            Verdict::Wait(left) => Ok(SyncResult {
                requeue_after: Some(left),
                ..SyncResult::default()
            }),
            Verdict::LeaveAlone => {
                metrics.forget(key);
                Ok(SyncResult::default())
            }
        }
    }

    /// D15. There is nobody to tell where the object is gone, or asks not to be mirrored.
    pub(super) fn describe(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        let endpoints = self.index.get(key)?.endpoints.as_ref()?;
        let failures = describe_failures("Endpoints", key, failures);
        let event = crate::Warning {
            reason: well_known::FAILED_TO_UPDATE_SLICES,
            message: format!("Error updating Endpoint Slices for Endpoints {key}: {failures}"),
        };
        Some(warning(endpoints, key, event))
    }
}

/// M36–M106: what is to be written, and what its author should know.
fn mirror(
    endpoints: &Endpoints,
    key: &Key,
    context: &SyncContext<'_>,
    config: &Config,
    metrics: &mut Metrics,
) -> Result<(Plan, Vec<crate::Warning>), SyncError> {
    let max = config.max_endpoints_per_subset;
    let Desired {
        groups,
        skipped,
        mut events,
        skipped_entries,
        ..
    } = endpoints.subsets.desired(max);
    let request = PlanRequest {
        owner: endpoints.owner(key),
        partition: Partition::default(),
        address_types: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        desired: groups,
        existing: context.existing,
        metadata: &endpoints.metadata_policy(key, &config.managed_by),
        hints: None,
        topology: None,
        // A mirrored slice has none (M90): it goes with the annotations that are not the object's.
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: &format!("{}-", key.name),
        reserved_names: context.reserved_names,
    };
    let options = reconcile_options(max);
    let plan = plan(request, &options)?;
    metrics.record_plan(key, &plan, skipped);
    // Addresses have been told as a number.
    let unread = skipped_entries
        .iter()
        .filter(|skipped_entries| !matches!(skipped_entries, SkippedEntry::Address { .. }));
    let unpublished = plan.rejected.iter().map(ToString::to_string);
    let messages = unread.map(ToString::to_string).chain(unpublished);
    events.extend(messages.map(|message| crate::Warning {
        reason: well_known::FAILED_TO_UPDATE_SLICES,
        message,
    }));
    Ok((plan, events))
}

/// What is different from what was told before: what stays wrong is not told with every look at it.
fn news(told: &mut Vec<crate::Warning>, events: Vec<crate::Warning>) -> Vec<crate::Warning> {
    let news = events.iter().filter(|event| !told.contains(event)).cloned().collect();
    *told = events;
    news
}

fn warning(endpoints: &Endpoints, key: &Key, event: crate::Warning) -> Event {
    Event::warning(&endpoints.owner(key), event.reason, event.message)
}
