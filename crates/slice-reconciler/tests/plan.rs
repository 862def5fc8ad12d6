//! Whole plans: what is written for given endpoints and slices.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeSet, num::NonZeroUsize};

use slice_core::{
    Address, AddressType, Conditions, Endpoint, EndpointSet, Hints, Port, PortMapKey, Slice, Target, names,
};
use slice_reconciler::{
    Group, MetadataPolicy, Operation, Options, Owner, OwnerFlags, Ownership, Packing, Plan, PlanError, Request,
    TriggerTime, hints::HintMode, plan,
};

const OWNER: Owner<'_> = Owner {
    api_version: "v1",
    kind: "Service",
    namespace: "ns",
    name: "foo",
    uid: "uid-1",
    terminating: false,
};

fn options(max: usize) -> Options {
    Options {
        packing: Packing::Fill {
            max: NonZeroUsize::new(max).unwrap(),
        },
        placeholder: true,
        ownership: Ownership::Enforce,
        owner_flags: OwnerFlags::default(),
    }
}

fn policy(labels: &[(&str, &str)]) -> MetadataPolicy {
    let text = |text: &str| text.to_owned();
    MetadataPolicy {
        labels: labels.iter().map(|(key, value)| (text(key), text(value))).collect(),
        reserved: [
            (text(names::SERVICE_NAME_LABEL), Some(text("foo"))),
            (text(names::MANAGED_BY_LABEL), Some(text("me"))),
        ]
        .into(),
        ..MetadataPolicy::default()
    }
}

fn port(number: i32) -> PortMapKey {
    PortMapKey::new([Port {
        name: "".into(),
        protocol: "TCP".into(),
        port: Some(number),
        app_protocol: None,
    }])
}

fn pods(numbers: std::ops::Range<usize>) -> Vec<Endpoint> {
    numbers.map(|number| pod(number, true)).collect()
}

fn pod(number: usize, ready: bool) -> Endpoint {
    let address = format!("10.0.{}.{}", number / 250, number % 250);
    Endpoint {
        addresses: [Address::stored(&address)].into_iter().collect(),
        conditions: Conditions {
            ready: Some(ready),
            serving: Some(ready),
            terminating: Some(false),
        },
        target: Some(Box::new(Target {
            name: Some(format!("pod-{number}").into()),
            uid: Some(format!("pod-uid-{number}").into()),
            ..Target::default()
        })),
        ..Endpoint::default()
    }
}

fn request<'a>(
    groups: &'a [(PortMapKey, Vec<Endpoint>)],
    existing: &'a [Slice],
    metadata: &'a MetadataPolicy,
) -> Request<'a> {
    let group = |(ports, wanted): &'a (PortMapKey, Vec<Endpoint>)| {
        let mut endpoints = EndpointSet::default();
        endpoints.extend(wanted.iter().map(Endpoint::view));
        Group {
            address_type: AddressType::IPv4,
            ports: ports.clone(),
            endpoints,
        }
    };
    Request {
        owner: OWNER,
        supported: BTreeSet::from([AddressType::IPv4]),
        groups: groups.iter().map(group).collect(),
        existing,
        metadata,
        hints: None,
        trigger_time: TriggerTime::Clear,
        name_prefix: "foo-",
    }
}

fn planned(groups: &[(PortMapKey, Vec<Endpoint>)], existing: &[Slice], max: usize) -> Plan {
    plan(request(groups, existing, &policy(&[])), &options(max)).unwrap()
}

/// Carries out the writes in their order.
fn apply(plan: &Plan, existing: &[Slice]) -> Vec<Slice> {
    let mut slices = existing.to_vec();
    for write in &plan.writes {
        match &write.operation {
            Operation::Create(slice) => slices.push(slice.clone()),
            Operation::Update(slice) => {
                let stored = slices
                    .iter_mut()
                    .find(|stored| stored.metadata.name == slice.metadata.name);
                *stored.unwrap() = slice.clone();
            }
            Operation::Delete(deletion) => {
                slices.retain(|slice| slice.metadata.name.as_ref() != Some(&deletion.name));
            }
        }
    }
    slices
}

/// (creates, updates, deletes)
fn writes(plan: &Plan) -> (usize, usize, usize) {
    let count = |is: fn(&Operation) -> bool| plan.writes.iter().filter(|write| is(&write.operation)).count();
    (
        count(|operation| matches!(operation, Operation::Create(_))),
        count(|operation| matches!(operation, Operation::Update(_))),
        count(|operation| matches!(operation, Operation::Delete(_))),
    )
}

fn sizes(slices: &[Slice]) -> Vec<usize> {
    let mut sizes: Vec<usize> = slices.iter().map(|slice| slice.endpoints.len()).collect();
    sizes.sort_unstable();
    sizes
}

/// Stored slices of the owner that hold these endpoints.
fn stored(contents: &[&[Endpoint]], ports: &PortMapKey) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for content in contents {
        let groups = [(ports.clone(), content.to_vec())];
        let names = slices.clone();
        let plan = plan(request(&groups, &[], &policy(&[])), &options(1000)).unwrap();
        let mut made = apply(&plan, &[]);
        made[0].metadata.name = Some(format!("foo-{}", names.len()));
        slices.append(&mut made);
    }
    slices
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
        assert_eq!(plan.summaries[0].changes.added, 250);
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
    let groups = [(port(80), all.clone())];
    let policy = policy(&[("foo", "bar")]);
    let plan = plan(request(&groups, &existing, &policy), &options(100)).unwrap();
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((0, 3, 0), vec![50, 100, 100]));
    assert!(
        slices
            .iter()
            .all(|slice| slice.metadata.labels.as_ref().unwrap()["foo"] == "bar")
    );
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
    let groups = [(port(80), pods(0..3))];
    let policy = policy(&[]);
    let mut going = request(&groups, &[], &policy);
    going.owner.terminating = true;
    assert_eq!(plan(going, &options(100)).unwrap().writes, []);
    let existing = stored(&[&pods(0..3)], &port(79));
    let mut going = request(&groups, &existing, &policy);
    going.owner.terminating = true;
    assert_eq!(writes(&plan(going, &options(100)).unwrap()), (0, 1, 0));
}

