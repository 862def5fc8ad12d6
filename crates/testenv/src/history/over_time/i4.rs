//! I4: what stays ready, selected and on a known node stays published and ready.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::jiff::Timestamp;

use super::inputs::{Inputs, Place};
use super::step::{Author, Revision};
use super::views::Range;
use crate::history::limits::{Limits, Role};
use crate::history::names::{MANAGED_BY, SERVICE_NAME};
use crate::history::object::{is_going, label, uid};
use crate::history::state::{State, owner};
use crate::history::violation::{Findings, Invariant::I4};
use crate::history::wanted::{Family, endpoints_of, is_ready};

/// What readers of all slices together see of a pod or address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Absent,
    /// In at least one slice.
    NotReady,
    Ready,
}

/// What is published, in which slices.
#[derive(Debug, Default)]
pub(super) struct Published<'a> {
    /// Whether it is ready there, by the uid of the slice.
    shown: BTreeMap<Place<'a>, BTreeMap<&'a str, bool>>,
    /// The revision of the inputs that the controller has shown to know.
    known: BTreeMap<Place<'a>, u64>,
    /// What somebody took out of a slice by hand, and no controller has put back yet. It need not know yet that what it
    /// takes out of another slice is there for the last time.
    harmed: BTreeSet<Place<'a>>,
    fence: u64,
}

impl<'a> Published<'a> {
    /// From here on everything before is known.
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
        let before = revision.before.map(|slice| places(slice, limits)).unwrap_or_default();
        let after = revision.after().map(|slice| places(slice, limits)).unwrap_or_default();
        let slice = uid(&revision.slice.metadata);
        let places: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for place in places.into_iter().filter(|place| before.get(place) != after.get(place)) {
            let shown = self.shown.entry(place.clone()).or_default();
            let old = sight(shown);
            match after.get(place) {
                Some(ready) => shown.insert(slice, *ready),
                None => shown.remove(slice),
            };
            let new = sight(shown);
            if revision.author == Author::Hand && after.get(place) != Some(&true) {
                self.harmed.insert(place.clone());
            }
            if revision.is_ours() {
                self.judge(place, (old, new), revision, (inputs, limits), findings);
            }
        }
    }

    fn judge(
        &mut self,
        place: &Place<'a>,
        (old, new): (Sight, Sight),
        revision: &Revision<'a>,
        ((inputs, state), limits): ((&Inputs<'a>, &State<'a>), &Limits),
        findings: &mut Findings,
    ) {
        let (now, at) = (revision.event.revision(), revision.event.at());
        let known = self.known.entry(place.clone()).or_default();
        *known = self.fence.max(*known);
        let timeline = inputs.ready(place);
        let first = |ready, since| timeline.map_or(Some(*known), |timeline| timeline.first(ready, *known, now, since));
        if new == Sight::Ready {
            self.harmed.remove(place);
            *known = first(true, Timestamp::MIN).unwrap_or(*known);
        } else if old == Sight::Ready {
            let since = at.checked_sub(limits.lag).unwrap_or(Timestamp::MIN);
            let range = Range {
                from: *known,
                to: now,
                since,
            };
            let excuse = first(false, since).or_else(|| inputs.seems_unready(place, range, state));
            let is_right = excuse.is_some() || self.harmed.contains(place);
            findings.check(I4, revision.subject(), is_right, || {
                let what = describe(place, revision);
                let found = match new {
                    Sight::Absent => "it is in no slice any more",
                    _ => "it is not ready any more",
                };
                (
                    format!("{what} to stay published, for it stayed ready"),
                    found.to_owned(),
                )
            });
            *known = excuse.unwrap_or(*known);
        }
    }
}

fn sight(shown: &BTreeMap<&str, bool>) -> Sight {
    match (shown.is_empty(), shown.values().all(|ready| *ready)) {
        (true, _) => Sight::Absent,
        (false, false) => Sight::NotReady,
        (false, true) => Sight::Ready,
    }
}

/// What a slice shows, and whether as ready; nothing when it belongs to nobody who is judged, or is being deleted.
fn places<'a>(slice: &'a EndpointSlice, limits: &Limits) -> BTreeMap<Place<'a>, bool> {
    let role = limits.role(label(&slice.metadata, MANAGED_BY));
    let owner = role.and_then(|role| Some((role, owner(slice, role)?)));
    // Readers find slices by the label, whoever owns them.
    let owner = owner.filter(|(_, owner)| owner.name == label(&slice.metadata, SERVICE_NAME));
    let owner = owner.map(|(role, owner)| (role, owner.uid.as_str()));
    let (Some(owner), Some(family), false) = (owner, Family::of_slice(slice), is_going(&slice.metadata)) else {
        return BTreeMap::new();
    };
    let mut places = BTreeMap::new();
    for endpoint in endpoints_of(slice) {
        let place = Place {
            owner,
            family,
            unit: unit(owner.0, endpoint),
        };
        *places.entry(place).or_insert(true) &= is_ready(endpoint);
    }
    places
}

fn unit(role: Role, endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    match (role, target.and_then(|target| target.uid.as_ref())) {
        (Role::Services, Some(uid)) => uid.clone(),
        _ => endpoint.addresses.concat(),
    }
}

/// What a place is, for a person: the name of the pod where there is one.
fn describe(place: &Place<'_>, revision: &Revision<'_>) -> String {
    let slices = revision.before.into_iter().chain([revision.slice]);
    let mut endpoints = slices.flat_map(endpoints_of);
    let endpoint = endpoints.find(|endpoint| unit(place.owner.0, endpoint) == place.unit);
    let target = endpoint.and_then(|endpoint| endpoint.target_ref.as_ref());
    let name = target.and_then(|target| target.name.as_deref());
    match name {
        Some(name) => format!("pod {name} ({})", place.family.name()),
        None => format!("address {}", place.unit),
    }
}
