//! The maximum number of writes of a plan, from existing slices and desired endpoints.

use std::collections::BTreeMap;

use slice_core::{
    AddressType, CompactSlice, Endpoint, EndpointSource as _, Hints, PortMapKey, well_known::TRIGGER_TIME_ANNOTATION,
};
use slice_reconciler::{
    Annotations, Operation, Ownership, Plan, TriggerTime,
    hints::{HintMode, TrafficDistribution},
};

use crate::harness::{Harness, Key, is_same, key};

/// The allowed writes.
#[derive(Debug, Default)]
pub(crate) struct Budget<'h> {
    /// Our slices of desired groups, and their endpoints that stay desired there.
    pub(crate) kept: Vec<(&'h CompactSlice, Vec<&'h Endpoint>)>,
    /// By group. Slices of unknown address types form one group.
    by_group: BTreeMap<Option<Key>, GroupBudget>,
    /// The maximum of extra slices for exchanges of endpoints, over all groups: the last exchanging slice needs none.
    exchanges: usize,
}

/// The allowed writes of one group.
#[derive(Debug, Default)]
struct GroupBudget {
    /// Existing slices that have to be written.
    changed: usize,
    /// New slices for added endpoints and for overflow.
    new: usize,
    placeholders: usize,
    /// New slices that exchanges of endpoints need, because one of two slices has to be written first (I4).
    exchanges: usize,
}

impl GroupBudget {
    fn writes_without_exchanges(&self) -> usize {
        self.changed + self.new + self.placeholders
    }
}

/// The state of one group while its slices are added.
#[derive(Default)]
struct OpenGroup<'h> {
    /// Desired endpoints that are in no slice yet.
    remaining: Vec<&'h Endpoint>,
    /// Overflow of slices that are written only for hints or adoption, when added endpoints are already placed.
    overflow: usize,
    has_slice: bool,
}

impl<'h> Budget<'h> {
    pub(crate) fn of(harness: &'h Harness, plan: &Plan) -> Self {
        let mut budget = Self {
            exchanges: max_exchanges(harness),
            ..Self::default()
        };
        let mut groups: BTreeMap<Key, OpenGroup<'_>> = BTreeMap::new();
        for (key, remaining) in harness.publishable_by_key() {
            groups.insert(
                key,
                OpenGroup {
                    remaining,
                    ..OpenGroup::default()
                },
            );
        }
        let mut existing: Vec<&CompactSlice> = harness
            .existing
            .iter()
            .filter(|slice| harness.is_in_set(slice))
            .collect();
        existing.sort_by_key(|slice| slice.metadata.name.clone());
        for slice in existing {
            let group = key(slice).filter(|_| harness.is_ours(slice));
            let group = group.and_then(|group| groups.get_mut(&group));
            match group.filter(|group| harness.fills() || !group.has_slice) {
                Some(group) => budget.add_slice(harness, plan, slice, group),
                None if harness.is_retained(slice) => {}
                None => budget.group(key(slice)).changed += 1,
            }
        }
        for (key, group) in groups {
            let adds = if harness.fills() {
                group.remaining.len()
            } else {
                group.remaining.len().min(harness.max())
            };
            budget.group(Some(key)).new = adds.div_ceil(harness.max()) + group.overflow.div_ceil(harness.max());
        }
        for address_type in placeholders(harness) {
            budget.group(Some((address_type, PortMapKey::new([])))).placeholders = 1;
        }
        budget
    }

    fn group(&mut self, key: Option<Key>) -> &mut GroupBudget {
        self.by_group.entry(key).or_default()
    }

    fn add_slice(&mut self, harness: &Harness, plan: &Plan, slice: &'h CompactSlice, group: &mut OpenGroup<'h>) {
        let mut kept = match_endpoints(slice, &mut group.remaining);
        group.has_slice = true;
        let is_up_to_date = is_up_to_date(harness, slice, &kept, group);
        let excess = kept.len().saturating_sub(harness.max());
        if !is_up_to_date {
            // A later slice may have the overflow too.
            let overflow = kept.drain(kept.len() - excess..);
            group.remaining.extend(overflow.map(|(_, desired)| desired));
        }
        if !harness.fills() {
            // There is no other slice.
            group.remaining.truncate(harness.max() - kept.len());
        }
        let written =
            !is_up_to_date || is_written_to_adopt(harness, slice) || is_written_for_hints(harness, slice, plan);
        let group_budget = self.group(key(slice));
        group_budget.changed += usize::from(written);
        // With one slice per group, a new slice replaces it, which is already counted as an add.
        group_budget.exchanges += usize::from(harness.fills() && !kept.is_empty() && may_exchange(harness, slice));
        if is_up_to_date && written {
            kept.truncate(harness.max());
            group.overflow += excess;
        }
        self.kept
            .push((slice, kept.into_iter().map(|(existing, _)| existing).collect()));
    }