/// I4: a slice of an owner that is going away gives nothing away for which no new slice is made; those that the owner should not
/// have go all the same.
#[test]
fn i4_a_terminating_owner_keeps_what_it_has() {
    let groups = [(port(81), pods(0..4))];
    let policy = policy(&[]);
    let mut existing = stored(&[&pods(0..4), &pods(0..4)], &port(80));
    existing[1].metadata.owner_references.as_mut().unwrap()[0].uid = "different".into();
    let mut going = request(&groups, &existing, &policy);
    going.owner.terminating = true;
    let plan = plan(going, &options(3)).unwrap();
    assert_eq!(writes(&plan), (0, 0, 1));
    assert_eq!(apply(&plan, &existing), existing[..1]);
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
fn a_terminating_slice_blocks_nobody() {
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

/// T-GX-03, and an owner that cannot be told from its predecessor.
#[test]
fn requests_that_cannot_be_answered() {
    let groups = [(port(80), pods(0..1))];
    let policy = policy(&[]);
    let mut unsupported = request(&groups, &[], &policy);
    unsupported.supported = BTreeSet::from([AddressType::IPv6]);
    assert_eq!(
        plan(unsupported, &options(100)),
        Err(PlanError::UnsupportedType(AddressType::IPv4))
    );
    let mut nobody = request(&groups, &[], &policy);
    nobody.owner.uid = "";
    assert!(matches!(plan(nobody, &options(100)), Err(PlanError::NoUid { .. })));
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
    let hints = Hints {
        for_zones: vec!["gone".into()],
        for_nodes: vec![],
    };
    let mut existing = stored(&[&pods(0..5)], &port(80));
    existing[0].endpoints[4].hints = Some(Box::new(hints));
    let groups = [(port(80), pods(0..5))];
    let policy = policy(&[]);
    let request = Request {
        hints: Some(HintMode::None),
        ..request(&groups, &existing, &policy)
    };
    let plan = plan(request, &options(2)).unwrap();
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((2, 1, 0), vec![1, 2, 2]));
    assert_eq!(plan.summaries[0].slices, 3);
    assert!(
        slices
            .iter()
            .flat_map(|slice| &slice.endpoints)
            .all(|endpoint| endpoint.hints.is_none())
    );
    assert_eq!(plan.writes[2].after, [0, 1]);
}

/// I3, I6: what is too much in one slice and also in another stays in the other.
#[test]
fn i3_what_a_split_slice_loses_may_be_elsewhere() {
    let (first, second) = ([pod(0, true), pod(1, true), pod(5, true)], [pod(1, true)]);
    let existing = stored(&[&first, &second], &port(80));
    let plan = planned(&[(port(80), pods(0..2))], &existing, 1);
    let slices = apply(&plan, &existing);
    assert_eq!((writes(&plan), sizes(&slices)), ((0, 1, 0), vec![1, 1]));
    assert_eq!(plan.summaries[0].changes.added, 0);
    assert_eq!(slices[1], existing[1]);
}

/// T-MIR-N09 (D9), T-MIR-N15 (M79): one slice per group; an endpoint that it holds twice hides no other.
#[test]
fn one_slice_per_group() {
    let options = Options {
        packing: Packing::OnePerGroup {
            cap: NonZeroUsize::new(10).unwrap(),
        },
        placeholder: false,
        ..options(10)
    };
    let policy = policy(&[]);
    let mut existing = stored(&[&pods(0..1), &pods(0..1)], &port(80));
    let wanted = [(port(80), pods(0..1))];
    let duplicate = plan(request(&wanted, &existing, &policy), &options).unwrap();
    assert_eq!(writes(&duplicate), (0, 0, 1));

    existing.truncate(1);
    existing[0].endpoints.push(pod(0, true));
    let wanted = [(port(80), pods(0..2))];
    let hidden = plan(request(&wanted, &existing, &policy), &options).unwrap();
    assert_eq!(writes(&hidden), (0, 1, 0));
    assert_eq!(apply(&hidden, &existing)[0].endpoints, pods(0..2));
}

/// M69: what does not fit in is not published, and not a reason to write; nor is there ever more than fits in.
#[test]
fn one_slice_per_group_holds_no_more_than_fits() {
    let packing = |cap| Packing::OnePerGroup {
        cap: NonZeroUsize::new(cap).unwrap(),
    };
    let policy = policy(&[]);
    let wanted = [(port(80), pods(0..4))];
    let plan = |existing: &[Slice], cap| {
        let packing = packing(cap);
        let options = Options { packing, ..options(1) };
        plan(request(&wanted, existing, &policy), &options).unwrap()
    };
    let first = plan(&[], 3);
    let slices = apply(&first, &[]);
    assert_eq!((writes(&first), sizes(&slices)), ((1, 0, 0), vec![3]));
    assert_eq!(first.summaries[0].changes.added, 3);
    assert_eq!(plan(&slices, 3).writes, []);
    let lower = plan(&slices, 2);
    assert_eq!((writes(&lower), sizes(&apply(&lower, &slices))), ((0, 1, 0), vec![2]));
}
