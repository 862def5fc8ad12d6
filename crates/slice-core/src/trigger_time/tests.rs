use super::*;

const KEY: &str = "default/web";

type Pods<'a> = &'a [(&'a str, i64)];

/// t0 < t1 < …, one second apart.
fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn observe(times: &TriggerTimeTracker<&'static str>, owner: i64, pods: Pods<'_>) -> PendingTriggerTime<&'static str> {
    times.compute(
        &KEY,
        Some(t(owner)),
        pods.iter().map(|(name, second)| (*name, t(*second))),
    )
}

/// Observes and commits.
fn sync(times: &mut TriggerTimeTracker<&'static str>, owner: i64, pods: Pods<'_>) -> Option<Timestamp> {
    let pending = observe(times, owner, pods);
    let time = pending.time();
    times.commit(pending);
    time
}

#[test]
fn the_earliest_time_that_grew_is_the_trigger() {
    // Each sync: the owner's time, its pods, the result.
    type Sync = (i64, Pods<'static>, Option<i64>);
    let rows: [(&str, &[Sync]); 10] = [
        ("T-TRG-01 T-TTT-01: new owner", &[(2, &[], Some(2))]),
        (
            "T-TRG-02 T-TTT-02: new owner with pods",
            &[(3, &[("p1", 0), ("p2", 1), ("p3", 5)], Some(3))],
        ),
        (
            "T-TRG-03 T-TTT-03: pods appear",
            &[(0, &[], Some(0)), (0, &[("p1", 2), ("p2", 1)], Some(1))],
        ),
        (
            "T-TRG-04 T-TTT-04: pods change",
            &[
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], Some(0)),
                (0, &[("p1", 5), ("p2", 4), ("p3", 3)], Some(4)),
            ],
        ),
        (
            "T-TRG-05 T-TTT-05: nothing changes",
            &[
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], Some(0)),
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], None),
            ],
        ),
        (
            "T-TRG-06 T-TTT-06: a pod goes and comes back",
            &[
                (0, &[("p1", 1), ("p2", 2)], Some(0)),
                (0, &[("p1", 1)], None),
                (0, &[("p1", 1), ("p2", 4)], Some(4)),
            ],
        ),
        (
            "T-TRG-08 T-TTT-08: ports of the owner change (R113)",
            &[(0, &[("p1", 1)], Some(0)), (0, &[("p1", 1)], None)],
        ),
        (
            "R111: a pod that comes back is new",
            &[(0, &[("p1", 1)], Some(0)), (0, &[], None), (0, &[("p1", 1)], Some(1))],
        ),
        (
            "R111: an older time is remembered and no trigger",
            &[
                (3, &[("p1", 5)], Some(3)),
                (2, &[("p1", 4)], None),
                (3, &[("p1", 5)], Some(3)),
            ],
        ),
        (
            "R111: the owner's time counts among the pods'",
            &[(0, &[("p1", 1)], Some(0)), (3, &[("p1", 4)], Some(3))],
        ),
    ];
    for (id, syncs) in rows {
        let mut times = TriggerTimeTracker::new();
        for (owner, pods, expected) in syncs {
            assert_eq!(sync(&mut times, *owner, pods), expected.map(t), "{id}");
        }
    }
}

/// R114, R116, T-TRG-07, T-TTT-07.
#[test]
fn an_owner_that_was_forgotten_is_new_again() {
    let mut times = TriggerTimeTracker::new();
    assert_eq!(sync(&mut times, 0, &[("p1", 1), ("p2", 2)]), Some(t(0)));
    times.forget(&KEY);
    assert!(times.is_empty());
    assert_eq!(sync(&mut times, 3, &[]), Some(t(3)));
}

/// G-15, by our decision on W17.
#[test]
fn a_failed_write_leaves_its_trigger_time_to_the_retry() {
    let mut times = TriggerTimeTracker::new();
    assert_eq!(
        observe(&times, 0, &[("p1", 1)]).time(),
        Some(t(0)),
        "first sync, failed"
    );
    assert_eq!(sync(&mut times, 0, &[("p1", 1)]), Some(t(0)), "retry");

    assert_eq!(observe(&times, 0, &[("p1", 5)]).time(), Some(t(5)), "failed");
    assert_eq!(
        sync(&mut times, 0, &[("p1", 5), ("p2", 6)]),
        Some(t(5)),
        "retry, with more to publish"
    );
    assert_eq!(sync(&mut times, 0, &[("p1", 5), ("p2", 6)]), None);
}

