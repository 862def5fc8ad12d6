//! What readers find, and what they must not miss.

use std::{collections::BTreeSet, sync::Arc};

use slice_core::{Endpoint, Slice};

use crate::world::{Identity, World, identity, is_live};

/// What readers find in slices that are not being deleted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    endpoints: BTreeSet<Identity>,
    /// Names of pods: where one was made anew, it takes the place of the one before.
    pods: BTreeSet<String>,
}

impl Published {
    pub(crate) fn of(slices: &[Slice]) -> Self {
        Self {
            endpoints: endpoints(slices).map(identity).collect(),
            pods: endpoints(slices).map(|endpoint| pod(endpoint).0).collect(),
        }
    }

    /// What is published and stays wanted: endpoints, and pods whose address type goes away. With one slice per group, what
    /// does not fit in cannot stay; nor what only slices hold that an owner should not have, when it is going away itself and
    /// gets nothing new.
    pub(crate) fn for_good(world: &World, finally: &[Slice]) -> Self {
        let wanted: Vec<&Endpoint> = if world.fills() {
            world.wanted.iter().flat_map(|wanted| &wanted.endpoints).collect()
        } else {
            endpoints(finally).collect()
        };
        let is_right = |slice: &&Slice| world.is_ours(slice) && world.supports(slice);
        let stored = world.existing.iter();
        let stored: Vec<Slice> = stored
            .filter(|slice| is_right(slice) || !world.owner.terminating)
            .cloned()
            .collect();
        let unsupported = stored.iter().filter(|slice| !world.supports(slice)).cloned();
        let leaving: BTreeSet<_> = endpoints(&unsupported.collect::<Vec<_>>()).map(pod).collect();
        Self {
            endpoints: &Self::of(&stored).endpoints & &wanted.iter().copied().map(identity).collect(),
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

fn endpoints(slices: &[Slice]) -> impl Iterator<Item = &Endpoint> {
    let live = slices.iter().filter(|slice| is_live(slice));
    live.flat_map(|slice| &slice.endpoints)
}

/// The name and uid of what is behind an endpoint.
fn pod(endpoint: &Endpoint) -> (String, String) {
    let target = endpoint.target.as_ref().unwrap();
    let text = |text: &Option<Arc<str>>| text.as_deref().unwrap().to_owned();
    (text(&target.name), text(&target.uid))
}
