//! Grouping of pods by the ports that they have for a Service.

use std::{collections::BTreeMap, ptr};

use slice_core::{AddressType, EndpointSet, PortMapKey};
use slice_reconciler::Group;
use smallvec::SmallVec;

use crate::{NamedPort, Pod, PodEndpoint, Service};

/// Target port numbers of a Service for one pod, in the order of the Service's ports; `None` if the pod has no such port.
type PortNumbers = SmallVec<[Option<i32>; 4]>;

/// Builds the groups of desired endpoints. Each set of ports has one group per address type; these are adjacent in `groups`.
pub(crate) struct GroupBuilder<'s, 'a> {
    service: &'s Service,
    address_types: &'static [AddressType],
    /// Whether pods can differ in their ports.
    has_named_targets: bool,
    /// Number of pods, the capacity of the first group, which nearly always contains all of them.
    pods: usize,
    groups: Vec<Group<PodEndpoint<'a>>>,
    /// Index of the first group of a set of ports.
    by_numbers: BTreeMap<PortNumbers, usize>,
    by_ports: BTreeMap<PortMapKey, usize>,
    /// Ports and groups of the previous pod. Pods from one template share their ports, so that a pointer comparison is enough.
    last: Option<(&'a [NamedPort], usize)>,
}

impl<'s, 'a> GroupBuilder<'s, 'a> {
    pub(crate) fn new(service: &'s Service, pods: usize) -> Self {
        Self {
            service,
            address_types: service.families.address_types(),
            has_named_targets: service.has_named_targets(),
            pods,
            groups: Vec::new(),
            by_numbers: BTreeMap::new(),
            by_ports: BTreeMap::new(),
            last: None,
        }
    }

    /// The groups of a pod, one per address type of the Service. They are created even if the pod contributes no endpoint
    /// (R55 step 2b, G40, G41).
    pub(crate) fn groups_for(&mut self, pod: &'a Pod) -> &mut [Group<PodEndpoint<'a>>] {
        // Named ports are behind a pointer; skip the load if they are not needed.
        let named_ports = if self.has_named_targets { pod.named_ports() } else { &[] };
        let start = match self.last {
            Some((last, start)) if ptr::eq(last, named_ports) => start,
            _ => {
                let start = self.find_or_insert(named_ports);
                self.last = Some((named_ports, start));
                start
            }
        };
        &mut self.groups[start..start + self.address_types.len()]
    }

    /// The groups, sorted by address type and ports.
    pub(crate) fn into_sorted(self) -> Vec<Group<PodEndpoint<'a>>> {
        let mut groups = self.groups;
        groups.sort_unstable_by(|a, b| (a.address_type, &a.ports).cmp(&(b.address_type, &b.ports)));
        groups
    }

    /// Index of the first group for these ports.
    fn find_or_insert(&mut self, named_ports: &[NamedPort]) -> usize {
        let ports = self.service.ports.iter();
        let numbers: PortNumbers = ports.map(|port| port.resolve_target_port(named_ports)).collect();
        if let Some(start) = self.by_numbers.get(&numbers) {
            return *start;
        }
        let ports = self.service.ports.iter().zip(&numbers);
        let key = PortMapKey::new(ports.filter_map(|(port, number)| Some(port.to_port((*number)?))));
        // Different numbers can give equal ports if two ports of the Service have the same name.
        let next = self.groups.len();
        let start = *self.by_ports.entry(key.clone()).or_insert(next);
        if start == next {
            let capacity = if next == 0 { self.pods } else { 0 };
            self.groups.extend(self.address_types.iter().map(|address_type| Group {
                address_type: *address_type,
                ports: key.clone(),
                endpoints: EndpointSet::with_capacity(capacity),
            }));
        }
        self.by_numbers.insert(numbers, start);
        start
    }
}
