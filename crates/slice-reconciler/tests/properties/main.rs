//! What holds for every plan, whatever is wanted and whatever there is: properties over random owners in nasty states.
//!
//! The cases are the same on every run; `.cargo/config.toml` says how to see others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod arbitrary;
mod blueprint;
mod budget;
mod objects;
mod published;
mod store;
mod world;

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use slice_core::{CompactSlice, Endpoint, EndpointSource as _, well_known::TRIGGER_TIME_ANNOTATION};
use slice_reconciler::{Operation, Ownership, Plan, Rejected};

use crate::{
    blueprint::blueprints,
    budget::{Budget, may_exchange},
    published::Published,
    store::{Store, schedules},
    world::{Key, Memory, World, is_same, key},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// G-33, T-GX-16, I6: once everything is written, there is nothing to write and nothing to tell.
    #[test]
    fn applying_a_plan_and_planning_again_writes_nothing(blueprint in blueprints()) {
        let world = World::new(&blueprint);
        let (mut store, mut memory) = (world.store(), world.memory());
        finish(&world, &mut store, &mut memory);
        check_rest(&world.plan_for(store.slices(), &mut memory))?;
    }

    /// G-34, T-GX-16: whatever part of a plan its order allows was carried out, the next plan finishes it.
    #[test]
    fn after_any_part_of_a_plan_the_next_one_comes_to_rest(blueprint in blueprints(), schedule in schedules()) {
        let world = World::new(&blueprint);
        let (mut store, mut memory) = (world.store(), world.memory());
        let first = world.plan_for(store.slices(), &mut memory);
        store.carry_out(&first, &schedule, |_| {});
        finish(&world, &mut store, &mut memory);
        check_rest(&world.plan_for(store.slices(), &mut memory))?;
    }

    /// I4: at every point of a plan carried out in its order, whichever writes fail, what was published and stays wanted is
    /// in some slice.
    #[test]
    fn i4_no_desired_endpoint_is_missing_in_between(blueprint in blueprints(), schedule in schedules()) {
        let world = World::new(&blueprint);
        let plan = world.plan();
        let stays = Published::for_good(&world, &finally(&world, &plan));
        let mut missing = Vec::new();
        world.store().carry_out(&plan, &schedule, |slices| missing.push(stays.without(&Published::of(&world, slices))));
        missing.retain(|missing| *missing != Published::default());
        prop_assert_eq!(missing, []);
    }

    /// G-33, T-GX-17, I1, I5: every wanted endpoint ends in exactly one slice of its group, as it should be, and nothing
    /// else does; with one slice per group, as many as fit. Slices that only a group with bad ports needs stay as they are.
    #[test]
    fn i1_every_wanted_endpoint_ends_in_one_slice_of_its_group(mut blueprint in blueprints()) {
        blueprint.settings.terminating = false;
        blueprint.settings.unpublishable = false;
        let world = World::new(&blueprint);
        let plan = world.plan();
        let finally = finally(&world, &plan);
        check_content(&world, &finally)?;
        for summary in plan.stats {
            let is_counted = |slice: &&CompactSlice| {
                slice.address_type == Ok(summary.address_type)
                    && world.concerns(slice)
            };
            prop_assert_eq!(summary.slices, finally.iter().filter(is_counted).count());
        }
    }

    /// F25, I4: a group with bad ports is named, and no slice is written with such ports. What it wants and slices hold stays
    /// among slices of the same ports, also if another group publishes it; with one slice per group, as far as it fits in.
    #[test]
    fn f25_i4_a_group_with_bad_ports_is_named_and_stays_where_it_is(mut blueprint in blueprints()) {
        blueprint.settings.unpublishable = false;
        let world = World::new(&blueprint);
        let plan = world.plan();
        prop_assert_eq!(left_out_groups(&plan), world.bad_groups());
        for slice in written(&plan) {
            prop_assert!(slice.ports.validate().is_ok());
        }
        let finally = finally(&world, &plan);
        for before in world.existing.iter().filter(|slice| world.is_ours(slice) && world.supports(slice)) {
            let after = finally.iter().filter(|after| world.concerns(after) && key(after) == key(before));
            let held: Vec<&Endpoint> = after.flat_map(|slice| &slice.endpoints).collect();
            let barred = world.barred(before.address_type.clone().unwrap());
            for endpoint in before.endpoints.iter().filter(|held| barred.iter().any(|barred| is_same(barred, held))) {
                let stays = held.iter().any(|held| is_same(held, endpoint));
                prop_assert!(stays || (!world.fills() && held.len() == world.max()), "{endpoint:?} is gone");
            }
        }
    }

    /// I3: no slice is written above the maximum, not even one that was above it before.
    #[test]
    fn i3_no_slice_is_written_above_the_maximum(blueprint in blueprints()) {
        let world = World::new(&blueprint);
        for slice in written(&world.plan()) {
            prop_assert!(slice.endpoints.len() <= world.max(), "{slice:?}");
        }
    }

    /// An endpoint that stays wanted in its group stays in its slice, unless that slice was above the maximum and had to be
    /// written (I3), or it is the only one of its group and has to exchange endpoints with another (I4).
    #[test]
    fn an_endpoint_that_stays_wanted_never_moves(mut blueprint in blueprints()) {
        blueprint.settings.unpublishable = false;
        let world = World::new(&blueprint);
        let plan = world.plan();
        let finally = finally(&world, &plan);
        let budget = Budget::of(&world, &plan);
        for (slice, kept) in &budget.kept {
            let may_be_replaced = !world.fills() && may_exchange(&world, slice);
            let after = finally.iter().find(|after| after.metadata.name == slice.metadata.name);
            for endpoint in kept {
                let stays = after.is_some_and(|after| after.endpoints.iter().any(|other| is_same(other, endpoint)));
                prop_assert!(stays || may_be_replaced, "{endpoint:?} has left {slice:?}");
            }
        }
    }

    /// I6: writes ≤ slices touched + ⌈adds / max⌉ in each group, one for a placeholder, and one for each exchange of endpoints
    /// (I4); in all groups together, at least one of those that exchange endpoints needs none.
    #[test]
    fn i6_writes_are_bounded(mut blueprint in blueprints()) {
        blueprint.settings.unpublishable = false;
        let world = World::new(&blueprint);
        let plan = world.plan();
        let budget = Budget::of(&world, &plan);
        prop_assert!(plan.writes.len() <= budget.writes(), "{} writes, {budget:?}", plan.writes.len());
        prop_assert_eq!(budget.overdrawn(&world, &plan), [], "{:?}", budget);
    }

    /// I6: no write repeats what is stored, but for that of a placeholder beside which other slices go (R89, T-CTL-11).
    /// I7, G68: slices of other owners are not written, except to delete them; those of other slice sets are not touched.
    #[test]
    fn i6_i7_every_update_changes_something_of_ours(blueprint in blueprints()) {
        let world = World::new(&blueprint);
        let stored = |name: Option<&String>| {
            let mut existing = world.existing.iter();
            existing.find(|slice| slice.metadata.name.as_ref() == name).unwrap()
        };
        for write in world.plan().writes {
            let to = match write.operation {
                Operation::Create(_) => continue,
                Operation::Update(to) => to,
                Operation::Delete(deletion) => {
                    prop_assert!(world.concerns(stored(Some(&deletion.name))));
                    continue;
                }
            };
            let from = stored(to.metadata.name.as_ref());
            prop_assert!(world.is_ours(from), "{from:?}");
            let is_placeholder = to.endpoints.is_empty() && to.ports.ports().is_empty();
            prop_assert!(is_placeholder || comparable(from) != comparable(&to), "nothing changes in {from:?}");
        }
    }

    /// H55, R85, M85, G32, T-GX-15: equal inputs give equal plans, in whatever order they come.
    #[test]
    fn g32_the_order_of_inputs_does_not_matter(blueprint in blueprints(), seed in any::<u64>()) {
        let mut world = World::new(&blueprint);
        let plan = world.plan();
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut world.existing);
        rng.shuffle(&mut world.wanted);
        world.wanted.iter_mut().for_each(|wanted| rng.shuffle(&mut wanted.endpoints));
        world.nodes.iter_mut().for_each(|nodes| rng.shuffle(nodes));
        prop_assert_eq!(world.plan(), plan);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// F25: arbitrary slices, some of whose endpoints are wanted, and never a panic; what is written can be read.
    #[test]
    fn f25_arbitrary_slices_never_panic(
        blueprint in blueprints(), stored in vec(arbitrary::slice(), 0..5), wanted in vec(arbitrary::slice(), 0..3),
    ) {
        let mut world = World::new(&blueprint);
        world.existing.extend(stored.iter().map(CompactSlice::from));
        world.want(stored.iter().take(2).chain(&wanted).map(CompactSlice::from));
        for slice in written(&world.plan()) {
            prop_assert_eq!(&CompactSlice::from(&slice.to_k8s()), slice);
        }
    }
}

