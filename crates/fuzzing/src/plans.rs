//! From objects to writes, and once more when these are carried out.

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

use crate::objects::Step;

/// Plans for the Service and for the Endpoints object of a step.
pub(crate) fn check(step: &Step) {
    if let Some(service) = &step.service {
        let compact = Service::from(service);
        let pods: Vec<Pod> = step.pods.iter().map(Pod::from).collect();
        let mut interner = Interner::default();
        let shared: Vec<Pod> = step.pods.iter().map(|pod| Pod::from_k8s(pod, &mut interner)).collect();
        let plan = settle(&step.existing, planner_of_service(step, &compact, &pods));
        let from_interned = settle(&step.existing, planner_of_service(step, &compact, &shared));
        assert_eq!(plan, from_interned, "interning does not change a plan");
    }
    if let Some(endpoints) = &step.endpoints {
        let _ = check_mirrored(endpoints, step.service.as_ref());
        settle(&step.existing, |existing| plan_of_endpoints(step, endpoints, existing));
    }
}

/// Plans, carries the plan out and plans again: then there is nothing to do. Owners that cannot be planned for have no plan.
fn settle(existing: &[CompactSlice], mut planner: impl FnMut(&[CompactSlice]) -> Option<Plan>) -> Option<Plan> {
    let first = planner(existing)?;
    let mut slices = existing.to_vec();
    for write in &first.writes {
        write.operation.apply_to(&mut slices);
    }
    let second = planner(&slices)?;
    if can_be_stored(existing) {
        assert_eq!(second.writes, [], "after {:#?}", first.writes);
    }
    Some(first)
}

/// Slices as an API server may hold them, in as far as their names tell them apart.
fn can_be_stored(slices: &[CompactSlice]) -> bool {
    let names: BTreeSet<_> = slices
        .iter()
        .filter_map(|slice| slice.metadata.name.as_deref())
        .collect();
    names.len() == slices.len()
}

/// Plans for a Service, as a controller that lives on from one plan to the next.
fn planner_of_service<'s>(
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
    // Nobody is known yet, so nobody needs a look.
    let _ = topology.set_nodes(step.nodes.iter().map(facts));
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

fn plan_of_endpoints(step: &Step, endpoints: &api::Endpoints, existing: &[CompactSlice]) -> Option<Plan> {
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

/// Not as a controller would read them, but as odd as they can be.
fn facts(node: &api::Node) -> NodeInfo<'_> {
    let labels = node.metadata.labels.as_ref();
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    NodeInfo {
        ready: true,
        excluded: false,
        zone: labels.and_then(|labels| labels.get(ZONE_LABEL)).map(String::as_str),
        cpu_milli: allocatable.and_then(|resources| resources.get("cpu")?.0.parse().ok()),
    }
}