    /// The maximum number of writes.
    pub(crate) fn writes(&self) -> usize {
        let exchanges: usize = self.by_group.values().map(|group_budget| group_budget.exchanges).sum();
        let others: usize = self.by_group.values().map(GroupBudget::writes_without_exchanges).sum();
        others + exchanges.min(self.exchanges)
    }

    /// Groups with more writes than allowed, and the number of their writes.
    pub(crate) fn exceeded(&self, harness: &Harness, plan: &Plan) -> Vec<(Option<Key>, usize)> {
        let max = |group_budget: &GroupBudget| group_budget.writes_without_exchanges() + group_budget.exchanges;
        let mut writes = writes_by_group(harness, plan);
        writes.retain(|group, writes| *writes > self.by_group.get(group).map_or(0, max));
        writes.into_iter().collect()
    }
}

/// The writes of a plan by group. Reuse of a slice for other ports counts for both groups: as a delete in one and as a
/// create in the other (R104).
fn writes_by_group(harness: &Harness, plan: &Plan) -> BTreeMap<Option<Key>, usize> {
    let existing = |name: Option<&String>| {
        let mut existing = harness.existing.iter();
        existing
            .find(|slice| slice.metadata.name.as_ref() == name)
            .and_then(key)
    };
    let mut writes = BTreeMap::new();
    for write in &plan.writes {
        let (from, to) = match &write.operation {
            Operation::Create(slice) => (None, Some(key(slice))),
            Operation::Update(slice) => (Some(existing(slice.metadata.name.as_ref())), Some(key(slice))),
            Operation::Delete(deletion) => (Some(existing(Some(&deletion.name))), None),
        };
        for key in from.iter().chain(to.iter().filter(|to| from.as_ref() != Some(to))) {
            *writes.entry(key.clone()).or_default() += 1;
        }
    }
    writes
}

/// The endpoints of a slice that are desired and in no earlier slice, as (existing, desired).
fn match_endpoints<'h>(
    slice: &'h CompactSlice,
    remaining: &mut Vec<&'h Endpoint>,
) -> Vec<(&'h Endpoint, &'h Endpoint)> {
    let take = |existing: &'h Endpoint| {
        let index = remaining.iter().position(|desired| is_same(desired, existing))?;
        Some((existing, remaining.swap_remove(index)))
    };
    slice.endpoints.iter().filter_map(take).collect()
}

/// Whether a slice needs no update, apart from hints and owner references. The only slice of a group must not be empty or
/// above the limit.
fn is_up_to_date(
    harness: &Harness,
    slice: &CompactSlice,
    kept: &[(&Endpoint, &Endpoint)],
    group: &OpenGroup<'_>,
) -> bool {
    let is_equal = |(existing, desired): &(&Endpoint, &Endpoint)| desired.equals_beyond_identity(existing);
    let fits = kept.len() <= harness.max() && !(kept.is_empty() && group.remaining.is_empty());
    kept.len() == slice.endpoints.len()
        && kept.iter().all(is_equal)
        && has_desired_metadata(harness, slice)
        && (harness.fills() || fits)
}

fn has_desired_metadata(harness: &Harness, slice: &CompactSlice) -> bool {
    let policy = &harness.metadata;
    let existing = |map: &Option<BTreeMap<String, String>>| map.clone().unwrap_or_default();
    let mut labels = existing(&slice.metadata.labels);
    labels.retain(|key, _| {
        !policy.managed_labels.contains_key(key) && harness.partition.0.iter().all(|(ours, _)| ours != key)
    });
    let mut annotations = existing(&slice.metadata.annotations);
    if harness.trigger_time != TriggerTime::Unmanaged {
        annotations.remove(TRIGGER_TIME_ANNOTATION);
    }
    let holds = |existing: &BTreeMap<String, String>, desired: &BTreeMap<String, String>| {
        desired.iter().all(|(key, value)| existing.get(key) == Some(value))
    };
    let labels_equal = if policy.keep_other_labels {
        holds(&labels, &policy.copied_labels)
    } else {
        labels == policy.copied_labels
    };
    let annotations_equal = match &policy.annotations {
        Annotations::Preserve => true,
        Annotations::Set(desired) => holds(&annotations, desired),
        Annotations::Replace(desired) => annotations == *desired,
    };
    labels_equal && annotations_equal
}

