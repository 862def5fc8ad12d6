//! No gap: an endpoint that stays ready, selected and on a known node stays published and ready (I4).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::jiff::Timestamp;

use super::cache_views::RevisionRange;
use super::inputs::{EndpointKey, Inputs};
use super::step::{Author, Revision};
use crate::config::{CheckConfig, Role};
use crate::desired::{Family, endpoints_of, is_ready};
use crate::object::{is_terminating, label, uid};
use crate::state::{State, owner_reference};
use crate::violation::{Findings, Invariant::I4};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

/// Visibility of a pod or address over all slices of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    Absent,
    /// Not ready in at least one slice.
    NotReady,
    Ready,
}

/// Published endpoints and the slices that contain them.
#[derive(Debug, Default)]
pub(super) struct Published<'a> {
    /// Readiness of the endpoint in each slice, by slice uid.
    by_slice: BTreeMap<EndpointKey<'a>, BTreeMap<&'a str, bool>>,
    /// The input revision that the controller must have observed, as its earlier writes show.
    observed: BTreeMap<EndpointKey<'a>, u64>,
    /// Endpoints that were removed manually and not yet restored by a controller. The controller may remove the last
    /// copy from another slice before it observes the manual write.
    manually_removed: BTreeSet<EndpointKey<'a>>,
    fence: u64,
}

impl<'a> Published<'a> {
    /// All earlier revisions count as observed from here on.
    pub(super) fn fence(&mut self, revision: u64) {
        self.fence = self.fence.max(revision);
    }

    pub(super) fn check(
        &mut self,
        revision: &Revision<'a>,
        inputs: (&Inputs<'a>, &State<'a>),
        config: &'a CheckConfig,
        findings: &mut Findings,
    ) {
        let before = revision
            .before
            .map(|slice| published(slice, config))
            .unwrap_or_default();
        let after = revision
            .after()
            .map(|slice| published(slice, config))
            .unwrap_or_default();
        let slice = uid(&revision.slice.metadata);
        let published: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for key in published.into_iter().filter(|key| before.get(key) != after.get(key)) {
            let by_slice = self.by_slice.entry(key.clone()).or_default();
            let old = visibility(by_slice);
            match after.get(key) {
                Some(ready) => by_slice.insert(slice, *ready),
                None => by_slice.remove(slice),
            };
            let new = visibility(by_slice);
            if revision.author == Author::Manual && after.get(key) != Some(&true) {
                self.manually_removed.insert(key.clone());
            }
            if revision.is_ours() {
                self.check_transition(key, (old, new), revision, (inputs, config), findings);
            }
        }
    }

    fn check_transition(
        &mut self,
        key: &EndpointKey<'a>,
        (old, new): (Visibility, Visibility),
        revision: &Revision<'a>,
        ((inputs, state), config): ((&Inputs<'a>, &State<'a>), &CheckConfig),
        findings: &mut Findings,
    ) {
        let (now, at) = (revision.event.revision(), revision.event.at());
        let observed = self.observed.entry(key.clone()).or_default();
        *observed = self.fence.max(*observed);
        let timeline = inputs.ready(key);
        let first_revision = |ready, since| {
            timeline.map_or(Some(*observed), |timeline| {
                timeline.first_revision(ready, *observed, now, since)
            })
        };
        if new == Visibility::Ready {
            self.manually_removed.remove(key);
            *observed = first_revision(true, Timestamp::MIN).unwrap_or(*observed);
        } else if old == Visibility::Ready {
            let since = at.checked_sub(config.lag).unwrap_or(Timestamp::MIN);
            let range = RevisionRange {
                from: *observed,
                to: now,
                since,
            };
            let cause = first_revision(false, since).or_else(|| inputs.seems_unready(key, range, state));
            let is_allowed = cause.is_some() || self.manually_removed.contains(key);
            findings.check(I4, revision.subject(), is_allowed, || {
                let what = describe(key, revision);
                let found = match new {
                    Visibility::Absent => "it is in no slice",
                    _ => "it is not ready",
                };
                (format!("{what} published and ready without a gap"), found.to_owned())
            });
            *observed = cause.unwrap_or(*observed);
        }
    }
}

fn visibility(by_slice: &BTreeMap<&str, bool>) -> Visibility {
    match (by_slice.is_empty(), by_slice.values().all(|ready| *ready)) {
        (true, _) => Visibility::Absent,
        (false, false) => Visibility::NotReady,
        (false, true) => Visibility::Ready,
    }
}

/// Endpoints of a slice and their readiness; empty if the slice has no checked controller or is terminating.
fn published<'a>(slice: &'a EndpointSlice, config: &CheckConfig) -> BTreeMap<EndpointKey<'a>, bool> {
    let role = config.role(label(&slice.metadata, MANAGED_BY));
    let owner = role.and_then(|role| Some((role, owner_reference(slice, role)?)));
    // Clients find slices by the service-name label, not by owner reference.
    let owner = owner.filter(|(_, owner)| owner.name == label(&slice.metadata, SERVICE_NAME));
    let owner = owner.map(|(role, owner)| (role, owner.uid.as_str()));
    let (Some(owner), Some(family), false) = (owner, Family::of_slice(slice), is_terminating(&slice.metadata)) else {
        return BTreeMap::new();
    };
    let mut published = BTreeMap::new();
    for endpoint in endpoints_of(slice) {
        let key = EndpointKey {
            owner,
            family,
            id: id(owner.0, endpoint),
        };
        *published.entry(key).or_insert(true) &= is_ready(endpoint);
    }
    published
}

fn id(role: Role, endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    match (role, target.and_then(|target| target.uid.as_ref())) {
        (Role::Services, Some(uid)) => uid.clone(),
        _ => endpoint.addresses.concat(),
    }
}

/// An endpoint for a message: by pod name if there is one, else by address.
fn describe(key: &EndpointKey<'_>, revision: &Revision<'_>) -> String {
    let slices = revision.before.into_iter().chain([revision.slice]);
    let mut endpoints = slices.flat_map(endpoints_of);
    let endpoint = endpoints.find(|endpoint| id(key.owner.0, endpoint) == key.id);
    let target = endpoint.and_then(|endpoint| endpoint.target_ref.as_ref());
    let name = target.and_then(|target| target.name.as_deref());
    match name {
        Some(name) => format!("pod {name} ({})", key.family.name()),
        None => format!("address {}", key.id),
    }
}