#[test]
fn what_was_observed_before_another_commit_is_not_committed() {
    let mut times = TriggerTimeTracker::new();
    let late = observe(&times, 0, &[("p1", 1), ("p2", 2)]);
    sync(&mut times, 0, &[("p1", 1)]);
    times.commit(late);
    assert_eq!(observe(&times, 0, &[("p1", 1), ("p2", 2)]).time(), Some(t(2)));

    let late = observe(&times, 0, &[("p1", 9), ("p2", 9)]);
    sync(&mut times, 0, &[("p2", 3)]);
    times.commit(late);
    assert_eq!(observe(&times, 0, &[("p2", 9)]).time(), Some(t(9)));

    let late = observe(&times, 0, &[("p1", 7)]);
    times.forget(&KEY);
    times.commit(late);
    assert!(times.is_empty());
}

#[test]
fn owners_do_not_mix() {
    let mut times = TriggerTimeTracker::new();
    sync(&mut times, 0, &[("p1", 1)]);
    assert_eq!(
        times.compute(&"default/other", Some(t(4)), [("p1", t(1))]).time(),
        Some(t(4))
    );
    assert_eq!(times.len(), 1);
}

#[test]
fn an_owner_without_a_time_has_only_its_sources() {
    let mut times = TriggerTimeTracker::new();
    let first = times.compute(&KEY, None, [("p1", t(1))]);
    assert_eq!(first.time(), None);
    times.commit(first);
    assert_eq!(times.compute(&KEY, None, [("p1", t(2))]).time(), Some(t(2)));
    assert_eq!(times.compute(&KEY, Some(t(0)), [("p1", t(1))]).time(), Some(t(0)));
}

/// Nothing is copied and nothing hashed, however many sources there are.
#[test]
fn in_the_same_order_only_changed_times_are_noted() {
    let names: Vec<_> = (0..50_000).map(|n| format!("pod-{n}")).collect();
    let pods = |flipped: usize| {
        names
            .iter()
            .enumerate()
            .map(move |(n, name)| (&**name, t(i64::from(n == flipped))))
    };
    let mut times = TriggerTimeTracker::new();
    times.commit(times.compute(&KEY, Some(t(0)), pods(usize::MAX)));

    let unchanged = times.compute(&KEY, Some(t(0)), pods(usize::MAX));
    assert_eq!((unchanged.time(), unchanged.change), (None, Change::Times(Vec::new())));
    let flipped = times.compute(&KEY, Some(t(0)), pods(25_000));
    assert_eq!(
        (flipped.time(), &flipped.change),
        (Some(t(1)), &Change::Times(vec![(25_000, t(1))]))
    );
    times.commit(flipped);
    assert_eq!(times.compute(&KEY, Some(t(0)), pods(25_000)).time(), None);
}

/// Every way to get from some of four pods, in some order, to others, against the definition in R111.
#[test]
fn the_order_of_sources_does_not_matter() {
    let lists = lists_of(&["a", "b", "c", "d"]);
    assert_eq!(lists.len(), 65);
    for before in &lists {
        for after in &lists {
            let mut times = TriggerTimeTracker::new();
            times.commit(times.compute(&KEY, Some(t(0)), before.iter().map(|name| (*name, t(9)))));
            // "a" got a later time, "b" an earlier one.
            let seen = || {
                after
                    .iter()
                    .map(|name| (*name, t(if *name == "a" { 20 } else { i64::from(*name != "b") + 8 })))
            };
            let expected = seen()
                .filter(|(name, time)| !before.contains(name) || *time > t(9))
                .map(|(_, time)| time)
                .min();

            let pending = times.compute(&KEY, Some(t(0)), seen());
            assert_eq!(pending.time(), expected, "{before:?} to {after:?}");
            times.commit(pending);
            let remembered: Vec<_> = times.owners[KEY]
                .sources
                .iter()
                .map(|source| (&*source.id, source.time))
                .collect();
            assert_eq!(remembered, seen().collect::<Vec<_>>(), "{before:?} to {after:?}");
        }
    }
}

/// More vanish in a row than are passed over in search of the next.
#[test]
fn a_source_far_from_its_old_place_is_found() {
    let names: Vec<_> = (0..40).map(|n| format!("pod-{n}")).collect();
    let mut times = TriggerTimeTracker::new();
    times.commit(times.compute(&KEY, Some(t(0)), names.iter().map(|name| (&**name, t(1)))));
    let halved = times.compute(&KEY, Some(t(0)), names[20..].iter().map(|name| (&**name, t(1))));
    assert_eq!(halved.time(), None);
    let reversed = times.compute(&KEY, Some(t(0)), names.iter().rev().map(|name| (&**name, t(1))));
    assert_eq!(reversed.time(), None);
}

/// All selections of the names in all orders.
fn lists_of<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut lists = vec![Vec::new()];
    for (n, first) in names.iter().enumerate() {
        let others: Vec<_> = names
            .iter()
            .enumerate()
            .filter(|(m, _)| *m != n)
            .map(|(_, name)| *name)
            .collect();
        lists.extend(lists_of(&others).into_iter().map(|rest| [vec![*first], rest].concat()));
    }
    lists
}
