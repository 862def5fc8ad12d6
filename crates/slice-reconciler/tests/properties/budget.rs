//! How many writes a plan may have, counted from what there is and what is wanted.

use std::collections::BTreeMap;

use slice_core::{
    AddressType, CompactSlice, Endpoint, EndpointSource as _, Hints, PortMapKey, well_known::TRIGGER_TIME_ANNOTATION,
};
use slice_reconciler::{
    Annotations, Operation, Ownership, Plan, TriggerTime,
    hints::{HintMode, TrafficDistribution},
};

use crate::world::{Key, World, is_same, key};

/// What there is to do.
#[derive(Debug, Default)]
pub(crate) struct Budget<'w> {
    /// Our slices of wanted groups, and what of them stays wanted there.
    pub(crate) kept: Vec<(&'w CompactSlice, Vec<&'w Endpoint>)>,
    /// By group. Slices of a type that is no longer known are one, too.
    shares: BTreeMap<Option<Key>, Share>,
    /// Where slices exchange endpoints, the last of them need not wait for any other: at most so many in all groups together.
    exchanges: usize,
}

/// What there is to do in one group.
#[derive(Debug, Default)]
struct Share {
    /// Slices that cannot stay as they are.
    touched: usize,
    /// Slices that it takes to hold what comes into the group, or is too much where it was.
    new: usize,
    placeholders: usize,
    /// Where slices exchange endpoints, one of two has them first put into a new slice (I4): at most so many.
    exchanges: usize,
}

impl Share {
    fn writes_without_exchanges(&self) -> usize {
        self.touched + self.new + self.placeholders
    }
}

/// What is wanted of one group.
#[derive(Default)]
struct Open<'w> {
    /// What was found in no slice yet.
    left: Vec<&'w Endpoint>,
    /// What is too much in slices that are written only for their hints or to adopt them: what comes in has its place then.
    beyond: usize,
    has_slice: bool,
}

impl<'w> Budget<'w> {
    pub(crate) fn of(world: &'w World, plan: &Plan) -> Self {
        let mut budget = Self {
            exchanges: exchanges_of_all(world),
            ..Self::default()
        };
        let mut groups: BTreeMap<Key, Open<'_>> = BTreeMap::new();
        for (key, left) in world.by_key() {
            groups.insert(
                key,
                Open {
                    left,
                    ..Open::default()
                },
            );
        }
        let mut existing: Vec<&CompactSlice> = world.existing.iter().filter(|slice| world.concerns(slice)).collect();
        existing.sort_by_key(|slice| slice.metadata.name.clone());
        for slice in existing {
            let group = key(slice).filter(|_| world.is_ours(slice));
            let group = group.and_then(|group| groups.get_mut(&group));
            match group.filter(|group| world.fills() || !group.has_slice) {
                Some(group) => budget.look_at(world, plan, slice, group),
                None if world.is_spared(slice) => {}
                None => budget.share(key(slice)).touched += 1,
            }
        }
        for (key, group) in groups {
            let adds = if world.fills() {
                group.left.len()
            } else {
                group.left.len().min(world.max())
            };
            budget.share(Some(key)).new = adds.div_ceil(world.max()) + group.beyond.div_ceil(world.max());
        }
        for address_type in placeholders(world) {
            budget.share(Some((address_type, PortMapKey::new([])))).placeholders = 1;
        }
        budget
    }

    fn share(&mut self, key: Option<Key>) -> &mut Share {
        self.shares.entry(key).or_default()
    }

    fn look_at(&mut self, world: &World, plan: &Plan, slice: &'w CompactSlice, group: &mut Open<'w>) {
        let mut kept = take(slice, &mut group.left);
        group.has_slice = true;
        let stays = stays(world, slice, &kept, group);
        let too_much = kept.len().saturating_sub(world.max());
        if !stays {
            // What is too much may be in a later slice too.
            let beyond = kept.drain(kept.len() - too_much..);
            group.left.extend(beyond.map(|(_, wanted)| wanted));
        }
        if !world.fills() {
            // There is no other slice.
            group.left.truncate(world.max() - kept.len());
        }
        let written = !stays || is_written_to_adopt(world, slice) || is_written_for_hints(world, slice, plan);
        let share = self.share(key(slice));
        share.touched += usize::from(written);
        // With one slice per group, something comes into it and was counted: a new one takes its place.
        share.exchanges += usize::from(world.fills() && !kept.is_empty() && may_exchange(world, slice));
        if stays && written {
            kept.truncate(world.max());
            group.beyond += too_much;
        }
        self.kept
            .push((slice, kept.into_iter().map(|(stored, _)| stored).collect()));
    }

