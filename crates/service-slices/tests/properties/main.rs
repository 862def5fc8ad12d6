//! Properties over random Services, pods and nodes.
//!
//! The cases are the same on every run; see `.cargo/config.toml` for how to run others.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod strategies;

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
};

use k8s_openapi::api::core::v1 as api;
use proptest::prelude::*;
use service_slices::{AddressError, Desired, Node, Pod, Service, SkipReason, SkippedPod, desired};
use slice_core::{
    Address, AddressType, CompactSlice, Endpoint, EndpointSource, Interner, PortMapKey, validation::is_label_value,
};
use slice_reconciler::{
    Operation, Partition, Plan, PlanError, PlanRequest, TriggerTime,
    hints::{NodeInfo, TopologyCache},
    plan,
};

use self::strategies::{nodes, pods, service};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// Equal inputs give equal groups, in any order of pods, with interned strings or without (G32 for pods, R78).
    #[test]
    fn g32_groups_do_not_depend_on_the_order_of_pods(service in service(), mut pods in pods(), nodes in nodes(), seed in any::<u64>()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let compact: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let summary = Summary::from_desired(desired(&service, &compact, &nodes));
        let mut interner = Interner::default();
        let interned: Vec<Pod> = pods.iter().map(|pod| Pod::from_k8s(pod, &mut interner)).collect();
        prop_assert_eq!(&Summary::from_desired(desired(&service, &interned, &nodes)), &summary);
        fastrand::Rng::with_seed(seed).shuffle(&mut pods);
        let shuffled: Vec<Pod> = pods.iter().map(Pod::from).collect();
        prop_assert_eq!(Summary::from_desired(desired(&service, &shuffled, &nodes)), summary);
    }

    /// Every eligible pod is published once per address type, with all valid addresses of the type; every invalid address is
    /// reported (I1, R55, R57, R60, R65, W23).
    #[test]
    fn i1_every_pod_is_published_once_per_family_or_reported(service in service(), pods in pods(), nodes in nodes()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let compact: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let summary = Summary::from_desired(desired(&service, &compact, &nodes));
        for pod in &pods {
            check_pod(pod, &service, &nodes, &summary)?;
        }
        let published: usize = summary.groups.iter().map(|(_, endpoints)| endpoints.len()).sum();
        let pods: usize = pods.iter().map(|pod| summary.addresses_of(name(pod)).len()).sum();
        prop_assert_eq!(published, pods, "an endpoint has no pod");
    }

    /// Pods share a group if and only if they have equal ports for the Service, and all address types have the same groups (R72,
    /// R75).
    #[test]
    fn r75_one_group_per_set_of_ports(service in service(), pods in pods(), nodes in nodes()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let compact: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let desired = desired(&service, &compact, &nodes);
        let mut expected: Vec<(AddressType, PortMapKey)> = Vec::new();
        for pod in compact.iter().filter(|pod| pod.eligible) {
            let ports = service.ports.iter().filter_map(|port| Some(port.to_port(port.resolve_target_port(pod.named_ports.as_ref().map_or(&[], |ports| ports))?)));
            let ports = PortMapKey::new(ports);
            expected.extend(desired.address_types.iter().map(|address_type| (*address_type, ports.clone())));
        }
        expected.sort();
        expected.dedup();
        let groups: Vec<_> = desired.groups.iter().map(|group| (group.address_type, group.ports.clone())).collect();
        prop_assert_eq!(groups, expected);
    }

    /// Deriving and planning never panic on arbitrary objects, and no slice exceeds the maximum (F25).
    #[test]
    fn f25_arbitrary_objects_never_panic(service in service(), before in pods(), after in pods(), nodes in nodes(), max in 1..4_usize) {
        let max = NonZeroUsize::new(max).unwrap();
        let existing: Vec<CompactSlice> = written(planned(&service, &before, &nodes, &[], max)).collect();
        for slice in written(planned(&service, &after, &nodes, &existing, max)) {
            prop_assert!(slice.endpoints.len() <= max.get());
        }
    }
}

fn by_name(nodes: &[api::Node]) -> HashMap<&str, Node> {
    let named = nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap(), Node::from(node)));
    named.collect()
}

fn name(pod: &api::Pod) -> &str {
    pod.metadata.name.as_deref().unwrap()
}

/// Desired endpoints in comparable form.
#[derive(Debug, PartialEq)]
struct Summary {
    groups: Vec<((AddressType, PortMapKey), Vec<Endpoint>)>,
    skipped: Vec<String>,
}

impl Summary {
    fn from_desired(desired: Desired<'_>) -> Self {
        let groups = desired.groups.into_iter().map(|group| {
            let endpoints = group.endpoints.into_sorted();
            let endpoints = endpoints.iter().map(EndpointSource::to_endpoint);
            ((group.address_type, group.ports), endpoints.collect())
        });
        Self {
            groups: groups.collect(),
            skipped: desired.skipped.iter().map(SkippedPod::to_string).collect(),
        }
    }

