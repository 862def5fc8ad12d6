//! Sorting pods into groups by the ports they have for a Service.

use std::{collections::BTreeMap, ptr};

use slice_core::{AddressType, EndpointSet, PortMapKey};
use slice_reconciler::Group;
use smallvec::SmallVec;

use crate::{NamedPort, Pod, PodEndpoint, Service};

/// The numbers of a Service's ports with some pod, in the Service's order; `None` leads nowhere.
type Numbers = SmallVec<[Option<i32>; 4]>;

/// Groups in the making: for each set of ports one group per address type, side by side.
pub(crate) struct Groups<'s, 'a> {
    service: &'s Service,
    address_types: &'static [AddressType],
    /// Whether pods can differ in their ports.
    has_named_targets: bool,
    /// How many pods there are; nearly always all of them are in the first group.
    pods: usize,
    made: Vec<Group<PodEndpoint<'a>>>,
    /// Where the groups of a set of ports begin.
    by_numbers: BTreeMap<Numbers, usize>,
    by_ports: BTreeMap<PortMapKey, usize>,
    /// The pod before: pods made from one template share their ports.
    last: Option<(&'a [NamedPort], usize)>,
}

impl<'s, 'a> Groups<'s, 'a> {
    pub(crate) fn new(service: &'s Service, pods: usize) -> Self {
        Self {
            service,
            address_types: service.families.address_types(),
            has_named_targets: service.has_named_targets(),
            pods,
            made: Vec::new(),
            by_numbers: BTreeMap::new(),
            by_ports: BTreeMap::new(),
            last: None,
        }
    }

    /// The groups of a pod, one per address type of the Service. They exist from now on, whether or not the pod turns out to
    /// be an endpoint (R55 step 2b, G40, G41).
    pub(crate) fn of(&mut self, pod: &'a Pod) -> &mut [Group<PodEndpoint<'a>>] {
        // Otherwise nobody asks for them, and they lie elsewhere.
        let named_ports = if self.has_named_targets { pod.named_ports() } else { &[] };
        let start = match self.last {
            Some((last, start)) if ptr::eq(last, named_ports) => start,
            _ => {
                let start = self.look_up(named_ports);
                self.last = Some((named_ports, start));
                start
            }
        };
        &mut self.made[start..start + self.address_types.len()]
    }

    /// The groups in the order of address types and ports, whichever pod came first.
    pub(crate) fn into_sorted(self) -> Vec<Group<PodEndpoint<'a>>> {
        let mut groups = self.made;
        groups.sort_unstable_by(|a, b| (a.address_type, &a.ports).cmp(&(b.address_type, &b.ports)));
        groups
    }

    fn look_up(&mut self, named_ports: &[NamedPort]) -> usize {
        let ports = self.service.ports.iter();
        let numbers: Numbers = ports.map(|port| port.resolve_target_port(named_ports)).collect();
        if let Some(start) = self.by_numbers.get(&numbers) {
            return *start;
        }
        let ports = self.service.ports.iter().zip(&numbers);
        let key = PortMapKey::new(ports.filter_map(|(port, number)| Some(port.to_port((*number)?))));
        // Other numbers may still be the same ports when two ports of the Service have the same name.
        let next = self.made.len();
        let start = *self.by_ports.entry(key.clone()).or_insert(next);
        if start == next {
            let room = if next == 0 { self.pods } else { 0 };
            self.made.extend(self.address_types.iter().map(|address_type| Group {
                address_type: *address_type,
                ports: key.clone(),
                endpoints: EndpointSet::with_capacity(room),
            }));
        }
        self.by_numbers.insert(numbers, start);
        start
    }
}