    /// How many writes there may be.
    pub(crate) fn writes(&self) -> usize {
        let exchanges: usize = self.shares.values().map(|share| share.exchanges).sum();
        let others: usize = self.shares.values().map(Share::writes_without_exchanges).sum();
        others + exchanges.min(self.exchanges)
    }

    /// The groups in which there are more writes than there may be, and how many there are.
    pub(crate) fn overdrawn(&self, world: &World, plan: &Plan) -> Vec<(Option<Key>, usize)> {
        let may_have = |share: &Share| share.writes_without_exchanges() + share.exchanges;
        let mut writes = writes_by_group(world, plan);
        writes.retain(|group, writes| *writes > self.shares.get(group).map_or(0, may_have));
        writes.into_iter().collect()
    }
}

/// The writes of a plan by group. One that gives a slice the ports of another group counts for both: in one it stands for a
/// deletion, in the other for a creation (R104).
fn writes_by_group(world: &World, plan: &Plan) -> BTreeMap<Option<Key>, usize> {
    let stored = |name: Option<&String>| {
        let mut existing = world.existing.iter();
        existing
            .find(|slice| slice.metadata.name.as_ref() == name)
            .and_then(key)
    };
    let mut writes = BTreeMap::new();
    for write in &plan.writes {
        let (from, to) = match &write.operation {
            Operation::Create(slice) => (None, Some(key(slice))),
            Operation::Update(slice) => (Some(stored(slice.metadata.name.as_ref())), Some(key(slice))),
            Operation::Delete(deletion) => (Some(stored(Some(&deletion.name))), None),
        };
        for key in from.iter().chain(to.iter().filter(|to| from.as_ref() != Some(to))) {
            *writes.entry(key.clone()).or_default() += 1;
        }
    }
    writes
}

/// The endpoints of a slice that are wanted in its group and were not found before, as stored and as wanted.
fn take<'w>(slice: &'w CompactSlice, left: &mut Vec<&'w Endpoint>) -> Vec<(&'w Endpoint, &'w Endpoint)> {
    let take = |stored: &'w Endpoint| {
        let place = left.iter().position(|wanted| is_same(wanted, stored))?;
        Some((stored, left.swap_remove(place)))
    };
    slice.endpoints.iter().filter_map(take).collect()
}

/// Whether a slice can stay as it is, as far as hints and owner do not matter. A slice that is the only one of its group has to hold
/// something, and no more than fits.
fn stays(world: &World, slice: &CompactSlice, kept: &[(&Endpoint, &Endpoint)], group: &Open<'_>) -> bool {
    let as_wanted = |(stored, wanted): &(&Endpoint, &Endpoint)| wanted.equals_beyond_identity(stored);
    let fits = kept.len() <= world.max() && !(kept.is_empty() && group.left.is_empty());
    kept.len() == slice.endpoints.len()
        && kept.iter().all(as_wanted)
        && has_right_metadata(world, slice)
        && (world.fills() || fits)
}

fn has_right_metadata(world: &World, slice: &CompactSlice) -> bool {
    let policy = &world.metadata;
    let stored = |map: &Option<BTreeMap<String, String>>| map.clone().unwrap_or_default();
    let mut labels = stored(&slice.metadata.labels);
    labels.retain(|key, _| !policy.reserved.contains_key(key) && world.partition.0.iter().all(|(ours, _)| ours != key));
    let mut annotations = stored(&slice.metadata.annotations);
    if world.trigger_time != TriggerTime::Unmanaged {
        annotations.remove(TRIGGER_TIME_ANNOTATION);
    }
    let holds = |stored: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>| {
        wanted.iter().all(|(key, value)| stored.get(key) == Some(value))
    };
    let labels_are_right = if policy.keep_other_labels {
        holds(&labels, &policy.labels)
    } else {
        labels == policy.labels
    };
    let annotations_are_right = match &policy.annotations {
        Annotations::Preserve => true,
        Annotations::Set(wanted) => holds(&annotations, wanted),
        Annotations::Replace(wanted) => annotations == *wanted,
    };
    labels_are_right && annotations_are_right
}

fn is_written_to_adopt(world: &World, slice: &CompactSlice) -> bool {
    world.options.ownership == Ownership::Ignore && !world.owner.owns(slice)
}

