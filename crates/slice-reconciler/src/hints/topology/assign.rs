//! Assignment of zone hints to the slices of one owner and address type.

use std::sync::Arc;

use slice_core::{EndpointSource, HintInterner};

use super::{
    super::is_ready,
    HintsUnavailable,
    allocation::{Allocation, allocate, count_hints, fits},
    balance::Moves,
    nodes::{ZoneLookup, ZoneRatios},
    views::SliceView,
    zone_counts::{ZoneCounts, excess},
};
use crate::{
    lists::{SliceLists, SliceUpdate},
    planned::PlannedEndpoint,
};

/// Endpoints per hinted zone, sorted by zone name.
pub(crate) type HintCounts = Vec<(Arc<str>, usize)>;

/// The number of ready endpoints in all slices.
pub(super) fn ready_endpoints<E: EndpointSource>(lists: &SliceLists<'_, E>) -> usize {
    let changed = lists.changed().flat_map(|slice| &slice.endpoints);
    let unchanged = lists.unchanged.iter().flat_map(|slice| &slice.endpoints);
    changed.filter(is_ready).count() + unchanged.filter(is_ready).count()
}

/// Hints every ready endpoint of the changed slices to one zone, and updates unchanged slices whose hints cannot stay
/// (H33–H40). An error leaves all slices as they are.
///
/// 1. Compute the allocation of each zone.
/// 2. Count endpoints per zone. A missing zone is an error, before any slice is copied (HD7).
/// 3. Move endpoints between zones and assign hints to the changed slices.
/// 4. While a zone is above its maximum, reassign more slices if that helps. Otherwise the next sync would (HD17).
/// 5. Drop updates that changed no hint.
pub(super) fn assign<E: EndpointSource>(
    ratios: Option<&ZoneRatios>,
    endpoints: usize,
    lists: &mut SliceLists<'_, E>,
) -> Result<HintCounts, HintsUnavailable> {
    // 1. Allocate.
    let allocations = allocate(ratios, endpoints)?;
    let ratios = ratios.ok_or(HintsUnavailable::UnknownNodes)?;
    // 2. Count.
    let mut slices = Slices::new(lists);
    let rehint = slices.with_invalid_hints(ratios);
    let zones = ZoneCounts::count(ratios, slices.views(&rehint))?;
    // 3. Move and assign.
    let moves = zones.balance(&allocations);
    let mut counts = zones.after(&moves);
    slices.assign(&rehint, ratios, moves);
    // 4. Reduce the excess.
    while excess(&counts, &allocations) > 0 {
        let improve = |rehint: Rehint| {
            let zones = ZoneCounts::count(ratios, slices.views(&rehint)).ok()?;
            let moves = zones.balance(&allocations);
            let after = zones.after(&moves);
            (excess(&after, &allocations) < excess(&counts, &allocations)).then_some((rehint, moves, after))
        };
        let now = slices.oversubscribed(ratios, &allocations);
        let next_sync = slices.oversubscribed_at_next_sync(ratios, &allocations);
        let Some((rehint, moves, after)) = improve(now).or_else(|| improve(next_sync)) else {
            break;
        };
        slices.assign(&rehint, ratios, moves);
        counts = after;
    }
    // 5. Drop updates without changes.
    slices.drop_noops();
    Ok(ratios.iter().map(|(zone, _)| zone.clone()).zip(counts).collect())
}

/// A slice by its list and index.
#[derive(Clone, Copy)]
enum SliceIndex {
    Create(usize),
    Update(usize),
    Unchanged(usize),
}

/// Slices, each with whether its hints are reassigned.
type Rehint = Vec<(SliceIndex, bool)>;

/// The slices of an owner during hint assignment.
struct Slices<'l, 'a, E: EndpointSource> {
    lists: &'l mut SliceLists<'a, E>,
    /// The first index in the update list of a copied unchanged slice.
    first_copy: usize,
    /// The indices of the copied unchanged slices.
    copied: Vec<usize>,
}

impl<'l, 'a, E: EndpointSource> Slices<'l, 'a, E> {
    fn new(lists: &'l mut SliceLists<'a, E>) -> Self {
        Self {
            first_copy: lists.to_update.len(),
            lists,
            copied: Vec::new(),
        }
    }

    fn indices(&self) -> impl Iterator<Item = SliceIndex> {
        let create = (0..self.lists.to_create.len()).map(SliceIndex::Create);
        let update = (0..self.lists.to_update.len()).map(SliceIndex::Update);
        let unchanged = (0..self.lists.unchanged.len()).filter(|index| !self.copied.contains(index));
        create.chain(update).chain(unchanged.map(SliceIndex::Unchanged))
    }

