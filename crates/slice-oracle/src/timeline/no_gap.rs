//! I4: what stays ready, selected and on a observed node stays published and ready.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::jiff::Timestamp;

use super::cache_views::RevisionRange;
use super::inputs::{EndpointKey, Inputs};
use super::step::{Author, Revision};
use crate::config::{Limits, Role};
use crate::desired::{Family, endpoints_of, is_ready};
use crate::object::{is_terminating, label, uid};
use crate::state::{State, owner_reference};
use crate::violation::{Findings, Invariant::I4};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

/// What readers of all slices together see of a pod or address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    Absent,
    /// In at least one slice.
    NotReady,
    Ready,
}

/// What is published, in which slices.
#[derive(Debug, Default)]
pub(super) struct Published<'a> {
    /// Whether it is ready there, by the uid of the slice.
    by_slice: BTreeMap<EndpointKey<'a>, BTreeMap<&'a str, bool>>,
    /// The revision of the inputs that the controller has by_slice to know.
    observed: BTreeMap<EndpointKey<'a>, u64>,
    /// What somebody took out of a slice by hand, and no controller has put back yet. It need not know yet that what it
    /// takes out of another slice is there for the last time.
    manually_removed: BTreeSet<EndpointKey<'a>>,
    fence: u64,
}

impl<'a> Published<'a> {
    /// From here on everything before is observed.
    pub(super) fn fence(&mut self, revision: u64) {
        self.fence = self.fence.max(revision);
    }

    pub(super) fn check(
        &mut self,
        revision: &Revision<'a>,
        inputs: (&Inputs<'a>, &State<'a>),
        limits: &'a Limits,
        findings: &mut Findings,
    ) {
        let before = revision
            .before
            .map(|slice| published(slice, limits))
            .unwrap_or_default();
        let after = revision
            .after()
            .map(|slice| published(slice, limits))
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
                self.check_transition(key, (old, new), revision, (inputs, limits), findings);
            }
        }
    }

    fn check_transition(
        &mut self,
        key: &EndpointKey<'a>,
        (old, new): (Visibility, Visibility),
        revision: &Revision<'a>,
        ((inputs, state), limits): ((&Inputs<'a>, &State<'a>), &Limits),
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
            let since = at.checked_sub(limits.lag).unwrap_or(Timestamp::MIN);
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
                    Visibility::Absent => "it is in no slice any more",
                    _ => "it is not ready any more",
                };
                (
                    format!("{what} to stay published, for it stayed ready"),
                    found.to_owned(),
                )
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

/// What a slice shows, and whether as ready; nothing when it belongs to nobody who is judged, or is being deleted.
fn published<'a>(slice: &'a EndpointSlice, limits: &Limits) -> BTreeMap<EndpointKey<'a>, bool> {
    let role = limits.role(label(&slice.metadata, MANAGED_BY));
    let owner = role.and_then(|role| Some((role, owner_reference(slice, role)?)));
    // Readers find slices by the label, whoever owns them.
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

/// What a key is, for a person: the name of the pod where there is one.
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