/// Whether a slice has to be written for its hints. Whether it must with topology hints, only the plan can say; that it is
/// not written for nothing is another property.
fn is_written_for_hints(world: &World, slice: &CompactSlice, plan: &Plan) -> bool {
    let mut ready = slice
        .endpoints
        .iter()
        .filter(|endpoint| endpoint.conditions.ready == Some(true));
    match (world.hints, &world.nodes) {
        (None, _) => false,
        (Some(HintMode::TrafficDistribution(distribution)), _) => ready.any(|endpoint| {
            let given = |name: &Option<_>| {
                name.iter()
                    .filter(|name: &&std::sync::Arc<str>| !name.is_empty())
                    .cloned()
                    .collect::<Vec<_>>()
            };
            let zones = given(&endpoint.zone);
            let nodes = match distribution {
                TrafficDistribution::PreferSameNode => given(&endpoint.node_name),
                _ => vec![],
            };
            let wanted = Hints {
                for_zones: zones,
                for_nodes: nodes,
            };
            endpoint.hints.as_deref().cloned().unwrap_or_default() != wanted
        }),
        (Some(HintMode::Auto), Some(_)) => plan.writes.iter().any(|write| match &write.operation {
            Operation::Update(to) => {
                to.metadata.name == slice.metadata.name
                    && to
                        .endpoints
                        .iter()
                        .zip(&slice.endpoints)
                        .all(|(to, from)| is_same(to, from))
                    && to.endpoints.len() <= slice.endpoints.len()
            }
            _ => false,
        }),
        (Some(HintMode::None | HintMode::Auto), _) => slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some()),
    }
}

/// The address types that have a placeholder.
fn placeholders(world: &World) -> Vec<AddressType> {
    let wanted = world.by_key();
    let has_none = |address_type: &&AddressType| {
        let mut of_type = wanted.iter().filter(|((known, _), _)| known == *address_type);
        let mut spared = world.existing.iter().filter(|slice| world.is_spared(slice));
        of_type.all(|(_, endpoints)| endpoints.is_empty())
            && spared.all(|slice| slice.address_type.as_ref() != Ok(*address_type))
    };
    let supported = world.supported.iter().filter(|_| world.options.placeholder);
    supported.filter(has_none).copied().collect()
}

/// Whether a slice of ours holds what another group of its type wants; with one slice per group, others of the same ports give
/// what they hold to the first.
fn gives(world: &World, slice: &CompactSlice) -> bool {
    let wanted = world.by_key();
    let of_type = wanted
        .iter()
        .filter(|((address_type, _), _)| slice.address_type.as_ref() == Ok(address_type));
    let mut elsewhere = of_type.filter(|((_, ports), _)| slice.ports != *ports || !world.fills());
    elsewhere.any(|(_, endpoints)| endpoints.iter().any(|wanted| holds(slice, wanted)))
}

/// Whether another slice of ours holds what the group of this one wants, and this one does not have.
fn takes(world: &World, slice: &CompactSlice) -> bool {
    let wanted = key(slice).and_then(|key| world.by_key().remove(&key));
    let others = || {
        let ours = world.existing.iter().filter(|other| world.is_ours(other));
        let giving = ours.filter(|other| !world.is_spared(other));
        giving.filter(|other| other.metadata.name != slice.metadata.name)
    };
    let comes = |wanted: &&Endpoint| !holds(slice, wanted) && others().any(|other| holds(other, wanted));
    wanted.iter().flatten().any(comes)
}

fn holds(slice: &CompactSlice, endpoint: &Endpoint) -> bool {
    slice.endpoints.iter().any(|held| is_same(held, endpoint))
}

/// Whether a slice may have to exchange endpoints with others, each of which would have to be written before the other (I4).
pub(crate) fn may_exchange(world: &World, slice: &CompactSlice) -> bool {
    gives(world, slice) && takes(world, slice)
}

/// In each address type one less than there are slices with endpoints that are wanted elsewhere.
fn exchanges_of_all(world: &World) -> usize {
    let giving = |address_type: &AddressType| {
        let ours = world.existing.iter().filter(|slice| world.is_ours(slice));
        let of_type = ours.filter(|slice| slice.address_type.as_ref() == Ok(address_type));
        of_type
            .filter(|slice| gives(world, slice) && !world.is_spared(slice))
            .count()
    };
    let types = world.supported.iter();
    types.map(|address_type| giving(address_type).saturating_sub(1)).sum()
}