    /// The published addresses of a pod, by address type.
    fn addresses_of(&self, pod: &str) -> Vec<(AddressType, Vec<Address>)> {
        let endpoints = self
            .groups
            .iter()
            .flat_map(|((address_type, _), endpoints)| endpoints.iter().map(|endpoint| (*address_type, endpoint)));
        let of_pod = endpoints.filter(|(_, endpoint)| endpoint.target().unwrap().name() == Some(pod));
        of_pod
            .map(|(address_type, endpoint)| (address_type, endpoint.addresses.to_vec()))
            .collect()
    }

    fn reports(&self, pod: &str, reason: SkipReason<'_>) -> bool {
        let skipped = SkippedPod {
            namespace: "ns",
            pod,
            reason,
        };
        self.skipped.contains(&skipped.to_string())
    }
}

fn check_pod(
    pod: &api::Pod,
    service: &Service,
    nodes: &HashMap<&str, Node>,
    summary: &Summary,
) -> Result<(), TestCaseError> {
    let status = pod.status.as_ref();
    let ips: Vec<&str> = status
        .iter()
        .flat_map(|status| status.pod_ips.iter().flatten())
        .map(|ip| ip.ip.as_str())
        .collect();
    let has_address =
        !ips.is_empty() || status.is_some_and(|status| !status.pod_ip.as_deref().unwrap_or_default().is_empty());
    let finished = status.is_some_and(|status| matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")));
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default();
    let is_known = nodes.contains_key(node) || service.publish_not_ready_addresses;
    let eligible = has_address && !finished;
    prop_assert_eq!(
        summary.reports(name(pod), SkipReason::NodeNotFound(node)),
        eligible && !is_known
    );

    let (mut published, mut rejected): (BTreeMap<AddressType, Vec<Address>>, usize) = (BTreeMap::new(), 0);
    for ip in ips.iter().filter(|_| eligible && is_known) {
        let address = Address::parse_ip(ip);
        let address_type = address.as_ref().map(Address::address_type);
        if address_type.is_some_and(|address_type| !service.families.address_types().contains(&address_type)) {
            continue;
        }
        let error = match address.map(|address| address.validate().map(|()| address)) {
            Some(Ok(address)) => {
                published.entry(address.address_type()).or_default().push(address);
                continue;
            }
            Some(Err(reason)) => AddressError::InvalidAddress(reason),
            None => AddressError::NotAnIp,
        };
        rejected += 1;
        prop_assert!(
            summary.reports(name(pod), SkipReason::Address { address: ip, error }),
            "{ip:?} is not reported"
        );
    }
    for addresses in published.values_mut() {
        addresses.sort_by_key(ToString::to_string);
    }
    prop_assert_eq!(
        summary.addresses_of(name(pod)),
        published.into_iter().collect::<Vec<_>>()
    );
    let of_pod = |skipped: &&String| skipped.starts_with(&format!("pod ns/{}: address", name(pod)));
    prop_assert_eq!(summary.skipped.iter().filter(of_pod).count(), rejected);
    Ok(())
}

fn planned(
    service: &api::Service,
    pods: &[api::Pod],
    nodes: &[api::Node],
    existing: &[CompactSlice],
    max: NonZeroUsize,
) -> Plan {
    let compact = Service::from(service);
    let pods: Vec<Pod> = pods.iter().map(Pod::from).collect();
    let by_name = by_name(nodes);
    let desired = desired(&compact, &pods, &by_name);
    let mut topology = TopologyCache::default();
    let nodes = by_name.values().map(|node| NodeInfo {
        ready: true,
        excluded: false,
        zone: node.zone.as_deref(),
        cpu_milli: Some(1),
    });
    assert!(topology.set_nodes(nodes).is_empty());
    let policy = compact.metadata_policy();
    let request = PlanRequest {
        owner: compact.owner(),
        partition: Partition::default(),
        address_types: desired.address_types.iter().copied().collect(),
        desired: desired.groups,
        existing,
        metadata: &policy,
        hints: Some(compact.hints),
        topology: Some(topology.entry(&())),
        trigger_time: TriggerTime::Clear,
        name_prefix: "web-",
        reserved_names: &[],
    };
    let options = service_slices::reconcile_options(max);
    let plan = plan(request, &options);
    // Only invalid names are rejected.
    let name = compact.name.as_ref();
    match &plan {
        Err(PlanError::NoName { .. }) => assert_eq!(name, ""),
        Err(PlanError::Label { .. }) => assert!(!is_label_value(name), "{name}"),
        _ => assert!(plan.is_ok() && is_label_value(name), "{plan:?}"),
    }
    plan.unwrap_or_default()
}

fn written(plan: Plan) -> impl Iterator<Item = CompactSlice> {
    plan.writes.into_iter().filter_map(|write| match write.operation {
        Operation::Create(slice) | Operation::Update(slice) => Some(slice),
        Operation::Delete(_) => None,
    })
}
