//! Published endpoints, and those that must never be missing.

use std::collections::BTreeSet;

use slice_core::{CompactSlice, Endpoint, EndpointSource as _};

use crate::{
    fixtures::is_invalid,
    harness::{Harness, Identity, identity},
};

/// The published endpoints of slices that are not terminating.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    endpoints: BTreeSet<Identity>,
    /// Names of pods. A recreated pod replaces the one before.
    pods: BTreeSet<String>,
}

impl Published {
    pub(crate) fn of(harness: &Harness, slices: &[CompactSlice]) -> Self {
        let endpoints = || endpoints(harness, slices);
        Self {
            endpoints: endpoints().map(identity).collect(),
            pods: endpoints().map(|endpoint| pod(endpoint).0).collect(),
        }
    }

    /// Published endpoints that stay desired and valid, and pods of removed address types. Exceptions: endpoints above the
    /// limit with one slice per group, and endpoints that only slices of other owners or types hold, if no new slice is
    /// created for them because the owner is terminating or the desired ports are invalid.
    pub(crate) fn to_preserve(harness: &Harness, final_slices: &[CompactSlice]) -> Self {
        let desired: Vec<&Endpoint> = if harness.fills() {
            let desired = harness.publishable_by_key().into_values().flatten();
            desired.filter(|endpoint| !is_invalid(endpoint)).collect()
        } else {
            endpoints(harness, final_slices).collect()
        };
        let is_usable = |slice: &&CompactSlice| harness.is_ours(slice) && harness.supports(slice);
        let existing = harness.existing.iter();
        let existing: Vec<CompactSlice> = existing
            .filter(|slice| is_usable(slice) || !harness.owner.terminating)
            .cloned()
            .collect();
        let retained: Vec<CompactSlice> = existing
            .iter()
            .filter(|slice| harness.is_retained(slice))
            .cloned()
            .collect();
        let unsupported = existing.iter().filter(|slice| !harness.supports(slice)).cloned();
        let removed: BTreeSet<_> = endpoints(harness, &unsupported.collect::<Vec<_>>()).map(pod).collect();
        Self {
            endpoints: &(&Self::of(harness, &existing).endpoints & &desired.iter().copied().map(identity).collect())
                | &Self::of(harness, &retained).endpoints,
            pods: (&removed & &desired.into_iter().map(pod).collect())
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
        }
    }

    pub(crate) fn missing_from(&self, now: &Self) -> Self {
        Self {
            endpoints: &self.endpoints - &now.endpoints,
            pods: &self.pods - &now.pods,
        }
    }
}

fn endpoints<'s>(harness: &Harness, slices: &'s [CompactSlice]) -> impl Iterator<Item = &'s Endpoint> {
    let live = slices.iter().filter(|slice| harness.is_in_set(slice));
    live.flat_map(|slice| &slice.endpoints)
}

/// The name and uid of the target of an endpoint.
fn pod(endpoint: &Endpoint) -> (String, String) {
    let target = endpoint.target().unwrap();
    (target.name().unwrap().to_owned(), target.uid().unwrap().to_owned())
}
