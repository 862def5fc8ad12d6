//! What readers find, and what they must not miss.

use std::collections::BTreeSet;

use slice_core::{CompactSlice, Endpoint, EndpointSource as _};

use crate::{
    objects::is_spoilt,
    world::{Identity, World, identity},
};

/// What readers find in slices that are not being deleted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    endpoints: BTreeSet<Identity>,
    /// Names of pods: where one was made anew, it takes the place of the one before.
    pods: BTreeSet<String>,
}

impl Published {
    pub(crate) fn of(world: &World, slices: &[CompactSlice]) -> Self {
        let endpoints = || endpoints(world, slices);
        Self {
            endpoints: endpoints().map(identity).collect(),
            pods: endpoints().map(|endpoint| pod(endpoint).0).collect(),
        }
    }

    /// What is published and stays wanted, and may be: endpoints, and pods whose address type goes away. With one slice per group,
    /// what does not fit in cannot stay; nor what only slices hold that an owner should not have, when it gets nothing new for it:
    /// because it is going away itself, or because the ports are bad with which it is wanted.
    pub(crate) fn for_good(world: &World, finally: &[CompactSlice]) -> Self {
        let wanted: Vec<&Endpoint> = if world.fills() {
            let wanted = world.by_key().into_values().flatten();
            wanted.filter(|endpoint| !is_spoilt(endpoint)).collect()
        } else {
            endpoints(world, finally).collect()
        };
        let is_right = |slice: &&CompactSlice| world.is_ours(slice) && world.supports(slice);
        let stored = world.existing.iter();
        let stored: Vec<CompactSlice> = stored
            .filter(|slice| is_right(slice) || !world.owner.terminating)
            .cloned()
            .collect();
        let spared: Vec<CompactSlice> = stored.iter().filter(|slice| world.is_spared(slice)).cloned().collect();
        let unsupported = stored.iter().filter(|slice| !world.supports(slice)).cloned();
        let leaving: BTreeSet<_> = endpoints(world, &unsupported.collect::<Vec<_>>()).map(pod).collect();
        Self {
            endpoints: &(&Self::of(world, &stored).endpoints & &wanted.iter().copied().map(identity).collect())
                | &Self::of(world, &spared).endpoints,
            pods: (&leaving & &wanted.into_iter().map(pod).collect())
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
        }
    }

    pub(crate) fn without(&self, now: &Self) -> Self {
        Self {
            endpoints: &self.endpoints - &now.endpoints,
            pods: &self.pods - &now.pods,
        }
    }
}

fn endpoints<'s>(world: &World, slices: &'s [CompactSlice]) -> impl Iterator<Item = &'s Endpoint> {
    let concerned = slices.iter().filter(|slice| world.concerns(slice));
    concerned.flat_map(|slice| &slice.endpoints)
}

/// The name and uid of what is behind an endpoint.
fn pod(endpoint: &Endpoint) -> (String, String) {
    let target = endpoint.target().unwrap();
    (target.name().unwrap().to_owned(), target.uid().unwrap().to_owned())
}