/// Carries out one plan; for an owner that is going away, three. What waits there for a slice that is not made may find
/// another place once other slices are written.
fn finish(world: &World, store: &mut Store, memory: &mut Memory) {
    for _ in 0..if world.owner.terminating { 3 } else { 1 } {
        let plan = world.plan_for(store.slices(), memory);
        store.apply(&plan);
    }
}

/// Nothing to write, and nothing new to tell about hints.
fn check_rest(plan: &Plan) -> Result<(), TestCaseError> {
    prop_assert_eq!(&plan.writes, &[]);
    prop_assert!(plan.hints.iter().all(|outcome| outcome.event.is_none()));
    Ok(())
}

fn written(plan: &Plan) -> impl Iterator<Item = &CompactSlice> {
    plan.writes.iter().filter_map(|write| match &write.operation {
        Operation::Create(slice) | Operation::Update(slice) => Some(slice),
        Operation::Delete(_) => None,
    })
}

/// The slices once all of a plan is carried out.
fn finally(world: &World, plan: &Plan) -> Vec<CompactSlice> {
    let mut store = world.store();
    store.apply(plan);
    store.into_slices()
}

/// Groups that were left out for their ports, and how many endpoints each has.
fn left_out_groups(plan: &Plan) -> BTreeMap<Key, usize> {
    let mut groups = BTreeMap::new();
    for rejected in &plan.rejected {
        if let Rejected::Group {
            address_type,
            ports,
            endpoints,
            ..
        } = rejected
        {
            let before = groups.insert((*address_type, ports.clone()), *endpoints);
            assert_eq!(before, None, "named twice");
        }
    }
    groups
}

