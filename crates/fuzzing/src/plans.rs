//! Planning, and a second plan after the first is applied, which must have no writes.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::core::v1 as api;
use mirroring::{Metadata, Subsets, check_mirrored};
use service_slices::{Node, Pod, Service, desired};
use slice_core::{AddressType, CompactSlice, Interner, well_known::ZONE_LABEL};
use slice_reconciler::{
    MetadataPolicy, Owner, Plan, PlanRequest, TriggerTime,
    hints::{NodeInfo, TopologyCache, TopologyOptions},
    plan,
};

use crate::step::Step;

/// Plans for the Service and for the Endpoints object of a step.
pub(crate) fn check(step: &Step) {
    if let Some(service) = &step.service {
        let compact = Service::from(service);
        let pods: Vec<Pod> = step.pods.iter().map(Pod::from).collect();
        let mut interner = Interner::default();
        let shared: Vec<Pod> = step.pods.iter().map(|pod| Pod::from_k8s(pod, &mut interner)).collect();
        let plan = plan_twice(&step.existing, service_planner(step, &compact, &pods));
        let from_interned = plan_twice(&step.existing, service_planner(step, &compact, &shared));
        assert_eq!(plan, from_interned, "interned strings give the same plan");
    }
    if let Some(endpoints) = &step.endpoints {
        let _ = check_mirrored(endpoints, step.service.as_ref());
        plan_twice(&step.existing, |existing| plan_endpoints(step, endpoints, existing));
    }
}

/// Plans, applies the writes and plans again: the second plan has no writes. Returns the first plan, or `None` if the owner
/// is invalid.
fn plan_twice(existing: &[CompactSlice], mut planner: impl FnMut(&[CompactSlice]) -> Option<Plan>) -> Option<Plan> {
    let first = planner(existing)?;
    let mut slices = existing.to_vec();
    for write in &first.writes {
        write.operation.apply_to(&mut slices);
    }
    let second = planner(&slices)?;
    if names_are_unique(existing) {
        assert_eq!(second.writes, [], "after {:#?}", first.writes);
    }
    Some(first)
}

/// Whether an API server could store these slices together.
fn names_are_unique(slices: &[CompactSlice]) -> bool {
    let names: BTreeSet<_> = slices
        .iter()
        .filter_map(|slice| slice.metadata.name.as_deref())
        .collect();
    names.len() == slices.len()
}

/// A planner for a Service with one topology cache for all its plans, as in a controller.
fn service_planner<'s>(
    step: &'s Step,
    service: &'s Service,
    pods: &'s [Pod],
) -> impl FnMut(&[CompactSlice]) -> Option<Plan> + use<'s> {
    let nodes: HashMap<&str, Node> = step
        .nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
        .collect();
    let mut topology = TopologyCache::new(TopologyOptions::default());
    // The cache has no owners yet that would have to be enqueued.
    let _ = topology.set_nodes(step.nodes.iter().map(node_info));
    move |existing| {
        let desired = desired(service, pods, &nodes);
        let metadata = service.metadata_policy();
        let request = PlanRequest {
            address_types: desired.address_types.iter().copied().collect(),
            desired: desired.groups,
            hints: Some(service.hints),
            topology: Some(topology.entry(&())),
            trigger_time: step.trigger_time.clone().map_or(TriggerTime::Clear, TriggerTime::Set),
            ..PlanRequest::new(service.owner(), existing, &metadata, &service.name)
        };
        let options = service_slices::reconcile_options(step.max);
        plan(request, &options).ok()
    }
}

fn plan_endpoints(step: &Step, endpoints: &api::Endpoints, existing: &[CompactSlice]) -> Option<Plan> {
    let subsets = Subsets::read(endpoints);
    let metadata = MetadataPolicy::from(Metadata::of(endpoints));
    let owner = Owner::from_meta("v1", "Endpoints", &endpoints.metadata);
    let request = PlanRequest {
        address_types: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        desired: subsets.desired(step.max).groups,
        ..PlanRequest::new(owner, existing, &metadata, owner.name)
    };
    let options = mirroring::reconcile_options(step.max);
    plan(request, &options).ok()
}

/// The topology input of a node, unlike in a controller without any validation.
fn node_info(node: &api::Node) -> NodeInfo<'_> {
    let labels = node.metadata.labels.as_ref();
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    NodeInfo {
        ready: true,
        excluded: false,
        zone: labels.and_then(|labels| labels.get(ZONE_LABEL)).map(String::as_str),
        cpu_milli: allocatable.and_then(|resources| resources.get("cpu")?.0.parse().ok()),
    }
}
