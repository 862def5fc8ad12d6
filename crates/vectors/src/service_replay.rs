//! Replays steps of the Service controller.

use std::{collections::HashMap, num::NonZeroUsize};

use k8s_openapi::api::core::v1 as api;
use service_slices::{Node, NodeState, Pod, Service, desired};
use slice_core::{CompactSlice, format_trigger_time};
use slice_reconciler::{
    Partition, PlanRequest, TriggerTime,
    hints::{TopologyCache, TopologyOptions},
    plan,
};

use super::{chain::Step, compare::ReconcileResult};

/// State of the controller across the steps of a chain.
pub(super) struct ServiceReplay {
    topology: TopologyCache<()>,
}

impl ServiceReplay {
    pub(super) fn new() -> Self {
        Self {
            topology: TopologyCache::new(TopologyOptions {
                repeat_warnings: true,
                ..TopologyOptions::default()
            }),
        }
    }

    /// Our result of a step.
    pub(super) fn replay(
        &mut self,
        step: &Step,
        service: &api::Service,
        max: NonZeroUsize,
    ) -> anyhow::Result<ReconcileResult> {
        let existing: Vec<CompactSlice> = step.existing_slices.iter().map(CompactSlice::from).collect();
        // The keys to enqueue are ignored: every step is replayed anyway.
        let states: Vec<NodeState> = step.nodes.iter().map(NodeState::from).collect();
        let _ = self.topology.set_nodes(states.iter().map(NodeState::topology_info));
        let service = Service::from(service);
        let pods: Vec<Pod> = step.pods.iter().map(Pod::from).collect();
        let nodes: HashMap<&str, Node> = step
            .nodes
            .iter()
            .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
            .collect();
        let desired = desired(&service, &pods, &nodes);
        let policy = service.metadata_policy();
        let prefix = format!("{}-", service.name);
        let request = PlanRequest {
            owner: service.owner(),
            partition: Partition::default(),
            address_types: desired.address_types.iter().copied().collect(),
            desired: desired.groups,
            existing: &existing,
            metadata: &policy,
            hints: Some(service.hints),
            topology: Some(self.topology.entry(&())),
            trigger_time: step
                .trigger_time
                .as_ref()
                .map_or(TriggerTime::Clear, |time| TriggerTime::Set(format_trigger_time(time.0))),
            name_prefix: &prefix,
            reserved_names: &[],
        };
        let options = service_slices::reconcile_options(max);
        Ok(ReconcileResult::from_plan(plan(request, &options)?))
    }
}
