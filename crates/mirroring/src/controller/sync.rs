//! Sync of one key: plan, events and metrics.

use std::collections::BTreeSet;

use slice_controller::{Event, Examples, Key, SyncContext, SyncError, SyncFailure, SyncResult, describe_failures};
use slice_core::{AddressType, well_known};
use slice_reconciler::{Partition, Plan, PlanRequest, TriggerTime, plan, plan_deletion};

use super::{Config, Endpoints, MirroringController, action::Action, metrics::Metrics};
use crate::{Desired, SkippedEntry, Warning, reconcile_options};

impl MirroringController {
    pub(super) fn sync_endpoints(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let Self {
            config, index, metrics, ..
        } = self;
        let watches_all_services = config.service_selector.is_empty();
        let action = match index.get_mut(key) {
            Some(entry) => entry.action(context, watches_all_services),
            None => Action::without_service(watches_all_services),
        };
        match action {
            Action::Mirror { endpoints } => {
                let (plan, warnings) = mirror(endpoints, key, context, config, metrics)?;
                let events = warnings
                    .into_iter()
                    .map(|warning| warning_event(endpoints, key, warning));
                Ok(SyncResult {
                    plan,
                    events: events.collect(),
                    requeue_after: None,
                })
            }
            Action::CleanUp => {
                metrics.remove(key);
                Ok(plan_deletion(context.existing, Partition::default()).into())
            }
            Action::Wait(remaining) => Ok(SyncResult {
                requeue_after: Some(remaining),
                ..SyncResult::default()
            }),
            Action::Ignore => {
                metrics.remove(key);
                Ok(SyncResult::default())
            }
        }
    }

    /// Returns the event for a sync that keeps failing (D15); none if there is no eligible Endpoints object to record it
    /// on, or if it fails by conflicts only.
    pub(super) fn failure_event_for(&self, key: &Key, failures: &[SyncFailure]) -> Option<Event> {
        let endpoints = self.index.get(key)?.endpoints.as_ref()?;
        let failures = describe_failures("Endpoints", key, failures)?;
        let warning = Warning {
            reason: well_known::FAILED_TO_UPDATE_SLICES,
            message: format!("Error updating Endpoint Slices for Endpoints {key}: {failures}"),
        };
        Some(warning_event(endpoints, key, warning))
    }
}

/// Plans the writes for a mirrored object, and returns its warnings (M36–M106).
fn mirror(
    endpoints: &Endpoints,
    key: &Key,
    context: &SyncContext<'_>,
    config: &Config,
    metrics: &mut Metrics,
) -> Result<(Plan, Vec<Warning>), SyncError> {
    let max = config.max_endpoints_per_subset;
    let Desired {
        groups,
        skipped_addresses,
        mut warnings,
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
        // Mirrored slices have no trigger time (M90): the metadata policy removes it with all foreign annotations.
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: &format!("{}-", key.name),
        reserved_names: context.reserved_names,
    };
    let options = reconcile_options(max);
    let plan = plan(request, &options)?;
    metrics.record_plan(key, &plan, skipped_addresses);
    // Skipped addresses are already in `warnings`, as a count.
    let skipped_ports = skipped_entries
        .iter()
        .filter(|entry| !matches!(entry, SkippedEntry::Address { .. }));
    let rejected = plan.rejected.iter().map(ToString::to_string);
    let not_mirrored: Examples = skipped_ports.map(ToString::to_string).chain(rejected).collect();
    let message = not_mirrored.message("ports, endpoints or labels are not mirrored");
    warnings.extend(message.map(|message| Warning {
        reason: well_known::FAILED_TO_UPDATE_SLICES,
        message,
    }));
    Ok((plan, warnings))
}

fn warning_event(endpoints: &Endpoints, key: &Key, warning: Warning) -> Event {
    Event::warning(&endpoints.owner(key), warning.reason, warning.message)
}