fn is_written_to_adopt(harness: &Harness, slice: &CompactSlice) -> bool {
    harness.options.ownership == Ownership::Ignore && !harness.owner.owns(slice)
}

/// Whether a slice has to be written for its hints. With topology hints this follows the plan; another property checks that
/// it has no unnecessary updates.
fn is_written_for_hints(harness: &Harness, slice: &CompactSlice, plan: &Plan) -> bool {
    let mut ready = slice
        .endpoints
        .iter()
        .filter(|endpoint| endpoint.conditions.ready == Some(true));
    match (harness.hints, &harness.nodes) {
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
            let desired = Hints {
                for_zones: zones,
                for_nodes: nodes,
            };
            endpoint.hints.as_deref().cloned().unwrap_or_default() != desired
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

/// The address types that need a placeholder.
fn placeholders(harness: &Harness) -> Vec<AddressType> {
    let desired = harness.publishable_by_key();
    let has_none = |address_type: &&AddressType| {
        let mut of_type = desired.iter().filter(|((known, _), _)| known == *address_type);
        let mut retained = harness.existing.iter().filter(|slice| harness.is_retained(slice));
        of_type.all(|(_, endpoints)| endpoints.is_empty())
            && retained.all(|slice| slice.address_type.as_ref() != Ok(*address_type))
    };
    let supported = harness.address_types.iter().filter(|_| harness.options.placeholder);
    supported.filter(has_none).copied().collect()
}

/// Whether a slice of ours holds endpoints that another group of its type desires. With one slice per group, duplicate
/// slices give their endpoints to the first.
fn gives(harness: &Harness, slice: &CompactSlice) -> bool {
    let desired = harness.publishable_by_key();
    let of_type = desired
        .iter()
        .filter(|((address_type, _), _)| slice.address_type.as_ref() == Ok(address_type));
    let mut elsewhere = of_type.filter(|((_, ports), _)| slice.ports != *ports || !harness.fills());
    elsewhere.any(|(_, endpoints)| endpoints.iter().any(|desired| holds(slice, desired)))
}

/// Whether another slice of ours holds endpoints that the group of this slice desires and this slice lacks.
fn receives(harness: &Harness, slice: &CompactSlice) -> bool {
    let desired = key(slice).and_then(|key| harness.publishable_by_key().remove(&key));
    let others = || {
        let ours = harness.existing.iter().filter(|other| harness.is_ours(other));
        let giving = ours.filter(|other| !harness.is_retained(other));
        giving.filter(|other| other.metadata.name != slice.metadata.name)
    };
    let arrives = |desired: &&Endpoint| !holds(slice, desired) && others().any(|other| holds(other, desired));
    desired.iter().flatten().any(arrives)
}

fn holds(slice: &CompactSlice, endpoint: &Endpoint) -> bool {
    slice.endpoints.iter().any(|other| is_same(other, endpoint))
}

/// Whether a slice may exchange endpoints with others, which is a cycle of dependencies (I4).
pub(crate) fn may_exchange(harness: &Harness, slice: &CompactSlice) -> bool {
    gives(harness, slice) && receives(harness, slice)
}

/// For each address type, one less than the slices with endpoints that are desired elsewhere.
fn max_exchanges(harness: &Harness) -> usize {
    let giving = |address_type: &AddressType| {
        let ours = harness.existing.iter().filter(|slice| harness.is_ours(slice));
        let of_type = ours.filter(|slice| slice.address_type.as_ref() == Ok(address_type));
        of_type
            .filter(|slice| gives(harness, slice) && !harness.is_retained(slice))
            .count()
    };
    let types = harness.address_types.iter();
    types.map(|address_type| giving(address_type).saturating_sub(1)).sum()
}
