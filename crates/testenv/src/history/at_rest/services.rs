//! The slices of Services that select pods.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::auto;
use super::compare::{check_labels, differences, is_owned, list, subject, title};
use crate::history::limits::Role;
use crate::history::names::{HEADLESS, MANAGED_BY, SERVICE_NAME};
use crate::history::object::Name;
use crate::history::state::State;
use crate::history::violation::{Findings, Invariant};
use crate::history::wanted::{
    self, Family, Mechanism, Wanted, endpoints_of, families, is_judged, mechanism, plain, ports_of, wanted_hints,
};

const RESERVED: [&str; 3] = [SERVICE_NAME, MANAGED_BY, HEADLESS];

/// The Service that is looked at, and for messages about it.
struct Look<'s, 'a> {
    service: &'a Service,
    state: &'s State<'a>,
    family: Family,
}

pub(super) fn check(state: &State<'_>, managed_by: &str, findings: &mut Findings) {
    for (name, service) in &state.services {
        if !is_judged(service, state) {
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
            let look = Look { service, state, family };
            let of_family = slices
                .iter()
                .copied()
                .filter(|slice| Family::of_slice(slice) == Some(family));
            look.check(&of_family.collect::<Vec<_>>(), findings);
        }
    }
}

impl Look<'_, '_> {
    fn check(&self, slices: &[&EndpointSlice], findings: &mut Findings) {
        let wanted = self.wanted();
        if wanted.is_empty() {
            self.check_placeholder(slices, findings);
        }
        self.check_presence(&wanted, slices, findings);
        for slice in slices {
            check_labels(slice, &self.service.metadata, &RESERVED, findings);
            for endpoint in endpoints_of(slice) {
                self.check_endpoint(&wanted, slice, endpoint, findings);
            }
        }
        if mechanism(self.service) == Mechanism::Auto {
            auto::check(self.state, slices, findings);
        }
    }

    /// What should be there, by the uid of the pod.
    fn wanted(&self) -> BTreeMap<String, Wanted> {
        let namespace = Name::of(&self.service.metadata).namespace;
        let pods = self.state.pods_in(namespace);
        let wanted = pods.flat_map(|pod| wanted::endpoints(self.service, pod, self.state));
        wanted
            .filter(|wanted| wanted.family == self.family)
            .map(|wanted| (pod_of(&wanted.endpoint), wanted))
            .collect()
    }

    /// For a message about the Service.
    fn subject(&self) -> (String, u64) {
        let name = Name::of(&self.service.metadata);
        (format!("Service {name} ({})", self.family.name()), self.state.revision)
    }

    /// I1: everything that should be there is, once, with its ports.
    fn check_presence(&self, wanted: &BTreeMap<String, Wanted>, slices: &[&EndpointSlice], findings: &mut Findings) {
        let mut found: BTreeMap<String, Vec<&EndpointSlice>> = BTreeMap::new();
        for slice in slices {
            for endpoint in endpoints_of(slice) {
                found.entry(pod_of(endpoint)).or_default().push(slice);
            }
        }
        for (pod, wanted) in wanted {
            let places = found.get(pod).map(Vec::as_slice).unwrap_or_default();
            let name = || title(&wanted.endpoint);
            findings.check(Invariant::I1, self.subject(), places.len() == 1, || {
                (
                    format!("pod {} in exactly one endpoint", name()),
                    format!("{}", places.len()),
                )
            });
            for slice in places {
                let ports = ports_of(slice);
                findings.check(Invariant::I1, subject(slice), ports == wanted.ports, || {
                    (format!("pod {} with {}", name(), list(&wanted.ports)), list(&ports))
                });
            }
        }
    }

    /// I2: nothing else is there, and what is there is right.
    fn check_endpoint(
        &self,
        wanted: &BTreeMap<String, Wanted>,
        slice: &EndpointSlice,
        endpoint: &Endpoint,
        findings: &mut Findings,
    ) {
        let Some(wanted) = wanted.get(&pod_of(endpoint)) else {
            findings.check(Invariant::I2, subject(slice), false, || {
                let expected = "only endpoints that the pods ask for".to_owned();
                (expected, format!("one for {}", title(endpoint)))
            });
            return;
        };
        let (mut wanted, mut found) = (wanted.endpoint.clone(), plain(endpoint));
        let mechanism = mechanism(self.service);
        if mechanism != Mechanism::Auto {
            wanted.hints = wanted_hints(mechanism, &wanted);
            found.hints.clone_from(&endpoint.hints);
        }
        let different = differences(&wanted, &found);
        findings.check(Invariant::I2, subject(slice), different.is_none(), || {
            let (wanted, found) = different.unwrap_or_default();
            (format!("{} with {wanted}", title(endpoint)), found)
        });
    }

    /// I5: where there is nothing to publish, there is one slice that says so.
    fn check_placeholder(&self, slices: &[&EndpointSlice], findings: &mut Findings) {
        let is_bare = |slice: &EndpointSlice| endpoints_of(slice).is_empty() && ports_of(slice).is_empty();
        let holds = matches!(slices, [only] if is_bare(only));
        findings.check(Invariant::I5, self.subject(), holds, || {
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

/// The uid of the pod behind an endpoint; its addresses when it has none.
fn pod_of(endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    let uid = target.and_then(|target| target.uid.clone());
    uid.unwrap_or_else(|| endpoint.addresses.join(", "))
}
