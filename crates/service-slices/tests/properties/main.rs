//! What holds for whatever Service, pods and nodes there are: properties over random objects.
//!
//! The cases are the same on every run; `.cargo/config.toml` says how to see others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod objects;

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

use self::objects::{nodes, pods, service};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// G32 for pods, and R78: equal inputs give equal groups, in whatever order the pods come, interned or not.
    #[test]
    fn g32_the_order_of_pods_does_not_matter(service in service(), mut pods in pods(), nodes in nodes(), seed in any::<u64>()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let read: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let answer = Answer::of(desired(&service, &read, &nodes));
        let mut interner = Interner::default();
        let interned: Vec<Pod> = pods.iter().map(|pod| Pod::from_k8s(pod, &mut interner)).collect();
        prop_assert_eq!(&Answer::of(desired(&service, &interned, &nodes)), &answer);
        fastrand::Rng::with_seed(seed).shuffle(&mut pods);
        let shuffled: Vec<Pod> = pods.iter().map(Pod::from).collect();
        prop_assert_eq!(Answer::of(desired(&service, &shuffled, &nodes)), answer);
    }

    /// I1, R55, R57, R60, R65, W23: every pod that can be an endpoint is one, once for each family it has publishable
    /// addresses of, with all of these; everything else that it has is named.
    #[test]
    fn i1_every_pod_is_published_once_per_family_or_named(service in service(), pods in pods(), nodes in nodes()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let read: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let answer = Answer::of(desired(&service, &read, &nodes));
        for pod in &pods {
            check_pod(pod, &service, &nodes, &answer)?;
        }
        let published: usize = answer.groups.iter().map(|(_, endpoints)| endpoints.len()).sum();
        let pods: usize = pods.iter().map(|pod| answer.addresses_of(name(pod)).len()).sum();
        prop_assert_eq!(published, pods, "somebody else is published");
    }

    /// R72, R75: pods share a group exactly when they have the same ports for the Service, and each family has the same
    /// groups.
    #[test]
    fn r75_groups_are_sets_of_ports(service in service(), pods in pods(), nodes in nodes()) {
        let (service, nodes) = (Service::from(&service), by_name(&nodes));
        let read: Vec<Pod> = pods.iter().map(Pod::from).collect();
        let desired = desired(&service, &read, &nodes);
        let mut expected: Vec<(AddressType, PortMapKey)> = Vec::new();
        for pod in read.iter().filter(|pod| pod.eligible) {
            let ports = service.ports.iter().filter_map(|port| Some(port.to_port(port.resolve_target_port(pod.named_ports.as_ref().map_or(&[], |ports| ports))?)));
            let ports = PortMapKey::new(ports);
            expected.extend(desired.address_types.iter().map(|address_type| (*address_type, ports.clone())));
        }
        expected.sort();
        expected.dedup();
        let groups: Vec<_> = desired.groups.iter().map(|group| (group.address_type, group.ports.clone())).collect();
        prop_assert_eq!(groups, expected);
    }

    /// F25: arbitrary objects, all the way into a plan, and never a panic. No slice is above the maximum.
    #[test]
    fn f25_arbitrary_objects_never_panic(service in service(), before in pods(), now in pods(), nodes in nodes(), max in 1..4_usize) {
        let max = NonZeroUsize::new(max).unwrap();
        let existing: Vec<CompactSlice> = written(planned(&service, &before, &nodes, &[], max)).collect();
        for slice in written(planned(&service, &now, &nodes, &existing, max)) {
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

/// What is wanted, in a form that can be compared.
#[derive(Debug, PartialEq)]
struct Answer {
    groups: Vec<((AddressType, PortMapKey), Vec<Endpoint>)>,
    skipped: Vec<String>,
}

impl Answer {
    fn of(desired: Desired<'_>) -> Self {
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

    /// The addresses under which a pod is published, by family.
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

    fn names(&self, pod: &str, reason: SkipReason<'_>) -> bool {
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
    answer: &Answer,
) -> Result<(), TestCaseError> {
    let status = pod.status.as_ref();
    let ips: Vec<&str> = status
        .iter()
        .flat_map(|status| status.pod_ips.iter().flatten())
        .map(|ip| ip.ip.as_str())
        .collect();
    let has_address =
        !ips.is_empty() || status.is_some_and(|status| !status.pod_ip.as_deref().unwrap_or_default().is_empty());
    let ended = status.is_some_and(|status| matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")));
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default();
    let is_known = nodes.contains_key(node) || service.publish_not_ready_addresses;
    let eligible = has_address && !ended;
    prop_assert_eq!(
        answer.names(name(pod), SkipReason::NodeNotFound(node)),
        eligible && !is_known
    );

    let (mut published, mut refused): (BTreeMap<AddressType, Vec<Address>>, usize) = (BTreeMap::new(), 0);
    for ip in ips.iter().filter(|_| eligible && is_known) {
        let address = Address::parse_ip(ip);
        let address_type = address.as_ref().map(Address::address_type);
        if address_type.is_some_and(|address_type| !service.families.address_types().contains(&address_type)) {
            continue;
        }
        let problem = match address.map(|address| address.validate().map(|()| address)) {
            Some(Ok(address)) => {
                published.entry(address.address_type()).or_default().push(address);
                continue;
            }
            Some(Err(refusal)) => AddressError::InvalidAddress(refusal),
            None => AddressError::NotAnIp,
        };
        refused += 1;
        prop_assert!(
            answer.names(
                name(pod),
                SkipReason::Address {
                    address: ip,
                    error: problem
                }
            ),
            "{ip:?} is not named"
        );
    }
    for addresses in published.values_mut() {
        addresses.sort_by_key(ToString::to_string);
    }
    prop_assert_eq!(
        answer.addresses_of(name(pod)),
        published.into_iter().collect::<Vec<_>>()
    );
    let about_pod = |skipped: &&String| skipped.starts_with(&format!("pod ns/{}: address", name(pod)));
    prop_assert_eq!(answer.skipped.iter().filter(about_pod).count(), refused);
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
    let known = by_name(nodes);
    let desired = desired(&compact, &pods, &known);
    let mut topology = TopologyCache::default();
    let facts = known.values().map(|node| NodeInfo {
        ready: true,
        excluded: false,
        zone: node.zone.as_deref(),
        cpu_milli: Some(1),
    });
    assert!(topology.set_nodes(facts).is_empty());
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
    // Names that no Service has are refused, and nothing else is.
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
