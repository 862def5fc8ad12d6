//! Packing of endpoints into slices, and the order of writes.

use slice_core::{AddressType, CompactSlice, Endpoint, Hints, PortMapKey};
use slice_reconciler::{Operation, Plan, PlanRequest, hints::HintMode, plan};

use crate::{
    fixtures::{existing_slices, one_per_group, options, pod, pods, policy, port},
    harness::{Harness, addresses, apply, sizes, writes},
};

fn planned(groups: &[(PortMapKey, Vec<Endpoint>)], existing: &[CompactSlice], max: usize) -> Plan {
    let group =
        |(ports, endpoints): &(PortMapKey, Vec<Endpoint>)| (AddressType::IPv4, ports.clone(), endpoints.clone());
    let harness = Harness {
        desired: groups.iter().map(group).collect(),
        options: options(max),
        ..Harness::default()
    };
    harness.with(existing.to_vec()).plan()
}

/// An owner without endpoints gets one empty slice, which does not change (T-GEN-01, T-GEN-02, T-GEN-03).
#[test]
fn a_placeholder_is_created_once() {
    let first = planned(&[], &[], 100);
    let slices = apply(&first, &[]);
    assert_eq!((writes(&first), sizes(&slices)), ((1, 0, 0), vec![0]));
    let reference = &slices[0].metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((reference.uid.as_str(), reference.controller), ("uid-1", Some(true)));
    assert_eq!(planned(&[], &slices, 100).writes, []);
}

/// New slices are full, but for one (T-GEN-06, T-GEN-18…22, T-REC-34…38).
#[test]
fn new_slices_are_filled_to_the_maximum() {
    for (max, expected) in [
        (100, vec![50, 100, 100]),
        (50, vec![50; 5]),
        (80, vec![10, 80, 80, 80]),
        (150, vec![100, 150]),
        (250, vec![250]),
        (500, vec![250]),
    ] {
        let groups = [(port(80), pods(0..250))];
        let plan = planned(&groups, &[], max);
        assert_eq!(sizes(&apply(&plan, &[])), expected, "{max}");
        assert_eq!(plan.stats[0].changes.added, 250);
    }
}

/// The remainder goes into the slice that it fits best; full slices are new (T-GEN-07, T-GEN-08, T-GEN-13).
#[test]
fn r83_the_remainder_goes_into_one_slice() {
    let all = pods(0..300);
    let existing = existing_slices(&[&all[0..62], &all[62..123]], &port(80));
    let plan = planned(&[(port(80), pods(0..250))], &existing, 100);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((1, 1, 0), vec![61, 89, 100])
    );

    let existing = existing_slices(&[&all[0..74], &all[74..148]], &port(80));
    let plan = planned(&[(port(80), pods(0..300))], &existing, 100);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((2, 0, 0), vec![52, 74, 74, 100])
    );
}

/// A full slice is created, even if an existing slice is empty; fewer endpoints go into that (G21, R83).
#[test]
fn g21_full_slices_are_new() {
    // An empty slice with ports.
    let mut existing = existing_slices(&[&[]], &port(80));
    existing[0].ports = port(80);
    for (count, expected) in [(10, (1, 0, 0)), (9, (0, 1, 0))] {
        let plan = planned(&[(port(80), pods(0..count))], &existing, 10);
        assert_eq!(writes(&plan), expected, "{count}");
    }
}

/// Slices with undesired ports are reused, and each keeps its endpoints (T-GEN-09, T-GEN-12, T-REC-28).
#[test]
fn slices_are_reused_when_ports_change() {
    let all = pods(0..300);
    let tens: Vec<&[Endpoint]> = all.chunks(30).collect();
    let existing = existing_slices(&tens, &port(80));
    assert_eq!(planned(&[(port(80), pods(0..300))], &existing, 100).writes, []);
    let plan = planned(&[(port(81), pods(0..300))], &existing, 100);
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((0, 3, 7), vec![100; 3]));
    for slice in &slices {
        let before = existing
            .iter()
            .find(|old| old.metadata.name == slice.metadata.name)
            .unwrap();
        assert!(
            before
                .endpoints
                .iter()
                .all(|endpoint| slice.endpoints.contains(endpoint))
        );
    }
}

/// A new label of the owner is written to every slice; the endpoints do not change (T-GEN-10).
#[test]
fn a_label_of_the_owner_is_copied() {
    let all = pods(0..250);
    let existing = existing_slices(&[&all[0..100], &all[100..200], &all[200..250]], &port(80));
    let mut harness = Harness::of(&port(80), all).with(existing);
    harness.policy = policy(&[("foo", "bar")]);
    assert_eq!(writes(&harness.sync()), (0, 3, 0));
    assert_eq!(sizes(&harness.existing), [50, 100, 100]);
    let mut labels = harness
        .existing
        .iter()
        .map(|slice| slice.metadata.labels.as_ref().unwrap());
    assert!(labels.all(|labels| labels["foo"] == "bar"));
}

