//! From objects to writes, and once more when these are carried out.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::core::v1 as api;
use mirroring::{Metadata, Subsets, mirrored};
use service_slices::{Node, Pod, Service, Text, desired};
use slice_core::{AddressType, Slice, names::ZONE_LABEL};
use slice_reconciler::{
    MetadataPolicy, Operation, Owner, Plan, Request, TriggerTime, Write,
    hints::{NodeFacts, TopologyCache, TopologyOptions},
    plan, plan_with_topology,
};

use crate::objects::Step;

/// Plans for the Service and for the Endpoints object of a step.
pub(crate) fn check(step: &Step) {
    if let Some(service) = &step.service {
        let compact = Service::from(service);
        let borrowed: Vec<Pod<&str>> = step.pods.iter().map(|pod| Pod::for_service(pod, &compact)).collect();
        let kept: Vec<Pod> = step.pods.iter().map(Pod::from).collect();
        let existing: Vec<Slice<&str>> = step.existing.iter().map(|slice| slice.map(|text| &**text)).collect();
        let from_borrowed = settle(&existing, planner_of_service(step, &compact, &borrowed));
        let from_kept = settle(&step.existing, planner_of_service(step, &compact, &kept));
        assert_eq!(
            from_borrowed.map(keep),
            from_kept,
            "objects are the same, borrowed or kept"
        );
    }
    if let Some(endpoints) = &step.endpoints {
        let _ = mirrored(endpoints, step.service.as_ref());
        settle(&step.existing, |existing| plan_of_endpoints(step, endpoints, existing));
    }
}

/// Plans, carries the plan out and plans again: then there is nothing to do. Owners that cannot be planned for have no plan.
fn settle<T: Text>(
    existing: &[Slice<T>],
    mut planner: impl FnMut(&[Slice<T>]) -> Option<Plan<Slice<T>>>,
) -> Option<Plan<Slice<T>>> {
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
fn can_be_stored<T: Text>(slices: &[Slice<T>]) -> bool {
    let names: BTreeSet<_> = slices
        .iter()
        .filter_map(|slice| slice.metadata.name.as_deref())
        .collect();
    names.len() == slices.len()
}

/// The same plan in strings of its own.
fn keep(plan: Plan<Slice<&str>>) -> Plan {
    let keep = |slice: Slice<&str>| slice.map(|text| (*text).into());
    let writes = plan.writes.into_iter().map(|Write { operation, after }| Write {
        operation: match operation {
            Operation::Create(slice) => Operation::Create(keep(slice)),
            Operation::Update(slice) => Operation::Update(keep(slice)),
            Operation::Delete(deletion) => Operation::Delete(deletion),
        },
        after,
    });
    Plan {
        writes: writes.collect(),
        summaries: plan.summaries,
        hints: plan.hints,
        left_out: plan.left_out,
    }
}

/// Plans for a Service, as a controller that lives on from one plan to the next.
fn planner_of_service<'s, T: Text>(
    step: &'s Step,
    service: &'s Service,
    pods: &'s [Pod<T>],
) -> impl FnMut(&[Slice<T>]) -> Option<Plan<Slice<T>>> + use<'s, T>
where
    Node<T>: From<&'s api::Node>,
{
    let nodes: HashMap<&str, Node<T>> = step
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
        let request = Request {
            supported: desired.address_types.iter().copied().collect(),
            groups: desired.groups,
            hints: Some(service.hints),
            trigger_time: step.trigger_time.clone().map_or(TriggerTime::Clear, TriggerTime::Set),
            ..Request::new(service.owner(), existing, &metadata, &service.name)
        };
        let options = service_slices::options(step.max);
        plan_with_topology(request, &options, &(), &mut topology).ok()
    }
}

fn plan_of_endpoints(step: &Step, endpoints: &api::Endpoints, existing: &[Slice]) -> Option<Plan> {
    let subsets = Subsets::read(endpoints);
    let metadata = MetadataPolicy::from(Metadata::of(endpoints));
    let owner = Owner::of("v1", "Endpoints", &endpoints.metadata);
    let request = Request {
        supported: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        groups: subsets.desired(step.max).groups,
        ..Request::new(owner, existing, &metadata, owner.name)
    };
    let options = mirroring::options(step.max);
    plan(request, &options).ok()
}

/// Not as a controller would read them, but as odd as they can be.
fn facts(node: &api::Node) -> NodeFacts<'_> {
    let labels = node.metadata.labels.as_ref();
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    NodeFacts {
        ready: true,
        excluded: false,
        zone: labels.and_then(|labels| labels.get(ZONE_LABEL)).map(String::as_str),
        cpu_milli: allocatable.and_then(|resources| resources.get("cpu")?.0.parse().ok()),
    }
}
