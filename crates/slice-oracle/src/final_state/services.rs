//! Final state of the slices of Services with a selector.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::auto;
use super::compare::{check_labels, describe_endpoint, describe_ports, differences, is_owned, subject};
use crate::config::Role;
use crate::desired::{
    self, DesiredEndpoint, Family, Mechanism, desired_hints, endpoints_of, families, is_managed, mechanism, normalized,
    ports_of,
};
use crate::object::Name;
use crate::state::State;
use crate::violation::{Findings, Invariant};
use crate::well_known::{HEADLESS, MANAGED_BY, SERVICE_NAME};

const RESERVED: [&str; 3] = [SERVICE_NAME, MANAGED_BY, HEADLESS];

/// Check of one Service and address type.
struct ServiceCheck<'s, 'a> {
    service: &'a Service,
    state: &'s State<'a>,
    family: Family,
}

pub(super) fn check(state: &State<'_>, managed_by: &str, findings: &mut Findings) {
    for (name, service) in &state.services {
        if !is_managed(service, state) {
            continue;
        }
        let families = families(service);
        let is_right = |slice: &&EndpointSlice| {
            let family = Family::of_slice(slice);
            is_owned(slice, Role::Services, &service.metadata)
                && family.is_some_and(|family| families.contains(&family))
        };
        let (slices, strays): (Vec<_>, Vec<_>) = state.slices_of(managed_by, *name).into_iter().partition(is_right);
        for slice in strays {
            findings.check(Invariant::I2, subject(slice), false, || {
                let expected = format!("no slice of another owner or address type for Service {name}");
                (expected, format!("one of the type {}", slice.address_type))
            });
        }
        for family in families {
            let check = ServiceCheck { service, state, family };
            let of_family = slices
                .iter()
                .copied()
                .filter(|slice| Family::of_slice(slice) == Some(family));
            check.check(&of_family.collect::<Vec<_>>(), findings);
        }
    }
}

impl ServiceCheck<'_, '_> {
    fn check(&self, slices: &[&EndpointSlice], findings: &mut Findings) {
        let desired = self.desired();
        if desired.is_empty() {
            self.check_placeholder(slices, findings);
        }
        self.check_presence(&desired, slices, findings);
        for slice in slices {
            check_labels(slice, &self.service.metadata, &RESERVED, findings);
            for endpoint in endpoints_of(slice) {
                self.check_endpoint(&desired, slice, endpoint, findings);
            }
        }
        if mechanism(self.service) == Mechanism::Auto {
            auto::check(self.state, slices, findings);
        }
    }

    /// Desired endpoints by pod uid.
    fn desired(&self) -> BTreeMap<String, DesiredEndpoint> {
        let namespace = Name::of(&self.service.metadata).namespace;
        let pods = self.state.pods_in(namespace);
        let desired = pods.flat_map(|pod| desired::endpoints(self.service, pod, self.state));
        desired
            .filter(|desired| desired.family == self.family)
            .map(|desired| (pod_of(&desired.endpoint), desired))
            .collect()
    }

    /// Object and revision, for a violation.
    fn subject(&self) -> (String, u64) {
        let name = Name::of(&self.service.metadata);
        (format!("Service {name} ({})", self.family.name()), self.state.revision)
    }

    /// Every desired endpoint exists exactly once, with its ports (I1).
    fn check_presence(
        &self,
        desired: &BTreeMap<String, DesiredEndpoint>,
        slices: &[&EndpointSlice],
        findings: &mut Findings,
    ) {
        let mut found: BTreeMap<String, Vec<&EndpointSlice>> = BTreeMap::new();
        for slice in slices {
            for endpoint in endpoints_of(slice) {
                found.entry(pod_of(endpoint)).or_default().push(slice);
            }
        }
        for (pod, desired) in desired {
            let slices_with_pod = found.get(pod).map(Vec::as_slice).unwrap_or_default();
            let name = || describe_endpoint(&desired.endpoint);
            findings.check(Invariant::I1, self.subject(), slices_with_pod.len() == 1, || {
                (
                    format!("pod {} in exactly one endpoint", name()),
                    format!("{}", slices_with_pod.len()),
                )
            });
            for slice in slices_with_pod {
                let ports = ports_of(slice);
                findings.check(Invariant::I1, subject(slice), ports == desired.ports, || {
                    (
                        format!("pod {} with {}", name(), describe_ports(&desired.ports)),
                        describe_ports(&ports),
                    )
                });
            }
        }
    }

    /// Every endpoint is desired, and its fields are right (I2).
    fn check_endpoint(
        &self,
        desired: &BTreeMap<String, DesiredEndpoint>,
        slice: &EndpointSlice,
        endpoint: &Endpoint,
        findings: &mut Findings,
    ) {
        let Some(desired) = desired.get(&pod_of(endpoint)) else {
            findings.check(Invariant::I2, subject(slice), false, || {
                let expected = "only desired endpoints".to_owned();
                (expected, format!("one for {}", describe_endpoint(endpoint)))
            });
            return;
        };
        let (mut desired, mut found) = (desired.endpoint.clone(), normalized(endpoint));
        let mechanism = mechanism(self.service);
        if mechanism != Mechanism::Auto {
            desired.hints = desired_hints(mechanism, &desired);
            found.hints.clone_from(&endpoint.hints);
        }
        let different = differences(&desired, &found);
        findings.check(Invariant::I2, subject(slice), different.is_none(), || {
            let (desired, found) = different.unwrap_or_default();
            (format!("{} with {desired}", describe_endpoint(endpoint)), found)
        });
    }

    /// Without desired endpoints there is exactly one placeholder slice (I5).
    fn check_placeholder(&self, slices: &[&EndpointSlice], findings: &mut Findings) {
        let is_bare = |slice: &EndpointSlice| endpoints_of(slice).is_empty() && ports_of(slice).is_empty();
        let is_placeholder = matches!(slices, [only] if is_bare(only));
        findings.check(Invariant::I5, self.subject(), is_placeholder, || {
            let names: BTreeSet<_> = slices
                .iter()
                .map(|slice| Name::of(&slice.metadata).to_string())
                .collect();
            (
                "exactly one slice, without endpoints and ports".to_owned(),
                format!("{names:?}"),
            )
        });
    }
}

/// The uid of an endpoint's pod; its addresses if it has none.
fn pod_of(endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    let uid = target.and_then(|target| target.uid.clone());
    uid.unwrap_or_else(|| endpoint.addresses.join(", "))
}
