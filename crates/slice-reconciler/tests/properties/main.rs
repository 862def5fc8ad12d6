//! Properties of all plans, over random desired endpoints and existing slices.
//!
//! The cases are the same on every run; `.cargo/config.toml` explains how to run others.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod arbitrary;
mod budget;
mod fixtures;
mod harness;
mod published;
mod scenario;
mod store;

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use slice_core::{CompactSlice, Endpoint, EndpointSource as _, well_known::TRIGGER_TIME_ANNOTATION};
use slice_reconciler::{Operation, Ownership, Plan, Rejected};

use crate::{
    budget::{Budget, may_exchange},
    harness::{Cache, Harness, Key, is_same, key},
    published::Published,
    scenario::scenarios,
    store::{Store, schedules},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// After a plan is applied, the next one has no writes and no events (G-33, T-GX-16, I6).
    #[test]
    fn applying_a_plan_and_planning_again_writes_nothing(scenario in scenarios()) {
        let harness = Harness::new(&scenario);
        let (mut store, mut cache) = (harness.store(), harness.cache());
        converge(&harness, &mut store, &mut cache);
        check_converged(&harness.plan_for(store.slices(), &mut cache))?;
    }

    /// After any partial execution of a plan, the next plan converges (G-34, T-GX-16).
    #[test]
    fn after_a_partial_execution_the_next_plan_converges(scenario in scenarios(), schedule in schedules()) {
        let harness = Harness::new(&scenario);
        let (mut store, mut cache) = (harness.store(), harness.cache());
        let first = harness.plan_for(store.slices(), &mut cache);
        store.execute(&first, &schedule, |_| {});
        converge(&harness, &mut store, &mut cache);
        check_converged(&harness.plan_for(store.slices(), &mut cache))?;
    }

    /// While a plan is executed, whichever writes fail, every published endpoint that stays desired is in some slice (I4).
    #[test]
    fn i4_no_desired_endpoint_is_missing_in_between(scenario in scenarios(), schedule in schedules()) {
        let harness = Harness::new(&scenario);
        let plan = harness.plan();
        let preserved = Published::to_preserve(&harness, &final_slices(&harness, &plan));
        let mut missing = Vec::new();
        harness.store().execute(&plan, &schedule, |slices| {
            missing.push(preserved.missing_from(&Published::of(&harness, slices)));
        });
        missing.retain(|missing| *missing != Published::default());
        prop_assert_eq!(missing, []);
    }

    /// Every desired endpoint, and no other, is finally in exactly one slice of its group; with one slice per group, up to
    /// the limit. Slices that only a rejected group needs do not change (G-33, T-GX-17, I1, I5).
    #[test]
    fn i1_every_desired_endpoint_is_finally_in_one_slice_of_its_group(mut scenario in scenarios()) {
        scenario.settings.terminating = false;
        scenario.settings.has_invalid_pod = false;
        let harness = Harness::new(&scenario);
        let plan = harness.plan();
        let final_slices = final_slices(&harness, &plan);
        check_content(&harness, &final_slices)?;
        for stats in plan.stats {
            let is_counted = |slice: &&CompactSlice| {
                slice.address_type == Ok(stats.address_type)
                    && harness.is_in_set(slice)
            };
            prop_assert_eq!(stats.slices, final_slices.iter().filter(is_counted).count());
        }
    }

    /// A group with invalid ports is reported, and no slice is written with such ports. Its published endpoints stay in
    /// slices with the same ports, also if another group publishes them; with one slice per group, up to the limit (F25,
    /// I4).
    #[test]
    fn f25_i4_a_group_with_invalid_ports_is_reported_and_stays_published(mut scenario in scenarios()) {
        scenario.settings.has_invalid_pod = false;
        let harness = Harness::new(&scenario);
        let plan = harness.plan();
        prop_assert_eq!(reported_groups(&plan), harness.rejected_groups());
        for slice in written(&plan) {
            prop_assert!(slice.ports.validate().is_ok());
        }
        let final_slices = final_slices(&harness, &plan);
        for before in harness.existing.iter().filter(|slice| harness.is_ours(slice) && harness.supports(slice)) {
            let after = final_slices.iter().filter(|after| harness.is_in_set(after) && key(after) == key(before));
            let published: Vec<&Endpoint> = after.flat_map(|slice| &slice.endpoints).collect();
            let rejected = harness.rejected_endpoints(before.address_type.clone().unwrap());
            let is_rejected = |endpoint: &&Endpoint| rejected.iter().any(|rejected| is_same(rejected, endpoint));
            for endpoint in before.endpoints.iter().filter(is_rejected) {
                let stays = published.iter().any(|published| is_same(published, endpoint));
                prop_assert!(stays || (!harness.fills() && published.len() == harness.max()), "{endpoint:?} is missing");
            }
        }
    }

    /// No slice is written above the maximum, not even one that was above it before (I3).
    #[test]
    fn i3_no_slice_is_written_above_the_maximum(scenario in scenarios()) {
        let harness = Harness::new(&scenario);
        for slice in written(&harness.plan()) {
            prop_assert!(slice.endpoints.len() <= harness.max(), "{slice:?}");
        }
    }

    /// An endpoint that stays desired in its group stays in its slice, unless the slice is above the maximum and has to be
    /// written (I3), or is the only one of its group and has to exchange endpoints with another (I4).
    #[test]
    fn an_endpoint_that_stays_desired_never_moves(mut scenario in scenarios()) {
        scenario.settings.has_invalid_pod = false;
        let harness = Harness::new(&scenario);
        let plan = harness.plan();
        let final_slices = final_slices(&harness, &plan);
        let budget = Budget::of(&harness, &plan);
        for (slice, kept) in &budget.kept {
            let may_be_replaced = !harness.fills() && may_exchange(&harness, slice);
            let after = final_slices.iter().find(|after| after.metadata.name == slice.metadata.name);
            for endpoint in kept {
                let stays = after.is_some_and(|after| after.endpoints.iter().any(|other| is_same(other, endpoint)));
                prop_assert!(stays || may_be_replaced, "{endpoint:?} moved from {slice:?}");
            }
        }
    }

    /// Writes ≤ changed slices + ⌈adds / max⌉ in each group, plus one for a placeholder and one for each exchange of
    /// endpoints (I4). Over all groups, at least one of the exchanging slices needs no extra write (I6).
    #[test]
    fn i6_writes_are_bounded(mut scenario in scenarios()) {
        scenario.settings.has_invalid_pod = false;
        let harness = Harness::new(&scenario);
        let plan = harness.plan();
        let budget = Budget::of(&harness, &plan);
        prop_assert!(plan.writes.len() <= budget.writes(), "{} writes, {budget:?}", plan.writes.len());
        prop_assert_eq!(budget.exceeded(&harness, &plan), [], "{:?}", budget);
    }

    /// Every update changes its slice, except that of a placeholder while other slices are deleted (I6, R89, T-CTL-11).
    /// Slices of other owners are only deleted, and those of other partitions never change (I7, G68).
    #[test]
    fn i6_i7_every_update_changes_a_slice_of_ours(scenario in scenarios()) {
        let harness = Harness::new(&scenario);
        let existing = |name: Option<&String>| {
            let mut slices = harness.existing.iter();
            slices.find(|slice| slice.metadata.name.as_ref() == name).unwrap()
        };
        for write in harness.plan().writes {
            let after = match write.operation {
                Operation::Create(_) => continue,
                Operation::Update(slice) => slice,
                Operation::Delete(deletion) => {
                    prop_assert!(harness.is_in_set(existing(Some(&deletion.name))));
                    continue;
                }
            };
            let before = existing(after.metadata.name.as_ref());
            prop_assert!(harness.is_ours(before), "{before:?}");
            let is_placeholder = after.endpoints.is_empty() && after.ports.ports().is_empty();
            prop_assert!(is_placeholder || comparable(before) != comparable(&after), "no change in {before:?}");
        }
    }

    /// Plans do not depend on the order of inputs (H55, R85, M85, G32, T-GX-15).
    #[test]
    fn g32_the_order_of_inputs_does_not_matter(scenario in scenarios(), seed in any::<u64>()) {
        let mut harness = Harness::new(&scenario);
        let plan = harness.plan();
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut harness.existing);
        rng.shuffle(&mut harness.desired);
        harness.desired.iter_mut().for_each(|desired| rng.shuffle(&mut desired.endpoints));
        harness.nodes.iter_mut().for_each(|nodes| rng.shuffle(nodes));
        prop_assert_eq!(harness.plan(), plan);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// Arbitrary slices and desired endpoints never cause a panic, and written slices round-trip (F25).
    #[test]
    fn f25_arbitrary_slices_never_panic(
        scenario in scenarios(), slices in vec(arbitrary::slice(), 0..5), desired in vec(arbitrary::slice(), 0..3),
    ) {
        let mut harness = Harness::new(&scenario);
        harness.existing.extend(slices.iter().map(CompactSlice::from));
        harness.add_desired(slices.iter().take(2).chain(&desired).map(CompactSlice::from));
        for slice in written(&harness.plan()) {
            prop_assert_eq!(&CompactSlice::from(&slice.to_k8s()), slice);
        }
    }
}

