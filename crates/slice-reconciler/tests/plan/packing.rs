//! How endpoints come into slices, and in which order.

use slice_core::{AddressType, CompactSlice, Endpoint, Hints, PortMapKey};
use slice_reconciler::{Operation, Plan, PlanRequest, hints::HintMode, plan};

use crate::support::{Ask, addresses, apply, one_per_group, options, pod, pods, policy, port, sizes, stored, writes};

fn planned(groups: &[(PortMapKey, Vec<Endpoint>)], existing: &[CompactSlice], max: usize) -> Plan {
    let group =
        |(ports, endpoints): &(PortMapKey, Vec<Endpoint>)| (AddressType::IPv4, ports.clone(), endpoints.clone());
    let ask = Ask {
        groups: groups.iter().map(group).collect(),
        options: options(max),
        ..Ask::default()
    };
    ask.with(existing.to_vec()).plan()
}

/// T-GEN-01, T-GEN-02, T-GEN-03: an owner without endpoints has one empty slice, which stays.
#[test]
fn a_placeholder_is_made_once() {
    let first = planned(&[], &[], 100);
    let slices = apply(&first, &[]);
    assert_eq!((writes(&first), sizes(&slices)), ((1, 0, 0), vec![0]));
    let reference = &slices[0].metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((reference.uid.as_str(), reference.controller), ("uid-1", Some(true)));
    assert_eq!(planned(&[], &slices, 100).writes, []);
}

/// T-GEN-06, T-GEN-18…22, T-REC-34…38.
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

/// T-GEN-07, T-GEN-08, T-GEN-13: the remainder goes where it fits best, whole slices are new.
#[test]
fn r83_the_remainder_goes_into_one_slice() {
    let all = pods(0..300);
    let existing = stored(&[&all[0..62], &all[62..123]], &port(80));
    let plan = planned(&[(port(80), pods(0..250))], &existing, 100);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((1, 1, 0), vec![61, 89, 100])
    );

    let existing = stored(&[&all[0..74], &all[74..148]], &port(80));
    let plan = planned(&[(port(80), pods(0..300))], &existing, 100);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((2, 0, 0), vec![52, 74, 74, 100])
    );
}

/// G21, R83: as many as fill a slice go into a new one, even where an empty one is at hand; fewer do not.
#[test]
fn g21_whole_slices_are_new() {
    // A placeholder that was given ports.
    let mut existing = stored(&[&[]], &port(80));
    existing[0].ports = port(80);
    for (count, expected) in [(10, (1, 0, 0)), (9, (0, 1, 0))] {
        let plan = planned(&[(port(80), pods(0..count))], &existing, 10);
        assert_eq!(writes(&plan), expected, "{count}");
    }
}

