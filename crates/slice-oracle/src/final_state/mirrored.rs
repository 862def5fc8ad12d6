//! Final state of the slices of mirrored Endpoints objects.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::compare::{check_labels, describe_endpoint, describe_ports, differences, is_owned, subject};
use crate::config::{Manager, Role};
use crate::desired::{Family, Port, endpoints_of, is_mirrored, mirrored_endpoints, normalized, ports_of};
use crate::object::{Name, is_terminating, label};
use crate::state::State;
use crate::violation::{Findings, Invariant};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

const RESERVED: [&str; 2] = [SERVICE_NAME, MANAGED_BY];

/// Identity of an endpoint: equal ones are duplicates (M63).
type Identity = (Vec<String>, Option<String>, Option<String>, Option<String>);
/// Desired endpoints of one repacked subset and address type.
type DesiredGroup = BTreeMap<Identity, Endpoint>;

pub(super) fn check(state: &State<'_>, manager: &Manager, findings: &mut Findings) {
    for (name, endpoints) in &state.endpoints {
        if is_mirrored(endpoints, state) {
            let slices = state.slices_of(&manager.managed_by, *name);
            EndpointsCheck { endpoints, state }.check(&slices, manager, findings);
        }
    }
    for slice in state.slices.values() {
        let name = Name {
            namespace: Name::of(&slice.metadata).namespace,
            name: label(&slice.metadata, SERVICE_NAME),
        };
        // Slices of a terminating Endpoints object may remain until it is deleted.
        let has_source = |endpoints: &&Endpoints| is_mirrored(endpoints, state) || is_terminating(&endpoints.metadata);
        let has_source = state.endpoints.get(&name).is_some_and(has_source);
        // A slice without a service-name label is ignored (M23).
        let is_named = !name.name.is_empty();
        let is_stray = label(&slice.metadata, MANAGED_BY) == manager.managed_by && is_named && !has_source;
        if is_stray && !is_terminating(&slice.metadata) && state.namespace_is_active(name.namespace) {
            findings.check(Invariant::I2, subject(slice), false, || {
                let expected = format!("no mirrored slice, because Endpoints {name} is not mirrored");
                (expected, format!("{} endpoints", endpoints_of(slice).len()))
            });
        }
    }
}

struct EndpointsCheck<'s, 'a> {
    endpoints: &'a Endpoints,
    state: &'s State<'a>,
}

impl EndpointsCheck<'_, '_> {
    fn check(&self, slices: &[&EndpointSlice], manager: &Manager, findings: &mut Findings) {
        let mut groups: BTreeMap<(Family, BTreeSet<Port>), DesiredGroup> = BTreeMap::new();
        for desired in mirrored_endpoints(self.endpoints, manager.max_endpoints) {
            let group = groups.entry((desired.family, desired.ports)).or_default();
            group.insert(identity(&desired.endpoint), desired.endpoint);
        }
        for ((family, ports), desired) in &groups {
            let is_of_group = |slice: &&EndpointSlice| self.is_of_subset(slice, *family, ports);
            let of_group: Vec<_> = slices.iter().copied().filter(is_of_group).collect();
            self.check_ports(*family, ports, &of_group, findings);
            for slice in of_group {
                check_endpoints(slice, desired, findings);
                check_labels(slice, &self.endpoints.metadata, &RESERVED, findings);
            }
        }
        for slice in slices {
            let mut keys = groups.keys();
            let desired = keys.any(|(family, ports)| self.is_of_subset(slice, *family, ports));
            findings.check(Invariant::I2, subject(slice), desired, || {
                let name = Name::of(&self.endpoints.metadata);
                let expected = format!("a slice of Endpoints {name}, with the ports of one of its subsets");
                (
                    expected,
                    format!("{} and {}", slice.address_type, describe_ports(&ports_of(slice))),
                )
            });
        }
    }

    /// Whether a slice belongs to a subset. A subset with duplicate port names has several slices, each with some of
    /// the ports (D3).
    fn is_of_subset(&self, slice: &EndpointSlice, family: Family, ports: &BTreeSet<Port>) -> bool {
        let found = ports_of(slice);
        let fits = found == *ports || (!found.is_empty() && found.is_subset(ports));
        fits && Family::of_slice(slice) == Some(family) && is_owned(slice, Role::Mirroring, &self.endpoints.metadata)
    }

    /// Each port is in one slice, and all ports in the same slice if their names are unique (I1, M74).
    fn check_ports(&self, family: Family, ports: &BTreeSet<Port>, slices: &[&EndpointSlice], findings: &mut Findings) {
        let names: BTreeSet<_> = ports.iter().map(|port| &port.name).collect();
        let times: Vec<_> = slices.iter().flat_map(|slice| ports_of(slice)).collect();
        let each_once = times.len() == ports.len() && times.iter().collect::<BTreeSet<_>>() == ports.iter().collect();
        let one_slice = slices.len() == 1 || (names.len() < ports.len() && !slices.is_empty());
        let name = Name::of(&self.endpoints.metadata);
        let subject = (format!("Endpoints {name} ({})", family.name()), self.state.revision);
        findings.check(Invariant::I1, subject, each_once && one_slice, || {
            let found: Vec<_> = slices
                .iter()
                .map(|slice| Name::of(&slice.metadata).to_string())
                .collect();
            (
                format!("one slice with {}", describe_ports(ports)),
                format!("{found:?}"),
            )
        });
    }
}

/// Every desired endpoint exists exactly once (I1); every endpoint is desired, and its fields are right (I2).
fn check_endpoints(slice: &EndpointSlice, desired: &DesiredGroup, findings: &mut Findings) {
    let mut times: BTreeMap<Identity, usize> = BTreeMap::new();
    for endpoint in endpoints_of(slice) {
        let identity = identity(endpoint);
        let different = match desired.get(&identity) {
            Some(desired) => {
                let mut found = normalized(endpoint);
                found.hints.clone_from(&endpoint.hints);
                differences(desired, &found)
            }
            None => Some(("no endpoint".to_owned(), "an endpoint".to_owned())),
        };
        findings.check(Invariant::I2, subject(slice), different.is_none(), || {
            let (desired, found) = different.unwrap_or_default();
            (format!("{} with {desired}", describe_endpoint(endpoint)), found)
        });
        *times.entry(identity).or_default() += 1;
    }
    for (identity, endpoint) in desired {
        let times = times.get(identity).copied().unwrap_or_default();
        findings.check(Invariant::I1, subject(slice), times == 1, || {
            (
                format!("{} in exactly one endpoint", describe_endpoint(endpoint)),
                times.to_string(),
            )
        });
    }
}

fn identity(endpoint: &Endpoint) -> Identity {
    let target = endpoint.target_ref.as_ref();
    let namespace = target.and_then(|target| target.namespace.clone());
    let name = target.and_then(|target| target.name.clone());
    (endpoint.addresses.clone(), endpoint.hostname.clone(), namespace, name)
}