    fn view(&self, index: SliceIndex) -> SliceView<'_, E> {
        match index {
            SliceIndex::Create(index) => SliceView::Planned(&self.lists.to_create[index]),
            SliceIndex::Update(index) => SliceView::Planned(&self.lists.to_update[index].planned),
            SliceIndex::Unchanged(index) => SliceView::Existing(self.lists.unchanged[index]),
        }
    }

    fn views(&self, rehint: &Rehint) -> impl Iterator<Item = (SliceView<'_, E>, bool)> {
        rehint.iter().map(|(index, reassign)| (self.view(*index), *reassign))
    }

    /// Reassigns changed slices, and unchanged ones with hints that cannot stay (H34).
    fn with_invalid_hints(&self, ratios: &ZoneRatios) -> Rehint {
        let mut counts = vec![0; ratios.len()];
        let mut reassign = |index| match index {
            SliceIndex::Create(_) | SliceIndex::Update(_) => true,
            SliceIndex::Unchanged(_) => !count_hints(self.view(index).endpoints(), ratios, &mut counts),
        };
        self.indices().map(|index| (index, reassign(index))).collect()
    }

    /// Reassigns changed slices, and unchanged ones that exceed an allocation together with earlier unchanged ones (H34).
    fn oversubscribed(&self, ratios: &ZoneRatios, allocations: &[Allocation]) -> Rehint {
        let (unchanged, changed): (Vec<SliceIndex>, Vec<SliceIndex>) = self
            .indices()
            .partition(|index| matches!(index, SliceIndex::Unchanged(_)));
        let mut rehint: Rehint = changed.into_iter().map(|index| (index, true)).collect();
        rehint.extend(self.check_fit(unchanged, ratios, allocations));
        rehint
    }

    /// The same at the next sync, when all slices are unchanged and sorted by ports and name.
    fn oversubscribed_at_next_sync(&self, ratios: &ZoneRatios, allocations: &[Allocation]) -> Rehint {
        let mut indices: Vec<SliceIndex> = self.indices().collect();
        indices.sort_by_key(|index| self.view(*index).key());
        self.check_fit(indices, ratios, allocations).collect()
    }

    /// Reassigns each slice whose hints exceed an allocation together with the earlier slices that fit.
    fn check_fit(
        &self,
        indices: Vec<SliceIndex>,
        ratios: &ZoneRatios,
        allocations: &[Allocation],
    ) -> impl Iterator<Item = (SliceIndex, bool)> {
        let (mut used, mut in_slice) = (vec![0; ratios.len()], vec![0; ratios.len()]);
        indices.into_iter().map(move |index| {
            let endpoints = self.view(index).endpoints();
            let fits = fits(endpoints, ratios, allocations, &used, &mut in_slice);
            if fits {
                used.iter_mut().zip(&in_slice).for_each(|(used, more)| *used += more);
            }
            (index, !fits)
        })
    }

    /// Assigns hints to the slices to reassign. Unchanged ones are first copied into the update list.
    fn assign(&mut self, rehint: &Rehint, ratios: &ZoneRatios, mut moves: Moves) {
        let mut interner = HintInterner::default();
        for (index, _) in rehint.iter().filter(|(_, reassign)| *reassign) {
            let slice = match *index {
                SliceIndex::Create(index) => &mut self.lists.to_create[index],
                SliceIndex::Update(index) => &mut self.lists.to_update[index].planned,
                SliceIndex::Unchanged(index) => {
                    self.copied.push(index);
                    let update = SliceUpdate::unchanged(self.lists.unchanged[index]);
                    self.lists.to_update.push(update);
                    let last = self.lists.to_update.len() - 1;
                    &mut self.lists.to_update[last].planned
                }
            };
            for endpoint in &mut slice.endpoints {
                assign_hint(endpoint, ratios, &mut moves, &mut interner);
            }
        }
    }

    /// Drops copies whose hints did not change, and removes the others from the unchanged slices.
    fn drop_noops(self) {
        let mut changed = vec![false; self.lists.unchanged.len()];
        let copies = self.lists.to_update.split_off(self.first_copy);
        for (update, index) in copies.into_iter().zip(self.copied) {
            let before = update.existing.endpoints.iter();
            let after = update.planned.endpoints.iter();
            changed[index] = before
                .map(|endpoint| &endpoint.hints)
                .ne(after.map(|planned| &planned.hints));
            if changed[index] {
                self.lists.to_update.push(update);
            }
        }
        let mut changed = changed.into_iter();
        self.lists.unchanged.retain(|_| changed.next() == Some(false));
    }
}

/// Hints an endpoint to its own zone or, while its zone has a surplus, to the first zone with a deficit (H36, H52). An
/// endpoint that is not ready gets no hint (HD1).
pub(super) fn assign_hint<E: EndpointSource>(
    endpoint: &mut PlannedEndpoint<'_, E>,
    ratios: &ZoneRatios,
    moves: &mut Moves,
    interner: &mut HintInterner,
) {
    let own = match ratios.lookup(endpoint.zone()).filter(|_| is_ready(endpoint)) {
        None => {
            endpoint.hints = None;
            return;
        }
        Some(ZoneLookup::Known(zone)) => Some(zone),
        Some(ZoneLookup::WithoutNodes) => None,
    };
    let gives = own.is_none_or(|own| moves.give[own] > 0);
    let receiver = gives.then(|| moves.receive.iter().position(|left| *left > 0));
    let Some(receiver) = receiver.flatten() else {
        endpoint.hints = Some(interner.get(endpoint.zone(), None, Arc::from));
        return;
    };
    moves.receive[receiver] -= 1;
    if let Some(own) = own {
        moves.give[own] -= 1;
    }
    let zone = ratios.zone(receiver);
    endpoint.hints = Some(interner.get([&**zone], None, |_| Arc::clone(zone)));
}