fn check_content(world: &World, finally: &[CompactSlice]) -> Result<(), TestCaseError> {
    let live = finally.iter().filter(|slice| world.concerns(slice));
    let (spared, live): (Vec<&CompactSlice>, Vec<&CompactSlice>) = live.partition(|slice| world.is_spared(slice));
    let to_be_spared = world.existing.iter().filter(|slice| world.is_spared(slice));
    prop_assert_eq!(spared, to_be_spared.collect::<Vec<_>>());
    for slice in &live {
        prop_assert!(world.is_ours(slice), "a slice of another owner is left: {slice:?}");
        let is_adopted = world.options.ownership == Ownership::RebuildOnForeignUid || world.owner.owns(slice);
        prop_assert!(is_adopted, "a slice is not adopted: {slice:?}");
        prop_assert!(world.supports(slice), "a slice of another type is left: {slice:?}");
    }
    let wanted = world.by_key();
    for (wanted_key, wanted) in &wanted {
        let slices: Vec<&&CompactSlice> = live
            .iter()
            .filter(|slice| key(slice).as_ref() == Some(wanted_key))
            .collect();
        let held: Vec<&Endpoint> = slices.iter().flat_map(|slice| &slice.endpoints).collect();
        let mut left = wanted.clone();
        for held in &held {
            let place = left.iter().position(|wanted| is_same(wanted, held));
            prop_assert!(place.is_some(), "{held:?} is not wanted, or there twice");
            let wanted = left.swap_remove(place.unwrap());
            prop_assert!(wanted.equals_beyond_identity(held), "{wanted:?} is there as {held:?}");
        }
        if world.fills() {
            prop_assert!(left.is_empty(), "{left:?} are missing");
        } else {
            prop_assert!(slices.len() <= 1, "{slices:?} are several");
            prop_assert_eq!(held.len(), wanted.len().min(world.max()), "{:?} would fit in", left);
        }
    }
    for slice in &live {
        let known = key(slice).is_some_and(|key| wanted.contains_key(&key));
        prop_assert!(known || slice.endpoints.is_empty(), "nobody wants {slice:?}");
    }
    for address_type in &world.supported {
        let count = finally
            .iter()
            .filter(|slice| world.concerns(slice))
            .filter(|slice| slice.address_type.as_ref() == Ok(address_type))
            .count();
        prop_assert!(
            count > 0 || !world.options.placeholder,
            "no placeholder of {address_type}"
        );
    }
    Ok(())
}

/// A slice but for what never is a reason to write it.
fn comparable(slice: &CompactSlice) -> CompactSlice {
    let mut slice = slice.clone();
    let annotations = slice.metadata.annotations.get_or_insert_default();
    annotations.remove(TRIGGER_TIME_ANNOTATION);
    slice
}