/// T-GEN-09, T-GEN-12, T-REC-28: slices of ports that are gone are reused, and each keeps what it holds.
#[test]
fn slices_are_reused_when_ports_change() {
    let all = pods(0..300);
    let tens: Vec<&[Endpoint]> = all.chunks(30).collect();
    let existing = stored(&tens, &port(80));
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

/// T-GEN-10: a label of the owner is written to every slice, whose endpoints stay as they are.
#[test]
fn a_label_of_the_owner_is_copied() {
    let all = pods(0..250);
    let existing = stored(&[&all[0..100], &all[100..200], &all[200..250]], &port(80));
    let mut ask = Ask::of(&port(80), all).with(existing);
    ask.policy = policy(&[("foo", "bar")]);
    assert_eq!(writes(&ask.sync()), (0, 3, 0));
    assert_eq!(sizes(&ask.existing), [50, 100, 100]);
    let mut labels = ask.existing.iter().map(|slice| slice.metadata.labels.as_ref().unwrap());
    assert!(labels.all(|labels| labels["foo"] == "bar"));
}

/// T-GEN-16, T-REC-32, I7, G-28: a slice of another owner is never reused.
#[test]
fn i7_a_slice_of_another_owner_is_replaced() {
    let mut existing = stored(&[&pods(0..1)], &port(80));
    existing[0].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    let plan = planned(&[(port(80), pods(0..1))], &existing, 100);
    assert_eq!(writes(&plan), (1, 0, 1));
    // What it holds is somewhere else before it goes.
    assert_eq!(plan.writes[1].after, [0]);
}

/// T-FIN-02, T-FIN-04, trap 14: nothing new for an owner that is going away, except by reuse.
#[test]
fn a_terminating_owner_gets_nothing_new() {
    let mut going = Ask::of(&port(80), pods(0..3));
    going.owner.terminating = true;
    assert_eq!(going.plan().writes, []);
    let going = going.with(stored(&[&pods(0..3)], &port(79)));
    assert_eq!(writes(&going.plan()), (0, 1, 0));
}

/// I4: a slice of an owner that is going away gives nothing away for which no new slice is made; those that the owner should not
/// have go all the same.
#[test]
fn i4_a_terminating_owner_keeps_its_published_endpoints() {
    let mut existing = stored(&[&pods(0..4), &pods(0..4)], &port(80));
    existing[1].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    let mut going = Ask::of(&port(81), pods(0..4)).with(existing.clone());
    going.owner.terminating = true;
    going.options = options(3);
    assert_eq!(writes(&going.sync()), (0, 0, 1));
    assert_eq!(going.existing, existing[..1]);
}

/// T-GEN-14, T-REC-30, I4: a slice of a type that is no longer known goes when what it holds is published otherwise.
#[test]
fn i4_a_slice_of_an_unknown_type_is_replaced() {
    let nobody = |number| Endpoint {
        target: None,
        ..pod(number, true)
    };
    let wanted = vec![nobody(0), pod(1, true)];
    let mut existing = stored(&[&wanted], &port(80));
    existing[0].address_type = "IP".parse();
    for group in [vec![nobody(0)], vec![pod(1, false)]] {
        let plan = planned(&[(port(80), group)], &existing, 100);
        assert_eq!(writes(&plan), (1, 0, 1));
        assert_eq!(plan.writes[1].after, [0]);
    }
}

/// D8, W3: a slice that is held by a finalizer blocks nobody, and its name is not used again.
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

/// G-11, R84, I3: a lower maximum alone writes nothing; a slice that is written anyway gets down to it, and loses nothing.
#[test]
fn i3_a_slice_above_the_maximum_is_split_when_it_is_written() {
    let existing = stored(&[&pods(0..5)], &port(80));
    assert_eq!(planned(&[(port(80), pods(0..5))], &existing, 3).writes, []);
    let mut flipped = pods(0..5);
    flipped[0] = pod(0, false);
    let plan = planned(&[(port(80), flipped)], &existing, 3);
    assert_eq!(
        (writes(&plan), sizes(&apply(&plan, &existing))),
        ((1, 1, 0), vec![2, 3])
    );
    // What leaves the slice is somewhere else before.
    assert_eq!(plan.writes[1].after, [0]);
}

/// I3: hints are a reason to write a slice like any other.
#[test]
fn i3_a_slice_above_the_maximum_is_split_when_it_is_written_for_hints() {
    let mut existing = stored(&[&pods(0..5)], &port(80));
    existing[0].endpoints[4].hints = Some(Hints::zone("gone"));
    let ask = Ask::of(&port(80), pods(0..5)).with(existing);
    let request = PlanRequest {
        hints: Some(HintMode::None),
        ..ask.request()
    };
    let plan = plan(request, &options(2)).unwrap();
    let slices = apply(&plan, &ask.existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((2, 1, 0), vec![1, 2, 2]));
    assert_eq!(plan.stats[0].slices, 3);
    assert!(
        slices
            .iter()
            .flat_map(|slice| &slice.endpoints)
            .all(|endpoint| endpoint.hints.is_none())
    );
    assert_eq!(plan.writes[2].after, [0, 1]);
}

/// I6: what is too much in slices that are written for their hints goes together, and first where there is room: in slices that
/// are written or made anyway.
#[test]
fn i6_what_is_too_much_when_hints_are_written_shares_slices() {
    for (large, more, expected) in [
        (&[4, 4][..], 0, ((1, 2, 0), vec![2, 3, 3])),
        (&[4, 2], 0, ((0, 2, 0), vec![3, 3])),
        (&[4], 1, ((1, 1, 0), vec![2, 3])),
        (&[4, 4], 2, ((2, 2, 0), vec![1, 3, 3, 3])),
    ] {
        let wanted = pods(0..large.iter().sum::<usize>() + more);
        let mut rest = &wanted[..];
        let mut next = |size: &usize| rest.split_off(..*size).unwrap();
        let contents: Vec<&[Endpoint]> = large.iter().map(&mut next).collect();
        let mut existing = stored(&contents, &port(80));
        for slice in &mut existing {
            slice.endpoints[0].hints = Some(Hints::zone("gone"));
        }
        let ask = Ask::of(&port(80), wanted.clone()).with(existing);
        let request = PlanRequest {
            hints: Some(HintMode::None),
            ..ask.request()
        };
        let plan = plan(request, &options(3)).unwrap();
        let slices = apply(&plan, &ask.existing);
        assert_eq!((writes(&plan), sizes(&slices)), expected);
        assert_eq!(plan.stats[0].slices, slices.len());
        assert_eq!(addresses(&slices), addresses(&stored(&[&wanted], &port(80))));
    }
}

/// I3, I6: what is too much in one slice and also in another stays in the other.
#[test]
fn i3_what_a_split_slice_loses_may_be_elsewhere() {
    let (first, second) = ([pod(0, true), pod(1, true), pod(5, true)], [pod(1, true)]);
    let existing = stored(&[&first, &second], &port(80));
    let plan = planned(&[(port(80), pods(0..2))], &existing, 1);
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((0, 1, 0), vec![1, 1]));
    assert_eq!(plan.stats[0].changes.added, 0);
    assert_eq!(slices[1], existing[1]);
}