/// Applies one plan, or three for a terminating owner: an endpoint that would move into a new slice may fit into another
/// slice after other writes.
fn converge(harness: &Harness, store: &mut Store, cache: &mut Cache) {
    for _ in 0..if harness.owner.terminating { 3 } else { 1 } {
        let plan = harness.plan_for(store.slices(), cache);
        store.apply(&plan);
    }
}

/// Checks that a plan has no writes and no events.
fn check_converged(plan: &Plan) -> Result<(), TestCaseError> {
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

/// The slices after a plan is applied.
fn final_slices(harness: &Harness, plan: &Plan) -> Vec<CompactSlice> {
    let mut store = harness.store();
    store.apply(plan);
    store.into_slices()
}

/// Groups rejected for their ports, and the number of their endpoints.
fn reported_groups(plan: &Plan) -> BTreeMap<Key, usize> {
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
            assert_eq!(before, None, "reported twice");
        }
    }
    groups
}

fn check_content(harness: &Harness, final_slices: &[CompactSlice]) -> Result<(), TestCaseError> {
    let live = final_slices.iter().filter(|slice| harness.is_in_set(slice));
    let (retained, live): (Vec<&CompactSlice>, Vec<&CompactSlice>) = live.partition(|slice| harness.is_retained(slice));
    let expected = harness.existing.iter().filter(|slice| harness.is_retained(slice));
    prop_assert_eq!(retained, expected.collect::<Vec<_>>());
    for slice in &live {
        prop_assert!(harness.is_ours(slice), "slice of another owner remains: {slice:?}");
        let is_adopted = harness.options.ownership == Ownership::RebuildOnForeignUid || harness.owner.owns(slice);
        prop_assert!(is_adopted, "slice is not adopted: {slice:?}");
        prop_assert!(harness.supports(slice), "slice of another type remains: {slice:?}");
    }
    let desired = harness.publishable_by_key();
    for (group, desired) in &desired {
        let slices: Vec<&&CompactSlice> = live.iter().filter(|slice| key(slice).as_ref() == Some(group)).collect();
        let published: Vec<&Endpoint> = slices.iter().flat_map(|slice| &slice.endpoints).collect();
        let mut remaining = desired.clone();
        for published in &published {
            let index = remaining.iter().position(|desired| is_same(desired, published));
            prop_assert!(index.is_some(), "{published:?} is not desired, or a duplicate");
            let desired = remaining.swap_remove(index.unwrap());
            prop_assert!(
                desired.equals_beyond_identity(published),
                "{desired:?} is published as {published:?}"
            );
        }
        if harness.fills() {
            prop_assert!(remaining.is_empty(), "{remaining:?} are missing");
        } else {
            prop_assert!(slices.len() <= 1, "several slices: {slices:?}");
            prop_assert_eq!(
                published.len(),
                desired.len().min(harness.max()),
                "{:?} would fit",
                remaining
            );
        }
    }
    for slice in &live {
        let known = key(slice).is_some_and(|key| desired.contains_key(&key));
        prop_assert!(
            known || slice.endpoints.is_empty(),
            "no endpoint of {slice:?} is desired"
        );
    }
    for address_type in &harness.address_types {
        let count = final_slices
            .iter()
            .filter(|slice| harness.is_in_set(slice))
            .filter(|slice| slice.address_type.as_ref() == Ok(address_type))
            .count();
        prop_assert!(
            count > 0 || !harness.options.placeholder,
            "no placeholder for {address_type}"
        );
    }
    Ok(())
}

/// A slice without the annotation that never causes a write.
fn comparable(slice: &CompactSlice) -> CompactSlice {
    let mut slice = slice.clone();
    let annotations = slice.metadata.annotations.get_or_insert_default();
    annotations.remove(TRIGGER_TIME_ANNOTATION);
    slice
}
