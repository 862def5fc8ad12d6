//! Hints for zones on the slices of one owner and address type.

use std::sync::Arc;

use slice_core::{EndpointSource, HintInterner};

use super::{
    super::is_ready,
    HintsUnavailable,
    allocation::{Allocation, allocate, count_hints, fits},
    balance::Moves,
    listed::Listed,
    nodes::{Home, Ratios},
    shares::{Shares, excess},
};
use crate::{
    lists::{Lists, Update},
    planned::PlannedEndpoint,
};

/// How many endpoints are meant for each zone, in the order of the zones' names.
pub(crate) type Counts = Vec<(Arc<str>, usize)>;

/// How many endpoints are ready, in slices to be written or not.
pub(super) fn ready_endpoints<E: EndpointSource>(lists: &Lists<'_, E>) -> usize {
    let written = lists.written().flat_map(|slice| &slice.endpoints);
    let unchanged = lists.unchanged.iter().flat_map(|slice| &slice.endpoints);
    written.filter(is_ready).count() + unchanged.filter(is_ready).count()
}

/// Gives every ready endpoint of the slices to be written one zone, and writes those unchanged slices too whose hints cannot
/// stay (H33–H40). Does nothing to them when it refuses.
pub(super) fn assign<E: EndpointSource>(
    ratios: Option<&Ratios>,
    endpoints: usize,
    lists: &mut Lists<'_, E>,
) -> Result<Counts, HintsUnavailable> {
    let allocations = allocate(ratios, endpoints)?;
    let ratios = ratios.ok_or(HintsUnavailable::UnknownNodes)?;
    let mut slices = Slices::new(lists);
    let opened = slices.to_be_written(ratios);
    // Before anything is copied: with a zone missing, nothing would come of it (HD7).
    let shares = Shares::count(ratios, slices.get(&opened))?;
    let moves = shares.balance(&allocations);
    let mut counts = shares.after(&moves);
    slices.place(&opened, ratios, moves);
    // As long as some zone has more than it may, slices would be opened again the next time. If that helps, it is done now
    // (HD17).
    while excess(&counts, &allocations) > 0 {
        let helps = |opened: Opened| {
            let shares = Shares::count(ratios, slices.get(&opened)).ok()?;
            let moves = shares.balance(&allocations);
            let after = shares.after(&moves);
            (excess(&after, &allocations) < excess(&counts, &allocations)).then_some((opened, moves, after))
        };
        let now = slices.misfits(ratios, &allocations);
        let the_next_time = slices.misfits_of_unchanged(ratios, &allocations);
        let Some((opened, moves, after)) = helps(now).or_else(|| helps(the_next_time)) else {
            break;
        };
        slices.place(&opened, ratios, moves);
        counts = after;
    }
    slices.put_back();
    Ok(ratios.iter().map(|(zone, _)| zone.clone()).zip(counts).collect())
}

/// Where a slice is listed.
#[derive(Clone, Copy)]
enum Place {
    Create(usize),
    Update(usize),
    Unchanged(usize),
}

/// Slices, and whether each is open: whether its hints are given anew.
type Opened = Vec<(Place, bool)>;

/// The slices of an owner while hints are given.
struct Slices<'l, 'a, E: EndpointSource> {
    lists: &'l mut Lists<'a, E>,
    /// Where in the update list copies of unchanged slices begin.
    first: usize,
    /// The places of the unchanged slices that were copied there.
    copied: Vec<usize>,
}

impl<'l, 'a, E: EndpointSource> Slices<'l, 'a, E> {
    fn new(lists: &'l mut Lists<'a, E>) -> Self {
        Self {
            first: lists.update.len(),
            lists,
            copied: Vec::new(),
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let create = (0..self.lists.create.len()).map(Place::Create);
        let update = (0..self.lists.update.len()).map(Place::Update);
        let unchanged = (0..self.lists.unchanged.len()).filter(|index| !self.copied.contains(index));
        create.chain(update).chain(unchanged.map(Place::Unchanged))
    }

    fn slice(&self, place: Place) -> Listed<'_, E> {
        match place {
            Place::Create(index) => Listed::Written(&self.lists.create[index]),
            Place::Update(index) => Listed::Written(&self.lists.update[index].to),
            Place::Unchanged(index) => Listed::Stored(self.lists.unchanged[index]),
        }
    }

    fn get(&self, opened: &Opened) -> impl Iterator<Item = (Listed<'_, E>, bool)> {
        opened.iter().map(|(place, open)| (self.slice(*place), *open))
    }

