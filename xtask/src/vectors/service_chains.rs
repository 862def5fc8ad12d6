//! What the service controller answers to a step.

use std::{collections::HashMap, num::NonZeroUsize};

use k8s_openapi::api::core::v1 as api;
use service_slices::{Node, Pod, RESERVED_LABELS, Service, desired};
use slice_core::{Slice, format_trigger_time, names::ZONE_LABEL};
use slice_reconciler::{
    Annotations, MetadataPolicy, Options, Owner, OwnerFlags, Ownership, Packing, Request, TriggerTime,
    hints::{HintMode, NodeFacts, TopologyCache, TopologyOptions},
    plan_with_topology,
};

use super::{chain::Step, compare::Answer};

/// What lives from the first step of a chain to the last.
pub(super) struct Controller {
    topology: TopologyCache<()>,
}

impl Controller {
    pub(super) fn new() -> Self {
        Self {
            topology: TopologyCache::new(TopologyOptions {
                repeat_warnings: true,
                ..TopologyOptions::default()
            }),
        }
    }

    pub(super) fn answer(&mut self, step: &Step, service: &api::Service, max: NonZeroUsize) -> anyhow::Result<Answer> {
        let existing: Vec<Slice> = step.existing_slices.iter().map(Slice::from).collect();
        // Every step is answered anyway, whoever needs a look.
        let _ = self.topology.set_nodes(step.nodes.iter().map(facts));
        let compact = Service::from(service);
        let pods: Vec<Pod<&str>> = step.pods.iter().map(Pod::from).collect();
        let nodes: HashMap<&str, Node> = step
            .nodes
            .iter()
            .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
            .collect();
        let desired = desired(&compact, &pods, &nodes);
        let policy = policy(&compact);
        let prefix = format!("{}-", compact.name);
        let request = Request {
            owner: owner(service),
            supported: desired.address_types.iter().copied().collect(),
            groups: desired.groups,
            existing: &existing,
            metadata: &policy,
            hints: Some(hint_mode(service)),
            trigger_time: step
                .trigger_time
                .as_ref()
                .map_or(TriggerTime::Clear, |time| TriggerTime::Set(format_trigger_time(time.0))),
            name_prefix: &prefix,
        };
        let options = Options {
            packing: Packing::Fill { max },
            placeholder: true,
            ownership: Ownership::Enforce,
            owner_flags: OwnerFlags::default(),
        };
        Ok(Answer::of(plan_with_topology(
            request,
            &options,
            &(),
            &mut self.topology,
        )?))
    }
}

fn owner(service: &api::Service) -> Owner<'_> {
    let metadata = &service.metadata;
    Owner {
        api_version: "v1",
        kind: "Service",
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
        uid: metadata.uid.as_deref().unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

fn policy(service: &Service) -> MetadataPolicy {
    let mut labels = service.slice_labels();
    MetadataPolicy {
        reserved: RESERVED_LABELS.map(|key| (key.to_owned(), labels.remove(key))).into(),
        labels,
        annotations: Annotations::Preserve,
    }
}

fn hint_mode(service: &api::Service) -> HintMode {
    let annotations = service.metadata.annotations.as_ref();
    let distribution = service
        .spec
        .as_ref()
        .and_then(|spec| spec.traffic_distribution.as_deref());
    HintMode::of(|key| annotations?.get(key).map(String::as_str), distribution, true)
}

/// What topology hints need to know of a node.
pub(super) fn facts(node: &api::Node) -> NodeFacts<'_> {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let ready = conditions.and_then(|conditions| conditions.iter().find(|condition| condition.type_ == "Ready"));
    let cpu = status
        .and_then(|status| status.allocatable.as_ref())
        .and_then(|resources| resources.get("cpu"));
    NodeFacts {
        ready: ready.is_some_and(|condition| condition.status == "True"),
        excluded: [
            "node-role.kubernetes.io/control-plane",
            "node-role.kubernetes.io/master",
        ]
        .iter()
        .any(|key| label(key).is_some()),
        zone: label(ZONE_LABEL),
        cpu_milli: cpu.and_then(|cpu| cpu_milli(&cpu.0)),
    }
}

/// The recordings hold whole CPUs and thousandths.
fn cpu_milli(quantity: &str) -> Option<u64> {
    match quantity.strip_suffix('m') {
        Some(milli) => milli.parse().ok(),
        None => quantity.parse::<u64>().ok().map(|cpus| cpus * 1000),
    }
}