/// A slice of another owner is deleted and never reused (T-GEN-16, T-REC-32, I7, G-28).
#[test]
fn i7_a_slice_of_another_owner_is_replaced() {
    let mut existing = existing_slices(&[&pods(0..1)], &port(80));
    existing[0].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    let plan = planned(&[(port(80), pods(0..1))], &existing, 100);
    assert_eq!(writes(&plan), (1, 0, 1));
    // Its endpoints are published elsewhere before it is deleted.
    assert_eq!(plan.writes[1].depends_on, [0]);
}

/// No slice is created for a terminating owner, but slices are reused (T-FIN-02, T-FIN-04, trap 14).
#[test]
fn a_terminating_owner_gets_no_new_slices() {
    let mut harness = Harness::of(&port(80), pods(0..3));
    harness.owner.terminating = true;
    assert_eq!(harness.plan().writes, []);
    let harness = harness.with(existing_slices(&[&pods(0..3)], &port(79)));
    assert_eq!(writes(&harness.plan()), (0, 1, 0));
}

/// A slice of a terminating owner keeps endpoints that would have to move into a new slice. Slices of other owners are
/// deleted anyway (I4).
#[test]
fn i4_a_terminating_owner_keeps_its_published_endpoints() {
    let mut existing = existing_slices(&[&pods(0..4), &pods(0..4)], &port(80));
    existing[1].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    let mut harness = Harness::of(&port(81), pods(0..4)).with(existing.clone());
    harness.owner.terminating = true;
    harness.options = options(3);
    assert_eq!(writes(&harness.sync()), (0, 0, 1));
    assert_eq!(harness.existing, existing[..1]);
}

/// A slice of an unknown address type is deleted after its endpoints are published elsewhere (T-GEN-14, T-REC-30, I4).
#[test]
fn i4_a_slice_of_an_unknown_type_is_replaced() {
    let without_target = |number| Endpoint {
        target: None,
        ..pod(number, true)
    };
    let desired = vec![without_target(0), pod(1, true)];
    let mut existing = existing_slices(&[&desired], &port(80));
    existing[0].address_type = "IP".parse();
    for group in [vec![without_target(0)], vec![pod(1, false)]] {
        let plan = planned(&[(port(80), group)], &existing, 100);
        assert_eq!(writes(&plan), (1, 0, 1));
        assert_eq!(plan.writes[1].depends_on, [0]);
    }
}

/// A slice with a finalizer blocks no writes, and its name is reserved (D8, W3).
#[test]
fn terminating_slices_do_not_block_writes() {
    let groups = [(port(80), pods(0..1))];
    let mut existing = apply(&planned(&groups, &[], 100), &[]);
    existing[0].metadata.deletion_timestamp = Some(serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap());
    let again = planned(&groups, &existing, 100);
    let [write] = &again.writes[..] else {
        panic!("{again:?}");
    };
    let Operation::Create(slice) = &write.operation else {
        panic!("{again:?}");
    };
    assert_ne!(slice.metadata.name, existing[0].metadata.name);
}

/// A lower maximum causes no write. A slice that is written anyway is split (G-11, R84, I3).
#[test]
fn i3_a_slice_above_the_maximum_is_split_when_it_is_written() {
    let existing = existing_slices(&[&pods(0..5)], &port(80));
    assert_eq!(planned(&[(port(80), pods(0..5))], &existing, 3).writes, []);
    let mut flipped = pods(0..5);
    flipped[0] = pod(0, false);
    let plan = planned(&[(port(80), flipped)], &existing, 3);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((1, 1, 0), vec![2, 3])
    );
    // The removed endpoints are published elsewhere before.
    assert_eq!(plan.writes[1].depends_on, [0]);
}

/// The same for a write that only changes hints (I3).
#[test]
fn i3_a_slice_above_the_maximum_is_split_when_it_is_written_for_hints() {
    let mut existing = existing_slices(&[&pods(0..5)], &port(80));
    existing[0].endpoints[4].hints = Some(Hints::zone("gone"));
    let harness = Harness::of(&port(80), pods(0..5)).with(existing);
    let request = PlanRequest {
        hints: Some(HintMode::None),
        ..harness.request()
    };
    let plan = plan(request, &options(2)).unwrap();
    let slices = apply(&plan, &harness.existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((2, 1, 0), vec![1, 2, 2]));
    assert_eq!(plan.stats[0].slices, 3);
    assert!(
        slices
            .iter()
            .flat_map(|slice| &slice.endpoints)
            .all(|endpoint| endpoint.hints.is_none())
    );
    assert_eq!(plan.writes[2].depends_on, [0, 1]);
}