/// T-MIR-N09 (D9), T-MIR-N15 (M79): one slice per group; an endpoint that it holds twice hides no other.
#[test]
fn one_slice_for_each_group() {
    let existing = stored(&[&pods(0..1), &pods(0..1)], &port(80));
    let mut ask = Ask::of(&port(80), pods(0..1)).with(existing);
    ask.options = one_per_group(10);
    assert_eq!(writes(&ask.sync()), (0, 0, 1));

    ask.existing[0].endpoints.push(pod(0, true));
    ask.groups[0].2 = pods(0..2);
    assert_eq!(writes(&ask.sync()), (0, 1, 0));
    assert_eq!(ask.existing[0].endpoints, pods(0..2));
}

/// M73, G55, I6: what is above the cap is named, and written for neither now nor on every sync. Slots that become free
/// are filled.
#[test]
fn g55_no_more_than_fit_into_one_slice() {
    let mut ask = Ask::of(&port(80), pods(0..5));
    ask.options = one_per_group(3);
    for order in ["c", "", ""] {
        let plan = ask.sync();
        assert_eq!((crate::support::order(&plan).as_str(), plan.rejected.len()), (order, 2));
        assert_eq!(plan.stats[0].endpoints, 3);
    }
    ask.groups[0].2.remove(0);
    let plan = ask.sync();
    assert_eq!((writes(&plan), plan.rejected.len()), ((0, 1, 0), 1));
    assert_eq!(ask.existing[0].endpoints, pods(1..4));
    // A lower cap is a reason to write (M69).
    ask.groups[0].2 = pods(1..4);
    ask.options = one_per_group(2);
    let plan = ask.sync();
    assert_eq!(writes(&plan), (0, 1, 0));
    assert_eq!((sizes(&ask.existing), plan.rejected.len()), (vec![2], 1));
}

/// G3, I3: the API server takes a thousand endpoints, whatever the options say.
#[test]
fn g3_no_slice_has_more_than_a_thousand() {
    for options in [options(5000), one_per_group(5000)] {
        let mut ask = Ask::of(&port(80), pods(0..1001));
        ask.options = options;
        ask.sync();
        assert!(sizes(&ask.existing).iter().all(|size| *size <= 1000), "{options:?}");
    }
}

/// M69: what does not fit in is not published, and not a reason to write; nor is there ever more than fits in.
#[test]
fn one_slice_per_group_holds_no_more_than_fits() {
    let mut ask = Ask::of(&port(80), pods(0..4));
    ask.options = one_per_group(3);
    let first = ask.sync();
    assert_eq!((writes(&first), sizes(&ask.existing)), ((1, 0, 0), vec![3]));
    assert_eq!(first.stats[0].changes.added, 3);
    assert_eq!(ask.plan().writes, []);
    ask.options = one_per_group(2);
    let lower = ask.sync();
    assert_eq!((writes(&lower), sizes(&ask.existing)), ((0, 1, 0), vec![2]));
    assert_eq!((ask.plan().writes, lower.rejected.len()), (vec![], 2));
}