    /// All slices; those are open that are written anyway, or have no hints that could stay (H34).
    fn to_be_written(&self, ratios: &Ratios) -> Opened {
        let mut hints = vec![0; ratios.len()];
        let mut open = |place| match place {
            Place::Create(_) | Place::Update(_) => true,
            Place::Unchanged(_) => !count_hints(self.slice(place).endpoints(), ratios, &mut hints),
        };
        self.places().map(|place| (place, open(place))).collect()
    }

    /// All slices; those are open that are written anyway, or whose hints are too many beside the earlier unchanged ones' (H34).
    fn misfits(&self, ratios: &Ratios, allocations: &[Allocation]) -> Opened {
        let (unchanged, written): (Vec<Place>, Vec<Place>) =
            self.places().partition(|place| matches!(place, Place::Unchanged(_)));
        let mut opened: Opened = written.into_iter().map(|place| (place, true)).collect();
        opened.extend(self.vet(unchanged, ratios, allocations));
        opened
    }

    /// The same once everything is written and unchanged: in the order of ports and names.
    fn misfits_of_unchanged(&self, ratios: &Ratios, allocations: &[Allocation]) -> Opened {
        let mut places: Vec<Place> = self.places().collect();
        places.sort_by_key(|place| self.slice(*place).key());
        self.vet(places, ratios, allocations).collect()
    }

    /// Which of these slices fit in beside the earlier ones, and which have to be opened.
    fn vet(
        &self,
        places: Vec<Place>,
        ratios: &Ratios,
        allocations: &[Allocation],
    ) -> impl Iterator<Item = (Place, bool)> {
        let (mut taken, mut in_slice) = (vec![0; ratios.len()], vec![0; ratios.len()]);
        places.into_iter().map(move |place| {
            let fits = fits(
                self.slice(place).endpoints(),
                ratios,
                allocations,
                &taken,
                &mut in_slice,
            );
            if fits {
                taken.iter_mut().zip(&in_slice).for_each(|(taken, more)| *taken += more);
            }
            (place, !fits)
        })
    }

    /// Writes hints into the open slices; unchanged ones are copied before.
    fn place(&mut self, opened: &Opened, ratios: &Ratios, mut moves: Moves) {
        let mut known = HintInterner::default();
        for (place, _) in opened.iter().filter(|(_, open)| *open) {
            let slice = match *place {
                Place::Create(index) => &mut self.lists.create[index],
                Place::Update(index) => &mut self.lists.update[index].to,
                Place::Unchanged(index) => {
                    self.copied.push(index);
                    self.lists.update.push(Update::unchanged(self.lists.unchanged[index]));
                    let last = self.lists.update.len() - 1;
                    &mut self.lists.update[last].to
                }
            };
            for endpoint in &mut slice.endpoints {
                give_hints(endpoint, ratios, &mut moves, &mut known);
            }
        }
    }

    /// A slice that was copied and came out as it was needs no write.
    fn put_back(self) {
        let Self { lists, first, copied } = self;
        let mut written = vec![false; lists.unchanged.len()];
        for (update, index) in lists.update.split_off(first).into_iter().zip(copied) {
            let before = update.from.endpoints.iter();
            let after = update.to.endpoints.iter();
            written[index] = before
                .map(|endpoint| &endpoint.hints)
                .ne(after.map(|planned| &planned.hints));
            if written[index] {
                lists.update.push(update);
            }
        }
        let mut written = written.into_iter();
        lists.unchanged.retain(|_| written.next() == Some(false));
    }
}

/// The endpoint's own zone, or, as long as that has to give, the first that has to receive (H36, H52). Endpoints that are not
/// ready lose theirs (HD1).
pub(super) fn give_hints<E: EndpointSource>(
    endpoint: &mut PlannedEndpoint<'_, E>,
    ratios: &Ratios,
    moves: &mut Moves,
    known: &mut HintInterner,
) {
    let home = ratios.home(endpoint.zone()).filter(|_| is_ready(endpoint));
    let home = match home {
        None => {
            endpoint.hints = None;
            return;
        }
        Some(Home::Zone(home)) => Some(home),
        Some(Home::Elsewhere) => None,
    };
    let gives = home.is_none_or(|home| moves.give[home] > 0);
    let to = if gives {
        moves.receive.iter().position(|left| *left > 0)
    } else {
        None
    };
    let Some(to) = to else {
        endpoint.hints = Some(known.get(endpoint.zone(), None, Arc::from));
        return;
    };
    moves.receive[to] -= 1;
    if let Some(home) = home {
        moves.give[home] -= 1;
    }
    let zone = ratios.zone(to);
    endpoint.hints = Some(known.get([&**zone], None, |_| Arc::clone(zone)));
}