/// The overflow of slices that are written for hints shares slices: first those that are written anyway, then new ones (I6).
#[test]
fn i6_the_overflow_of_slices_written_for_hints_shares_slices() {
    for (large, more, expected) in [
        (&[4, 4][..], 0, ((1, 2, 0), vec![2, 3, 3])),
        (&[4, 2], 0, ((0, 2, 0), vec![3, 3])),
        (&[4], 1, ((1, 1, 0), vec![2, 3])),
        (&[4, 4], 2, ((2, 2, 0), vec![1, 3, 3, 3])),
    ] {
        let desired = pods(0..large.iter().sum::<usize>() + more);
        let mut remainder = &desired[..];
        let mut next = |size: &usize| remainder.split_off(..*size).unwrap();
        let contents: Vec<&[Endpoint]> = large.iter().map(&mut next).collect();
        let mut existing = existing_slices(&contents, &port(80));
        for slice in &mut existing {
            slice.endpoints[0].hints = Some(Hints::zone("gone"));
        }
        let harness = Harness::of(&port(80), desired.clone()).with(existing);
        let request = PlanRequest {
            hints: Some(HintMode::None),
            ..harness.request()
        };
        let plan = plan(request, &options(3)).unwrap();
        let slices = apply(&plan, &harness.existing);
        assert_eq!((writes(&plan), sizes(&slices)), expected);
        assert_eq!(plan.stats[0].slices, slices.len());
        assert_eq!(addresses(&slices), addresses(&existing_slices(&[&desired], &port(80))));
    }
}

/// Overflow that another slice also has stays in that slice (I3, I6).
#[test]
fn i3_overflow_stays_in_a_slice_that_has_it() {
    let (first, second) = ([pod(0, true), pod(1, true), pod(5, true)], [pod(1, true)]);
    let existing = existing_slices(&[&first, &second], &port(80));
    let plan = planned(&[(port(80), pods(0..2))], &existing, 1);
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((0, 1, 0), vec![1, 1]));
    assert_eq!(plan.stats[0].changes.added, 0);
    assert_eq!(slices[1], existing[1]);
}

/// Duplicate slices are deleted, and a duplicate endpoint does not hide another (T-MIR-N09, D9, T-MIR-N15, M79).
#[test]
fn one_slice_for_each_group() {
    let existing = existing_slices(&[&pods(0..1), &pods(0..1)], &port(80));
    let mut harness = Harness::of(&port(80), pods(0..1)).with(existing);
    harness.options = one_per_group(10);
    assert_eq!(writes(&harness.sync()), (0, 0, 1));

    harness.existing[0].endpoints.push(pod(0, true));
    harness.desired[0].2 = pods(0..2);
    assert_eq!(writes(&harness.sync()), (0, 1, 0));
    assert_eq!(harness.existing[0].endpoints, pods(0..2));
}

/// Endpoints above the limit are reported and cause no writes. Free slots are filled (M73, G55, I6).
#[test]
fn g55_endpoints_above_the_limit_are_rejected() {
    let mut harness = Harness::of(&port(80), pods(0..5));
    harness.options = one_per_group(3);
    for order in ["c", "", ""] {
        let plan = harness.sync();
        assert_eq!((crate::harness::order(&plan).as_str(), plan.rejected.len()), (order, 2));
        assert_eq!(plan.stats[0].desired_endpoints, 3);
    }
    harness.desired[0].2.remove(0);
    let plan = harness.sync();
    assert_eq!((writes(&plan), plan.rejected.len()), ((0, 1, 0), 1));
    assert_eq!(harness.existing[0].endpoints, pods(1..4));
    // A lower limit causes a write (M69).
    harness.desired[0].2 = pods(1..4);
    harness.options = one_per_group(2);
    let plan = harness.sync();
    assert_eq!(writes(&plan), (0, 1, 0));
    assert_eq!((sizes(&harness.existing), plan.rejected.len()), (vec![2], 1));
}

/// The API server accepts at most 1000 endpoints, which limits the options (G3, I3).
#[test]
fn g3_no_slice_has_more_than_a_thousand() {
    for options in [options(5000), one_per_group(5000)] {
        let mut harness = Harness::of(&port(80), pods(0..1001));
        harness.options = options;
        harness.sync();
        assert!(sizes(&harness.existing).iter().all(|size| *size <= 1000), "{options:?}");
    }
}

/// Endpoints above the limit are not published and cause no write (M69).
#[test]
fn one_slice_per_group_has_a_limit() {
    let mut harness = Harness::of(&port(80), pods(0..4));
    harness.options = one_per_group(3);
    let first = harness.sync();
    assert_eq!((writes(&first), sizes(&harness.existing)), ((1, 0, 0), vec![3]));
    assert_eq!(first.stats[0].changes.added, 3);
    assert_eq!(harness.plan().writes, []);
    harness.options = one_per_group(2);
    let lower = harness.sync();
    assert_eq!((writes(&lower), sizes(&harness.existing)), ((0, 1, 0), vec![2]));
    assert_eq!((harness.plan().writes, lower.rejected.len()), (vec![], 2));
}
